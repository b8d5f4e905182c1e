/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent_read.h"

static const uint8_t trace_a[16] = { 1, 2, 3 }, span_a[8] = { 4, 5 }, span_b[8] = { 6, 7 };

static struct sonde_agent_span example(const char *name)
{
	struct sonde_agent_span span = { .name = name, .name_size = strlen(name), .kind = 3 };

	memcpy(span.trace, trace_a, 16);
	memcpy(span.span, span_b, 8);
	memcpy(span.parent, span_a, 8);
	return span;
}

/* Free abandoned rings, as a recorder does when they are empty. */
static void free_left(void)
{
	for (int i = 0; i < SPAN_RINGS; i++) {
		agent_arena->rings[i].tail = agent_arena->rings[i].head;
		if ((agent_arena->rings[i].state & SPAN_RING_STATE) == SPAN_RING_ABANDONED) {
			agent_arena->taken[i / 64] &= ~(1ull << (i % 64));
			agent_arena->rings[i].state =
				span_ring_with(agent_arena->rings[i].state, SPAN_RING_FREE);
		}
	}
}

/* Whether exactly the rings that are not free have their bit set. */
static bool bits_match(void)
{
	whole_arena();
	for (int i = 0; i < SPAN_RINGS; i++) {
		bool is_taken = agent_arena->taken[i / 64] >> (i % 64) & 1;

		if (is_taken != ((agent_arena->rings[i].state & SPAN_RING_STATE) != SPAN_RING_FREE))
			return false;
	}
	return true;
}

TEST(an_unused_agent_allocates_nothing)
{
	CHECK(!agent_arena);
	CHECK_INT((intmax_t)agent_process.epoch, 0);
	CHECK(!otel_thread_ctx_v1);
}

TEST(the_published_context_is_the_one_set_last)
{
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK(otel_thread_ctx_v1 && otel_thread_ctx_v1->valid == 1);
	CHECK(!memcmp(otel_thread_ctx_v1->trace, trace_a, 16));
	CHECK(!memcmp(otel_thread_ctx_v1->span, span_a, 8));
	CHECK_INT(otel_thread_ctx_v1->trace_flags, 1);
	CHECK_INT(otel_thread_ctx_v1->attributes_size, 0);

	const struct context_record *first = otel_thread_ctx_v1;
	sonde_agent_set_context(trace_a, span_b, 1);
	CHECK(otel_thread_ctx_v1 != first); /* a published record never changes */
	CHECK(!memcmp(otel_thread_ctx_v1->span, span_b, 8));

	sonde_agent_set_unknown_context();
	CHECK(otel_thread_ctx_v1 && otel_thread_ctx_v1->valid == 0);
	sonde_agent_clear_context();
	CHECK(!otel_thread_ctx_v1);
}

TEST(without_a_recorder_no_event_is_written)
{
	struct sonde_agent_span span = example("quiet");

	sonde_agent_set_context(trace_a, span_a, 1);
	sonde_agent_begin(&span);
	sonde_agent_end(&span);
	CHECK(!sonde_agent_is_recording());
	CHECK_INT(rings_taken(), 0);
}

TEST(events_contain_all_data_of_a_span)
{
	struct sonde_agent_span span = example("load order");
	const char attributes[] = "\1\1\2\0kvv"; /* a string, k = vv */

	recorder_attach();
	CHECK(sonde_agent_is_recording());
	uint64_t before = clock_now();
	sonde_agent_begin(&span);
	sonde_agent_set_context(span.trace, span.span, 1);
	span.start = 17;
	span.tid = 18;
	span.is_error = true;
	span.attributes = attributes;
	span.attributes_size = sizeof(attributes) - 1;
	sonde_agent_end(&span);
	sonde_agent_clear_context();
	sonde_agent_set_unknown_context();
	uint64_t after = clock_now();
	sonde_agent_begin(&span);

	struct span_ring *ring = ring_of((uint32_t)gettid());
	CHECK(ring && ring->pid == (uint32_t)getpid() && ring->pid_ns != 0);
	const struct span_event_begin *begin = ring_next(ring);
	CHECK_INT(begin->head.kind, SPAN_EVENT_BEGIN);
	CHECK(before <= begin->head.time && begin->head.time <= after);
	CHECK_INT(begin->name_size, 10);
	CHECK(!memcmp(begin->name, "load order", 10));
	CHECK(!memcmp(begin->trace, trace_a, 16) && !memcmp(begin->span, span_b, 8));
	CHECK(!memcmp(begin->parent, span_a, 8) && begin->kind == SPAN_CLIENT);

	const struct span_event_context *context = ring_next(ring);
	CHECK_INT(context->head.kind, SPAN_EVENT_CONTEXT);
	CHECK(!memcmp(context->span, span_b, 8) && context->head.flags == 0);

	const struct span_event_end *end = ring_next(ring);
	CHECK_INT(end->head.kind, SPAN_EVENT_END);
	CHECK(end->head.flags == SPAN_ERROR && end->start == 17 && end->tid == 18);
	CHECK(!memcmp(end->trace, trace_a, 16) && !memcmp(end->span, span_b, 8));
	CHECK(!memcmp(end->parent, span_a, 8) && end->kind == SPAN_CLIENT);
	CHECK_INT(end->attributes_size, 7);
	CHECK(!memcmp(end->text, "load order\1\1\2\0kvv", 17));

	context = ring_next(ring);
	CHECK(context->head.flags == 0 && !context->span[0] && !context->trace[0]);
	context = ring_next(ring);
	CHECK_INT(context->head.flags, CONTEXT_UNKNOWN);
	begin = ring_next(ring);
	CHECK_INT(begin->head.time, 17); /* an explicit start time is used */
	CHECK(!ring_next(ring));
	recorder_detach();
}

TEST(too_many_attributes_are_cut_between_two_of_them)
{
	struct sonde_agent_span span = example("");
	static char name[5000], attributes[8000];
	const size_t one = 4 + 10 + 86;

	recorder_attach();
	struct span_ring *ring = own_ring_empty();
	memset(name, 'n', sizeof(name));
	for (size_t at = 0; at + one <= sizeof(attributes); at += one)
		memcpy(attributes + at, "\1\12\126\0", 4);
	span.name = name;
	span.name_size = sizeof(name);
	span.attributes = attributes;
	span.attributes_size = sizeof(attributes);
	sonde_agent_begin(&span);
	sonde_agent_end(&span);
	const struct span_event_begin *begin = ring_next(ring);
	CHECK_INT(begin->name_size, 1024);
	const struct span_event_end *end = ring_next(ring);
	CHECK(end && end->head.size <= SPAN_EVENT_MAX);
	CHECK_INT(end->attributes_size % one, 0);
	CHECK(end->attributes_size > 2800);
	CHECK(!ring_next(ring));
	recorder_detach();
}

/* The largest event is filled to its last byte; with one byte more, the last attribute is dropped.
 */
TEST(attributes_can_fill_an_event_completely)
{
	struct sonde_agent_span span = example("");
	static char attributes[SPAN_EVENT_MAX];
	const size_t room = SPAN_EVENT_MAX - sizeof(struct span_event_end), last = 100;
	struct span_attribute first = { .type = ATTRIBUTE_STRING,
					.key_size = 1,
					.value_size = (uint16_t)(room - last - 5) };

	recorder_attach();
	struct span_ring *ring = own_ring_empty();
	memcpy(attributes, &first, sizeof(first));
	memcpy(attributes + room - last, "\1\12\126\0", 4);
	span.attributes = attributes;
	for (size_t more = 0; more < 2; more++) {
		attributes[room - last + 2] = (char)(0126 + more);
		span.attributes_size = room + more;
		sonde_agent_end(&span);
		const struct span_event_end *end = ring_next(ring);
		CHECK_INT(end->attributes_size, more ? room - last : room);
	}
	recorder_detach();
}

static void *begin_with_time(void *arg)
{
	struct sonde_agent_span span = example("first");

	(void)arg;
	span.start = 17;
	sonde_agent_begin(&span);
	struct span_ring *ring = ring_of((uint32_t)gettid());
	const struct span_event_begin *begin = ring ? ring_next(ring) : NULL;
	CHECK(begin && begin->head.time == 17);
	return NULL;
}

TEST(the_first_event_of_a_thread_can_have_an_explicit_time)
{
	pthread_t thread;

	recorder_attach();
	CHECK_INT(pthread_create(&thread, NULL, begin_with_time, NULL), 0);
	pthread_join(thread, NULL);
	free_left();
	recorder_detach();
}

TEST(a_full_ring_drops_events_and_records_the_times)
{
	struct sonde_agent_span span = example("many");

	recorder_attach();
	struct span_ring *ring = own_ring_empty();
	uint64_t lost = ring->lost, head = ring->head;
	while (ring->lost == lost)
		sonde_agent_begin(&span);
	uint64_t first = ring->lost_last;
	CHECK(ring->lost_first == first && ring->head - ring->tail <= SPAN_RING_SIZE);
	for (int i = 0; i < 6; i++)
		sonde_agent_begin(&span);
	CHECK_INT(ring->lost - lost, 7);
	CHECK(ring->lost_first == first && ring->lost_last > first);
	CHECK(sonde_agent_is_recording());

	size_t size = ((const struct span_event *)ring_next(ring))->size;
	uint64_t fit = SPAN_RING_SIZE / size, n = 1;
	while (ring_next(ring))
		n++;
	CHECK_INT(n, fit);
	CHECK_INT(ring->head - head, fit * size);
	sonde_agent_begin(&span); /* there is space again */
	CHECK_INT(ring->lost - lost, 7);
	ring->lost_reported = ring->lost;
	recorder_detach();
}

static void recorder_dies(void)
{
	agent_arena->heartbeat = clock_now() - SPAN_HEARTBEAT_MAX - 1; /* undetected so far */
}

TEST(a_thread_that_finds_the_recorder_dead_ends_the_recording)
{
	struct sonde_agent_span span = example("late");

	recorder_attach();
	own_ring_empty();
	recorder_dies();
	for (size_t i = 0; i < SPAN_RING_SIZE / sizeof(struct span_event); i++)
		sonde_agent_begin(&span);
	CHECK_INT(agent_arena->recording, 0);
	CHECK(!sonde_agent_is_recording());
	own_ring_empty();
}

static void *take_and_end(void *meanwhile)
{
	sonde_agent_set_context(trace_a, span_b, 1);
	CHECK(ring_of((uint32_t)gettid()) != NULL);
	if (meanwhile)
		((void (*)(void))meanwhile)();
	return NULL;
}

static void run_thread(void (*meanwhile)(void))
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, take_and_end, (void *)meanwhile), 0);
	pthread_join(thread, NULL);
}

TEST(a_thread_that_exits_abandons_its_ring_to_the_recorder)
{
	recorder_attach();
	sonde_agent_set_context(trace_a, span_a, 1);
	int before = rings_taken(), left = 0;

	run_thread(NULL);
	CHECK_INT(rings_taken(), before + 1);
	for (int i = 0; i < SPAN_RINGS; i++)
		if ((agent_arena->rings[i].state & SPAN_RING_STATE) == SPAN_RING_ABANDONED) {
			const struct span_event_context *event = ring_next(&agent_arena->rings[i]);
			CHECK(event && !memcmp(event->span, span_b, 8));
			left++;
		}
	CHECK_INT(left, 1);
	free_left();
	recorder_detach();
}

/* The first abandoned ring. */
static struct span_ring *abandoned_ring(void)
{
	for (int i = 0; i < SPAN_RINGS; i++)
		if ((agent_arena->rings[i].state & SPAN_RING_STATE) == SPAN_RING_ABANDONED)
			return &agent_arena->rings[i];
	return NULL;
}

TEST(each_owner_of_a_ring_has_a_new_generation)
{
	recorder_attach();
	run_thread(NULL);

	struct span_ring *ring = abandoned_ring();
	uint32_t state = ring ? ring->state : 0;

	free_left();
	run_thread(NULL);
	CHECK(ring && abandoned_ring() == ring);
	CHECK_INT(ring ? ring->state : 0, state + SPAN_RING_GENERATION);
	free_left();
	recorder_detach();
}

TEST(consecutive_threads_reuse_rings)
{
	int before = rings_taken();

	for (int i = 0; i < 100; i++) {
		recorder_attach();
		run_thread(recorder_dies);
	}
	CHECK_INT(rings_taken(), before);
	CHECK(bits_match());
	recorder_detach();
}

static void *take_and_wait(void *arg)
{
	sonde_agent_set_context(trace_a, span_b, 1);
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

/* More than the bits of a word. */
TEST(threads_free_their_rings_if_the_recorder_is_dead)
{
	enum { THREADS = 70 };
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	int before = rings_taken();

	recorder_attach();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, take_and_wait, &barrier), 0);
	pthread_barrier_wait(&barrier);
	CHECK_INT(rings_taken(), before + THREADS);
	CHECK(bits_match());
	recorder_dies();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(rings_taken(), before);
	CHECK(bits_match());
	recorder_detach();
}

static void exit_with_rings(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 33);
	for (int i = 0; i < 32; i++)
		pthread_create(&thread, NULL, take_and_wait, &barrier);
	pthread_barrier_wait(&barrier);
	fflush(stdout);
	_exit(0); /* all of them exit without notice */
}

TEST(rings_of_dead_threads_are_reused_when_no_ring_is_free)
{
	for (int i = 0; i < SPAN_RINGS / 32; i++) {
		recorder_attach();
		sonde_agent_set_context(trace_a, span_a, 1);
		CHECK(in_child(exit_with_rings));
		CHECK(bits_match());
	}
	/* with our own ring, one more than exist: the last thread searched for dead owners */
	CHECK(agent_arena->lost_without_ring > 0);
	CHECK(bits_match());
	free_left();
	CHECK(rings_taken() < 64);
	uint64_t next_ring_search = agent_arena->lost_without_ring;
	run_thread(NULL);
	CHECK_INT(agent_arena->lost_without_ring, next_ring_search);
	free_left();
	recorder_detach();
}

TEST(a_new_service_name_takes_a_new_ring)
{
	recorder_attach();
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK_STR(ring_of((uint32_t)gettid())->service, "");
	sonde_agent_set_service(
		"a name that is quite long, longer than what has room in a ring's header");
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK_INT(strlen(ring_of((uint32_t)gettid())->service), SPAN_SERVICE_MAX - 1);
	sonde_agent_set_service("bank");
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK_STR(ring_of((uint32_t)gettid())->service, "bank");
	recorder_detach();
}

TEST(calls_preserve_errno)
{
	errno = 4711;
	recorder_attach();
	sonde_agent_set_service("bank");
	sonde_agent_set_context(trace_a, span_a, 1);
	sonde_agent_clear_context();
	CHECK_INT(errno, 4711);
	recorder_detach();
}
