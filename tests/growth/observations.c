/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observations CASE N - find the observations of a model of size N.
 *
 * Each case is large in one dimension: in the depth or width of a trace, in the number of traces or
 * of the states of a thread.
 */
#include <stdio.h>

#include "analyse/observation.h"
#include "story.h"
#include "test.h"

int test_failures; /* of story.c */

enum { STEP = 10 * NSEC_PER_USEC };

static void add_span(struct model *model, uint64_t trace, uint64_t id, uint64_t parent,
		     nsec_t start, nsec_t end)
{
	struct source source = story_source(0);
	struct record_span r = {
		.head = { .time = end, .tid = 1, .kind = RECORD_SPAN, .words = sizeof(r) / 8 },
		.start = start,
		.service = 20,
		.operation = 1 + id % 7
	};

	memcpy(r.trace, &trace, sizeof(trace));
	memcpy(r.span, &id, sizeof(id));
	memcpy(r.parent, &parent, sizeof(parent));
	model_add(model, &source, &r.head);
}

/* A thread that runs and waits in turn, up to a number of steps; the waits are one episode each. */
static void add_thread(struct model *model, size_t steps)
{
	struct source source = story_source(0);

	model_add(model, &source, REC(TASK, task, 0, 1, .pid = 1, .event = TASK_EXISTING));
	for (nsec_t i = 0; i < steps; i++) {
		nsec_t start = i * STEP, middle = start + STEP / 2, end = start + STEP;

		model_add(model, &source, REC(RUN, run, middle, 1, .start = start, .irq = 100));
		model_add(model, &source,
			  REC(WAIT, wait, end, 1, .start = middle, .woken = end,
			      .state = STATE_DISK, .ready = STATE_READY));
	}
}

static void ignore(void *arg, const struct observation *observation)
{
}

static void find(struct model *model)
{
	struct observation_counts counts;

	model_finish(model);
	observations_find(&(struct span_set){ .model = model }, ignore, NULL, &counts);
	model_free(model);
}

static void deep(size_t n)
{
	struct model *model = model_new();

	add_thread(model, 2 * n + 1);
	for (size_t i = n; i > 0; i--)
		add_span(model, 1, i, i - 1, i * STEP, (2 * n + 1 - i) * STEP);
	find(model);
}

static void wide(size_t n)
{
	struct model *model = model_new();

	add_thread(model, 2 * n + 2);
	for (size_t i = 1; i <= n; i++)
		add_span(model, 1, i + 1, 1, 2 * i * STEP, (2 * i + 1) * STEP);
	add_span(model, 1, 1, 0, 0, (2 * n + 2) * STEP);
	find(model);
}

/* Siblings that overlap in a chain. */
static void concurrent(size_t n)
{
	struct model *model = model_new();

	add_thread(model, n + 4);
	for (size_t i = 1; i <= n; i++)
		add_span(model, 1, i + 1, 1, (n - i) * STEP, (n - i + 2) * STEP);
	add_span(model, 1, 1, 0, 0, (n + 4) * STEP);
	find(model);
}

static void traces(size_t n)
{
	struct model *model = model_new();

	add_thread(model, 4 * n + 4);
	for (size_t i = 1; i <= n; i++) {
		add_span(model, i, 2, 1, (4 * i + 1) * STEP, (4 * i + 2) * STEP);
		add_span(model, i, 1, i % 3 ? 0 : 9, 4 * i * STEP, (4 * i + 3) * STEP);
	}
	find(model);
}

static void states(size_t n)
{
	struct model *model = model_new();

	add_thread(model, 10 * n);
	add_span(model, 1, 1, 0, 0, 10 * n * STEP);
	find(model);
}

/* Many spans have all states of one thread. */
static void shared_thread(size_t n)
{
	struct model *model = model_new();

	add_thread(model, 10 * n);
	for (size_t i = 1; i <= n / 100; i++)
		add_span(model, i, 1, 0, 0, 10 * n * STEP);
	find(model);
}

/* The same, and the thread sends messages all the time. */
static void shared_messages(size_t n)
{
	struct model *model = model_new();
	struct source source = story_source(0);

	add_thread(model, 1);
	for (size_t i = 1; i <= n; i++)
		model_add(model, &source,
			  REC(MESSAGE, message, STEP + i, 1, .object = 4, .bytes = 1, .position = i,
			      .direction = MESSAGE_SEND, .object_kind = OBJECT_INET));
	model_add(model, &source, REC(RUN, run, 2 * n * STEP, 1, .start = STEP));
	for (size_t i = 1; i <= n; i++)
		add_span(model, i, 1, 0, 0, 2 * n * STEP);
	find(model);
}

/* Spans that are observed on their own, of a thread that sends messages all the time. */
static void one_by_one(size_t n)
{
	struct model *model = model_new();
	struct source source = story_source(0);
	struct span_set spans = { .model = model };

	add_thread(model, 4 * n + 4);
	for (size_t i = 1; i <= n; i++) {
		model_add(model, &source,
			  REC(MESSAGE, message, 4 * i * STEP, 1, .object = 4, .bytes = 1,
			      .position = i, .direction = MESSAGE_SEND,
			      .object_kind = OBJECT_INET));
		add_span(model, i, 1, 0, 4 * i * STEP, (4 * i + 3) * STEP);
	}
	model_finish(model);
	for (uint32_t i = 1; i < span_set_count(&spans); i++) {
		struct observer *observer = observer_new(&spans);

		observer_span(observer, (span_id){ i }, 1, ignore, NULL);
		observer_free(observer);
	}
	model_free(model);
}

/* A span of many tasks, each of which enters a child on the same thread. */
static void contexts(size_t n)
{
	struct model *model = model_new();
	struct source source = story_source(0);

	add_thread(model, 2 * n + 2);
	for (uint64_t i = 1; i <= n; i++) {
		nsec_t start = 2 * i * STEP, end = start + STEP;
		struct record_context r = { .head = { .time = start,
						      .tid = 1,
						      .kind = RECORD_CONTEXT,
						      .words = sizeof(r) / 8 },
					    .since = start,
					    .trace = { 1 } };
		uint64_t child = i + 1;

		memcpy(r.span, &child, sizeof(child));
		model_add(model, &source, &r.head);
		child = 1;
		memcpy(r.span, &child, sizeof(child));
		r.head.time = r.since = end;
		model_add(model, &source, &r.head);
		add_span(model, 1, i + 1, 1, start, end);
	}
	add_span(model, 1, 1, 0, 0, (2 * n + 2) * STEP);
	find(model);
}

/* The same, and the thread is sampled and has probe events all the time. */
static void shared_samples(size_t n)
{
	struct model *model = model_new();
	struct source source = story_source(0);

	add_thread(model, 1);
	for (size_t i = 1; i <= n; i++) {
		model_add(model, &source, REC(SAMPLE, sample, STEP + i, 1, .stack = i));
		model_add(model, &source, REC(PROBE_EVENT, probe_event, STEP + i, 1, .type = i));
	}
	model_add(model, &source, REC(RUN, run, 2 * n * STEP, 1, .start = STEP));
	for (size_t i = 1; i <= n; i++)
		add_span(model, i, 1, 0, 0, 2 * n * STEP);
	find(model);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(size_t n);
	} cases[] = {
		{ "deep", deep },
		{ "wide", wide },
		{ "concurrent", concurrent },
		{ "traces", traces },
		{ "states", states },
		{ "shared-thread", shared_thread },
		{ "shared-messages", shared_messages },
		{ "one-by-one", one_by_one },
		{ "shared-samples", shared_samples },
		{ "contexts", contexts },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run(atoi(argv[2]));
	return 0;
}
