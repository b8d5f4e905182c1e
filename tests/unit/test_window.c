/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a sliding window. */
#include <malloc.h>

#include "churn.h"
#include "model/model.h"
#include "story.h"
#include "test.h"

#define WINDOW (10 * NSEC_PER_SEC)

static void add_to(void *model, const struct record *r)
{
	struct source source = story_source(0);

	model_add(model, &source, r);
}

static size_t heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static bool is_within(size_t a, size_t b, size_t percent)
{
	return a <= b + b * percent / 100;
}

/* Largest sizes in some minutes, as sizes go up and down with each sweep. */
struct sizes {
	size_t model, heap;
	size_t threads, spans;
};

static size_t largest(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct sizes slide(struct model *model, struct churn *c, uint32_t seconds, size_t empty)
{
	struct sizes sizes = { 0 };

	for (uint32_t i = 0; i < seconds; i++) {
		churn_second(c);
		model_update(model);
		sizes.model = largest(sizes.model, model_memory(model));
		sizes.heap = largest(sizes.heap, heap() - empty);
		sizes.threads = largest(sizes.threads, model_thread_count(model));
		sizes.spans = largest(sizes.spans, model_span_count(model));
		model_forget(model, model_end(model) - WINDOW);
	}
	return sizes;
}

TEST(an_hour_of_comings_and_goings_leaves_the_size_as_it_was)
{
	size_t empty = heap();
	_cleanup_(model_freep) struct model *model = model_new();
	struct churn c = { .add = add_to, .arg = model, .rate = 25, .epoch = 4 };
	struct sizes first, last;

	slide(model, &c, 360, empty); /* facts about futexes and ports stay until they are many */
	first = slide(model, &c, 60, empty);
	slide(model, &c, 3120, empty);
	last = slide(model, &c, 60, empty);
	CHECK_INT(c.processes, 3600 * c.rate);
	CHECK(is_within(last.model, first.model, 5));
	CHECK(is_within(last.heap, first.heap, 5));
	CHECK(is_within(last.threads, first.threads, 5));
	CHECK(is_within(last.spans, first.spans, 5));
	if (last.heap) /* the heap of a sanitizer has no such count */
		CHECK(is_within(last.model, last.heap, 10) && is_within(last.heap, last.model, 10));
	if (test_failures)
		printf("# model %zu to %zu, heap %zu to %zu, threads %zu to %zu, spans %zu to "
		       "%zu\n",
		       first.model, last.model, first.heap, last.heap, first.threads, last.threads,
		       first.spans, last.spans);
}
