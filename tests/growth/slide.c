/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slide SECONDS - slide a window of 10 s over a stream of this length in which everything comes
 * and goes.  Prints the number of records.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "churn.h"
#include "model/model.h"

#define WINDOW (10 * NSEC_PER_SEC)

static const char *get_string(const void *arg, uint32_t id)
{
	static char text[32];

	snprintf(text, sizeof(text), "string %u", id);
	return text;
}

static void add_to(void *model, const struct record *r)
{
	struct source source = { .get_string = get_string };

	model_add(model, &source, r);
}

int main(int argc, char **argv)
{
	_cleanup_(model_freep) struct model *model = model_new();
	struct churn c = { .add = add_to, .arg = model, .rate = 10, .epoch = 4 };
	uint32_t seconds = argc > 1 ? atoi(argv[1]) : 0;

	while (c.seconds < seconds) {
		churn_second(&c);
		model_update(model);
		model_forget(model, model_end(model) - WINDOW);
	}
	printf("%" PRIu64 "\n", model_record_count(model));
	return 0;
}
