/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotations CASE COUNT - annotate spans with that many system calls.  Without arguments, lists
 * the cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotation.h"
#include "build.h"
#include "story.h"
#include "test.h"

int test_failures; /* of story.c, which checks what it is given */

enum { GETPID = 39, READ = 0, FSYNC = 74, CALLS_PER_SPAN = 50 };

static void story_call(struct story *s, nsec_t start, nsec_t end, int16_t nr)
{
	story_add(s, REC(SYSCALL, syscall, end, 1, .start = start, .nr = nr));
}

/* All equal. */
static void equal(struct story *s, size_t count)
{
	story_run(s, 1, 0, 10 * count);
	for (size_t i = 0; i < count; i++)
		story_call(s, 10 * i, 10 * i + 5, GETPID);
	story_span(s, 0, 10 * count, 1, 0, 1);
}

/* No two adjacent ones are equal. */
static void different(struct story *s, size_t count)
{
	story_run(s, 1, 0, 10 * count);
	for (size_t i = 0; i < count; i++)
		story_call(s, 10 * i, 10 * i + 5, i % 2 ? GETPID : READ);
	story_span(s, 0, 10 * count, 1, 0, 1);
}

/* Each call waits. */
static void blocked(struct story *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		nsec_t t = 10 * i;

		story_run(s, 1, t, t + 2);
		story_add(s, REC(WAIT, wait, t + 8, 1, .start = t + 2, .woken = t + 8,
				 .state = STATE_DISK, .ready = STATE_READY, .syscall = FSYNC));
		story_run(s, 1, t + 8, t + 10);
		story_call(s, t + 1, t + 9, FSYNC);
	}
	story_span(s, 0, 10 * count, 1, 0, 1);
}

/* The thread changes its span with each call. */
static void entered(struct story *s, size_t count)
{
	story_run(s, 1, 0, 10 * count);
	for (size_t i = 0; i < count; i++) {
		story_context(s, 1, 10 * i, 1 + i % 2);
		story_call(s, 10 * i, 10 * i + 5, GETPID);
	}
	story_span(s, 0, 10 * count, 1, 0, 1);
	story_span(s, 0, 10 * count, 2, 1, 1);
}

/* Many spans, one after the other: what --all costs.  A span has a number of one byte. */
static void spans(struct story *s, size_t count)
{
	size_t number = count / CALLS_PER_SPAN;

	story_run(s, 1, 0, 10 * count);
	for (size_t i = 0; i < count; i++)
		story_call(s, 10 * i, 10 * i + 5, i % 2 ? GETPID : READ);
	for (size_t i = 0; i < number; i++)
		story_span(s, 10 * CALLS_PER_SPAN * i, 10 * CALLS_PER_SPAN * (i + 1), 1 + i, 0, 1);
}

static const struct {
	const char *name;
	void (*fn)(struct story *s, size_t count);
} cases[] = { { "equal-calls", equal },
	      { "different-calls", different },
	      { "blocked-calls", blocked },
	      { "calls-by-turns", entered },
	      { "calls-of-many-spans", spans } };

static void annotate_all(const struct model *model)
{
	struct span_set set = { .model = model };

	for (uint32_t i = 1; i < span_set_count(&set); i++) {
		_cleanup_(annotation_done) struct annotation a = { 0 };

		annotation_find(&set, (span_id){ i },
				&(struct annotation_options){ .spans_max = ANNOTATION_SPANS }, &a);
	}
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (argc < 3) {
			puts(cases[i].name);
		} else if (strcmp(argv[1], cases[i].name) == 0) {
			_cleanup_(story_done) struct story s = { 0 };

			story_begin(&s, 1, 0);
			cases[i].fn(&s, strtoull(argv[2], NULL, 10));

			_cleanup_(model_freep) struct model *model = story_model(&s);

			annotate_all(model);
		}
	}
	return 0;
}
