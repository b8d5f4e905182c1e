/* SPDX-License-Identifier: Apache-2.0 */
#include "top/top.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyse/requests/window.h"
#include "base/clock.h"
#include "top/top_internal.h"

enum {
	BUDGET = 300,      /* accounts per tick */
	BUDGET_MIN = 30,   /* even if their paths are long */
	STEPS = 100000,    /* of their paths in all */
	EXPLANATIONS = 10, /* per tick */
	COLUMNS = 80,
};

struct top *top_new(const struct top_options *options)
{
	struct top *top = must_alloc(sizeof(*top));

	top->options = *options;
	top->options.budget = options->budget ?: BUDGET;
	top->options.columns = options->columns ?: COLUMNS;
	top->options.scope = must_strdup(options->scope ?: "");
	top->budget = top->options.budget;
	top->explanations = EXPLANATIONS;
	sentences_advance(&top->sentences, 0);
	if (options->baseline)
		top->watch = watch_new(options->baseline, options->profiles);
	top_compare_tick(top);
	return top;
}

static void free_strings(struct live_state *state)
{
	free((char *)state->host);
	free((char *)state->problem);
	free((char *)state->warning);
}

void top_free(struct top *top)
{
	if (!top)
		return;
	operations_done(&top->operations);
	sentences_done(&top->sentences);
	watch_free(top->watch);
	for (size_t i = 0; i < SECONDS_EXACT; i++)
		costs_done(&top->seconds[i].costs);
	free_strings(&top->state);
	free((char *)top->options.scope);
	free(top);
}

void top_set_columns(struct top *top, size_t columns)
{
	top->options.columns = columns ?: COLUMNS;
}

uint64_t top_second_of(const struct top *top, nsec_t t)
{
	return t > top->begin ? (t - top->begin - 1) / NSEC_PER_SEC : 0;
}

/* The times of a restarted recorder are those of the same clock, so seconds go on. */
static void begin(struct top *top, nsec_t t)
{
	if (top->has_begun)
		return;
	top->has_begun = true;
	top->begin = t;
}

static void advance(struct top *top, uint64_t second)
{
	uint64_t from = top->operations.second;

	if (second <= from)
		return;
	for (uint64_t i = second; i > from && i + SECONDS_EXACT > second; i--) {
		struct top_second *s = &top->seconds[i % SECONDS_EXACT];

		costs_done(&s->costs);
		*s = (struct top_second){ .from = top->begin + i * NSEC_PER_SEC };
	}
	/* requests that were reported since the last tick are in the first of these seconds */
	if (second - from < SECONDS_EXACT && top->state.now > top->begin)
		top->seconds[(from + 1) % SECONDS_EXACT].from = top->state.now;
	operations_advance(&top->operations, second);
	sentences_advance(&top->sentences, second);
}

/*
 * Most requests are reported REQUEST_LAG after their end, so seconds are as much behind.  A request
 * that is reported later, after the tick of its second, counts for the first open one.
 */
static uint64_t open_second(const struct top *top, nsec_t end, nsec_t now)
{
	uint64_t last = top_second_of(top, now), first = top_second_of(top, end + REQUEST_LAG);

	if (first < top->open)
		first = top->open;
	return first < last ? first : last;
}

static void span_ended(void *arg, const struct live_view *view, span_id id)
{
	struct top *top = arg;
	const struct span *span = span_set_at(view->spans, id);
	nsec_t since = span_arrival(span);
	nsec_t latency = span->end > since ? span->end - since : 0; /* an SDK can err */
	struct operation *op;

	begin(top, view->begin);
	advance(top, open_second(top, span->end, view->now));
	op = operations_find(&top->operations, view->spans, id);
	op->last = top->operations.second;
	seconds_add(&op->seconds, latency);
	*vec_push(&op->batch) = (struct ended_request){ id, latency };
	top->seconds[top->operations.second % SECONDS_EXACT].requests++;
}

static void batch_ended(void *arg, const struct live_view *view)
{
	struct top *top = arg;

	begin(top, view->begin);
	advance(top, top_second_of(top, view->now));
	top_compare_batch(top, view);
	top_account_batch(top, view);
	top_add_in_flight(top, view);
	operations_end_batch(&top->operations);
}

static void measure(struct cpu_use *use, nsec_t time, nsec_t cpu)
{
	if (use->time && time > use->time && cpu >= use->cpu)
		use->cores = (double)(cpu - use->cpu) / (time - use->time);
	use->time = time;
	use->cpu = cpu;
}

static nsec_t nsec_of(struct timeval t)
{
	return t.tv_sec * NSEC_PER_SEC + t.tv_usec * NSEC_PER_USEC;
}

static uint64_t resident_size(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void measure_self(struct top *top)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	measure(&top->reader, clock_now(), nsec_of(use.ru_utime) + nsec_of(use.ru_stime));
	top->reader_memory = resident_size();
}

static void copy_state(struct top *top, const struct live_state *state)
{
	free_strings(&top->state);
	top->state = *state;
	top->state.host = must_strdup(state->host ?: "");
	top->state.problem = state->problem ? must_strdup(state->problem) : NULL;
	top->state.warning = state->warning ? must_strdup(state->warning) : NULL;
}

/* The next accounts cost about as much as the last ones. */
static void set_budget(struct top *top)
{
	size_t most = top->steps ? STEPS * top->accounts / top->steps : SIZE_MAX;

	most = most > BUDGET_MIN ? most : BUDGET_MIN;
	top->budget = top->options.budget < most ? top->options.budget : most;
	top->accounts = top->steps = 0;
	top->explanations = EXPLANATIONS;
	top_compare_tick(top);
}

static void tick(void *arg, const struct live_state *state)
{
	struct top *top = arg;
	nsec_t since = top->state.records ? top->state.now : state->begin;

	if (!state->records) { /* the recorder is starting */
		copy_state(top, state);
		return;
	}
	begin(top, state->begin);
	advance(top, top_second_of(top, state->now));
	if (state->now > since)
		top->record_rate = (double)(state->records - top->records) * NSEC_PER_SEC /
				   (state->now - since);
	if (state->lost > top->lost)
		top->seconds[top->operations.second % SECONDS_EXACT].lost +=
			state->lost - top->lost;
	top->records = state->records;
	top->lost = state->lost;
	copy_state(top, state);
	if (state->problem)
		top_clear_in_flight(top); /* their replies are not recorded */
	if (!state->is_replay) {
		measure(&top->recorder, state->recorder.time, state->recorder.cpu_time);
		measure_self(top);
	}
	top->open = top->operations.second + 1;
	set_budget(top);
}

struct consumer top_consumer(struct top *top)
{
	return (struct consumer){
		.arg = top, .span_ended = span_ended, .batch_ended = batch_ended, .tick = tick
	};
}
