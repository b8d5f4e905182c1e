/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of services with different clocks.  Times are microseconds. */
#include <string.h>

#include "build.h"
#include "model/model.h"
#include "test.h"

static const char *const services[] = { "", "front", "back", "store", "queue" };
enum { FRONT = 1, BACK, STORE, QUEUE };

static const char *get_string(const void *arg, uint32_t id)
{
	return services[id];
}

struct stamped {
	uint8_t trace, id, parent, service;
	int64_t start, end;
	uint8_t kind, flags;
	uint32_t pid;
	const char *host;
};

#define CALL(trace_, id_, parent_, service_, start_, end_, ...) \
	{ .trace = trace_, \
	  .id = id_, \
	  .parent = parent_, \
	  .service = service_, \
	  .start = start_, \
	  .end = end_, \
	  ##__VA_ARGS__ }

enum { NOW = 1000000 }; /* leaves room to shift times to before the first */

static void add_call(struct model *model, const struct stamped *call)
{
	struct source source = { .get_string = get_string, .host_name = call->host };
	struct record_span r = { .head = { .time = (NOW + call->end) * NSEC_PER_USEC,
					   .kind = RECORD_SPAN,
					   .words = sizeof(r) / 8 },
				 .start = (NOW + call->start) * NSEC_PER_USEC,
				 .service = call->service,
				 .pid = call->pid,
				 .kind = call->kind,
				 .flags = call->flags };

	r.trace[0] = call->trace;
	r.span[0] = call->id;
	r.parent[0] = call->parent;
	model_add(model, &source, &r.head);
}

static struct model *make(const struct stamped *calls, size_t count)
{
	struct model *model = model_new();

	for (size_t i = 0; i < count; i++)
		add_call(model, &calls[i]);
	model_finish(model);
	return model;
}

/* The shifts of all spans: "0 70 0". */
static void check_shifts(const struct model *model, const char *want)
{
	char got[256] = "";

	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });
		size_t used = strlen(got);

		snprintf(got + used, sizeof(got) - used, "%s%g", i > 1 ? " " : "",
			 span->shift / (double)NSEC_PER_USEC);
	}
	CHECK_STR(got, want);
}

#define CHECK_CALLS(want, ...) \
	do { \
		const struct stamped calls_[] = { __VA_ARGS__ }; \
		_cleanup_(model_freep) struct model *model_ = make(calls_, ARRAY_LEN(calls_)); \
		check_shifts(model_, want); \
	} while (0)

TEST(consistent_clocks_stay)
{
	CHECK_CALLS("0 0 0", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, 0, 60, .kind = SPAN_SERVER), CALL(1, 3, 2, STORE, 10, 20));
	/* a server can continue after its reply */
	CHECK_CALLS("0 0", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, 10, 105, .kind = SPAN_SERVER));
}

TEST(a_server_is_centered_in_its_client)
{
	CHECK_CALLS("0 70", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER));
	/* also without kinds */
	CHECK_CALLS("0 70", CALL(1, 1, 0, FRONT, 0, 100), CALL(1, 2, 1, BACK, -50, 10));
}

TEST(all_calls_of_all_traces_bound_the_offset)
{
	/* 50 to 90, 60 to 100, and no bound: 60 to 90 */
	CHECK_CALLS("0 75 75 0 75 75", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER), CALL(1, 3, 2, BACK, -40, 0),
		    CALL(2, 1, 0, FRONT, 1000, 1100, .kind = SPAN_CLIENT),
		    CALL(2, 2, 1, BACK, 940, 1000, .kind = SPAN_SERVER),
		    CALL(3, 1, 0, BACK, 2000, 2100));
}

TEST(if_no_offset_satisfies_all_calls_each_trace_has_its_own)
{
	CHECK_CALLS("0 70 0 0 0 510", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER),
		    CALL(2, 1, 0, FRONT, 1000, 1100, .kind = SPAN_CLIENT),
		    CALL(2, 2, 1, BACK, 1010, 1090, .kind = SPAN_SERVER),
		    CALL(3, 1, 0, FRONT, 2000, 2100, .kind = SPAN_CLIENT),
		    CALL(3, 2, 1, BACK, 1500, 1580, .kind = SPAN_SERVER));
}

TEST(an_asynchronous_call_bounds_the_start_only)
{
	CHECK_CALLS("0 50", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_PRODUCER),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_CONSUMER));
	CHECK_CALLS("0 50", CALL(1, 1, 0, FRONT, 0, 100),
		    CALL(1, 2, 1, BACK, -50, 10, .flags = SPAN_FOLLOWS));
	/* longer than its parent */
	CHECK_CALLS("0 50", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 51, .kind = SPAN_SERVER));
	/* does not bound the offset of others */
	CHECK_CALLS("0 70 0 70", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER),
		    CALL(2, 1, 0, FRONT, 1000, 1100, .kind = SPAN_CLIENT),
		    CALL(2, 2, 1, BACK, 960, 1061, .kind = SPAN_SERVER));
	/* its end is unknown */
	CHECK_CALLS("0 50", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER, .flags = SPAN_OPEN));
}

TEST(clocks_are_corrected_from_the_root_down)
{
	/* back and store agree with each other; the client in back moves with its server */
	CHECK_CALLS("0 500 500 500", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -490, -410, .kind = SPAN_SERVER),
		    CALL(1, 3, 2, BACK, -480, -420, .kind = SPAN_CLIENT),
		    CALL(1, 4, 3, STORE, -470, -430, .kind = SPAN_SERVER));
	/* a callback bounds from the other side: 50 to 90, and at most 60 */
	CHECK_CALLS("0 55 0", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, -50, 10, .kind = SPAN_SERVER),
		    CALL(1, 3, 2, FRONT, 10, 40));
}

TEST(spans_of_one_host_have_one_clock)
{
	CHECK_CALLS("0 0", CALL(1, 1, 0, FRONT, 0, 100, .host = "a"),
		    CALL(1, 2, 1, BACK, -50, 10, .host = "a"));
	/* store is on the host of back, and moves with it */
	CHECK_CALLS("0 70 70", CALL(1, 1, 0, FRONT, 0, 100, .host = "a"),
		    CALL(1, 2, 1, BACK, -50, 10, .host = "b"),
		    CALL(1, 3, 2, STORE, -40, 0, .host = "b"));
	/* two processes of one service have two clocks */
	CHECK_CALLS("0 70 0", CALL(1, 1, 0, FRONT, 0, 100), CALL(1, 2, 1, BACK, -50, 10, .pid = 1),
		    CALL(1, 3, 1, BACK, 20, 30, .pid = 2));
}

TEST(a_server_that_is_ahead_is_set_back)
{
	CHECK_CALLS("0 -480", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, 500, 560, .kind = SPAN_SERVER));
	/* a client may give up before the server begins, but not in all calls */
	CHECK_CALLS("0 0 0 0", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, 500, 560, .kind = SPAN_SERVER),
		    CALL(2, 1, 0, FRONT, 1000, 1100, .kind = SPAN_CLIENT),
		    CALL(2, 2, 1, BACK, 1090, 1150, .kind = SPAN_SERVER));
	/* no span is shifted to before 0 */
	CHECK_CALLS("0 -2.99998e+06 -1", CALL(1, 1, 0, FRONT, 0, 100, .kind = SPAN_CLIENT),
		    CALL(1, 2, 1, BACK, 3000000, 3000060, .kind = SPAN_SERVER),
		    CALL(2, 1, 0, BACK, 1 - NOW, 2 - NOW));
	/* the parent need not wait for a child without a kind */
	CHECK_CALLS("0 0", CALL(1, 1, 0, FRONT, 0, 100), CALL(1, 2, 1, BACK, 500, 560));
}

TEST(rounding_is_no_contradiction)
{
	_cleanup_(model_freep) struct model *model = model_new();
	struct source source = { .get_string = get_string };
	struct record_span r = {
		.head = { .time = 9999, .kind = RECORD_SPAN, .words = sizeof(r) / 8 },
		.start = 5999,
		.service = FRONT,
		.span = { 1 }
	};

	model_add(model, &source, &r.head);
	r.service = BACK;
	r.start = 5000;
	r.span[0] = 2;
	r.parent[0] = 1;
	model_add(model, &source, &r.head);
	model_finish(model);
	check_shifts(model, "0 0");
}

TEST(shifts_are_reported_by_service)
{
	const struct stamped calls[] = {
		CALL(1, 1, 0, FRONT, 0, 100),
		CALL(1, 2, 1, BACK, -50, 10, .pid = 1),
		CALL(1, 3, 1, BACK, -10, 10, .pid = 2),
		CALL(1, 4, 2, BACK, -40, 0, .pid = 1),
	};
	_cleanup_(model_freep) struct model *model = make(calls, ARRAY_LEN(calls));

	model_finish(model); /* finishing again changes nothing */
	check_shifts(model, "0 70 50 70");
	CHECK_INT(model_clock_shift_count(model), 1);

	const struct clock_shift *shift = model_clock_shift(model, 0);

	CHECK_STR(model_string(model, shift->service), "back");
	CHECK_INT(shift->least, 50 * NSEC_PER_USEC);
	CHECK_INT(shift->most, 70 * NSEC_PER_USEC);
	CHECK_INT(shift->spans, 3);
	CHECK_INT(model_span(model, (span_id){ 2 })->start, (NOW + 20) * NSEC_PER_USEC);
	CHECK_INT(model_span(model, (span_id){ 2 })->end, (NOW + 80) * NSEC_PER_USEC);
	CHECK_INT(model_begin(model), NOW * NSEC_PER_USEC);
}

TEST(clocks_of_recorded_hosts_stay)
{
	_cleanup_(model_freep) struct model *model = model_new();
	const struct stamped front = CALL(1, 1, 0, FRONT, 0, 100),
			     back = CALL(1, 2, 1, BACK, -50, 10);
	struct source host = { .get_string = get_string, .has_host_clock = true };
	struct record_span r = { .head = { .time = (NOW + back.end) * NSEC_PER_USEC,
					   .kind = RECORD_SPAN,
					   .words = sizeof(r) / 8 },
				 .start = (NOW + back.start) * NSEC_PER_USEC,
				 .service = BACK,
				 .trace = { 1 },
				 .span = { 2 },
				 .parent = { 1 } };

	add_call(model, &front);
	model_add(model, &host, &r.head);
	model_finish(model);
	check_shifts(model, "-70 0");
}

TEST(clocks_of_spans_with_recorded_threads_stay)
{
	_cleanup_(model_freep) struct model *model = model_new();
	const struct stamped front = CALL(1, 1, 0, FRONT, 0, 100);
	struct source source = { .get_string = get_string };
	struct record_span r = { .head = { .time = (NOW + 10) * NSEC_PER_USEC,
					   .kind = RECORD_SPAN,
					   .words = sizeof(r) / 8,
					   .tid = 7 },
				 .start = (NOW - 50) * NSEC_PER_USEC,
				 .service = BACK,
				 .trace = { 1 },
				 .span = { 2 },
				 .parent = { 1 } };

	model_add(model, &source, REC(RUN, run, NOW * NSEC_PER_USEC, 7, .start = 1));
	model_add(model, &source, &r.head);
	add_call(model, &front);
	model_finish(model);
	check_shifts(model, "0 -70");
}

TEST(times_at_their_limits_do_not_overflow)
{
	static const nsec_t times[] = {
		0, 1, NSEC_PER_SEC, INT64_MAX / 4, INT64_MAX / 2, INT64_MAX
	};
	size_t count = ARRAY_LEN(times);

	for (size_t i = 0; i < count * count * count * count; i++) {
		_cleanup_(model_freep) struct model *model = model_new();
		struct source source = { .get_string = get_string };
		struct record_span r = { .head = { .kind = RECORD_SPAN, .words = sizeof(r) / 8 },
					 .kind = SPAN_CLIENT,
					 .service = FRONT,
					 .span = { 1 } };

		r.start = times[i % count];
		r.head.time = times[i / count % count];
		model_add(model, &source, &r.head);
		r.service = BACK;
		r.kind = SPAN_SERVER;
		r.start = times[i / count / count % count];
		r.head.time = times[i / count / count / count];
		r.span[0] = 2;
		r.parent[0] = 1;
		model_add(model, &source, &r.head);
		model_finish(model);
		CHECK(model_span(model, (span_id){ 1 })->start <= INT64_MAX);
		CHECK(model_span(model, (span_id){ 2 })->start <= INT64_MAX);
	}
}

/* Random trees of calls, with clocks of known offsets. */
static int64_t random_to(uint64_t *seed, int64_t n)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (*seed >> 33) % n;
}

TEST(random_skew_leaves_no_child_before_its_parent)
{
	uint64_t seed = 7;

	for (int round = 0; round < 200; round++) {
		_cleanup_(model_freep) struct model *model = model_new();
		int64_t skew[5] = { 0 };

		for (size_t i = FRONT + 1; i < ARRAY_LEN(skew); i++)
			skew[i] = random_to(&seed, 2000) - 1000;
		for (uint8_t trace = 1; trace <= 10; trace++) {
			int64_t start = trace * 10000, end = start + 5000;
			uint8_t depth = 1 + random_to(&seed, 4);

			for (uint8_t i = 1; i <= depth; i++) {
				struct stamped call =
					CALL(trace, i, i - 1, i, start + skew[i], end + skew[i]);

				add_call(model, &call);
				start += random_to(&seed, 500);
				end -= random_to(&seed, 500);
			}
		}
		model_finish(model);
		for (uint32_t i = 1; i < model_span_count(model); i++) {
			const struct span *span = model_span(model, (span_id){ i });
			const struct span *parent = model_span(model, span->parent);

			CHECK(!span->parent.i || span->start + NSEC_PER_USEC > parent->start);
		}
	}
}
