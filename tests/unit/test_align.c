/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with known clocks, and messages between them.  True time starts at 0; each host
 * records it on its own clock.
 */
#include "read/clock/align.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "build.h"
#include "test.h"

enum { HOSTS = 4 };

struct clock {
	int64_t offset;
	double drift;
	nsec_t step_at; /* true time at which the clock is set; 0 if never */
	int64_t step;   /* ns by which it is set */
};

/* A message, with the times on the clocks of both hosts. */
struct sent_message {
	uint16_t from, to;
	int64_t sent, received;
};

struct world {
	struct align *align;
	struct clock clocks[HOSTS];
	uint32_t position;
	VEC(struct sent_message) messages;
};

static struct world world_new(void)
{
	return (struct world){ .align = align_new(HOSTS), .position = 1 };
}

static void world_done(struct world *w)
{
	align_free(w->align);
	vec_done(&w->messages);
}

static nsec_t by_clock(const struct world *w, uint16_t host, nsec_t t)
{
	const struct clock *c = &w->clocks[host];

	return t + c->offset + (int64_t)(c->drift * (double)t) +
	       (c->step_at && t >= c->step_at ? c->step : 0);
}

/* Adds the socket at `local`; there is one connection between two hosts. */
static void add_socket(struct world *w, uint16_t local, uint16_t peer)
{
	struct record_socket r = { .object = 100 + peer,
				   .address = { .family = AF_INET,
						.protocol = IPPROTO_TCP,
						.local = { 10, 0, 0, local },
						.peer = { 10, 0, 0, peer },
						.local_port = 1000 + peer,
						.peer_port = 1000 + local } };

	r.head.kind = RECORD_SOCKET;
	align_add(w->align, local, 0, &r.head);
}

static void connect_two(struct world *w, uint16_t a, uint16_t b)
{
	add_socket(w, a, b);
	add_socket(w, b, a);
}

static void add_end(struct world *w, uint16_t at, uint16_t peer, nsec_t t, uint8_t direction,
		    uint32_t position)
{
	align_add(w->align, at, 0,
		  REC(MESSAGE, message, by_clock(w, at, t), 1, .object = 100 + peer, .bytes = 10,
		      .position = position, .direction = direction));
}

static void send_message(struct world *w, uint16_t from, uint16_t to, nsec_t sent, nsec_t received)
{
	w->position += 10;
	add_end(w, from, to, sent, MESSAGE_SEND, w->position);
	add_end(w, to, from, received, MESSAGE_RECEIVE, w->position);
	*vec_push(&w->messages) = (struct sent_message){ from, to, (int64_t)by_clock(w, from, sent),
							 (int64_t)by_clock(w, to, received) };
}

static int64_t random_between(int64_t min, int64_t max)
{
	return min + (int64_t)((double)(max - min) * (double)random() / RAND_MAX);
}

/* The host recorded an event at true time t. */
static void add_run(struct world *w, uint16_t at, nsec_t t)
{
	align_add(w->align, at, 0, REC(RUN, run, by_clock(w, at, t), 1));
}

/* Requests and responses with delays between 10 µs and 3 ms. */
static void exchange(struct world *w, uint16_t a, uint16_t b, int count, nsec_t duration)
{
	connect_two(w, a, b);
	add_run(w, a, 0);
	add_run(w, b, 0);
	add_run(w, a, duration);
	add_run(w, b, duration);
	for (int i = 0; i < count; i++) {
		nsec_t t = random_between(0, (int64_t)duration);

		send_message(w, a, b, t, t + random_between(10000, random() % 4 ? 30000 : 3000000));
		t += 5000000;
		send_message(w, b, a, t, t + random_between(15000, random() % 4 ? 40000 : 2000000));
	}
}

/* Checks that no message is received before it was sent, and no error exceeds its bound. */
static void check_all(const struct world *w, const struct align_host *hosts, nsec_t duration)
{
	for (size_t i = 0; i < w->messages.count; i++) {
		const struct sent_message *m = &w->messages.items[i];

		CHECK(align_apply(hosts[m->to].line, m->received) + 2 >=
		      align_apply(hosts[m->from].line, m->sent));
	}
	for (uint16_t m = 0; m < HOSTS; m++)
		for (nsec_t t = 0; hosts[m].root == 0 && t <= duration; t += duration / 7) {
			int64_t error = align_apply(hosts[m].line, (int64_t)by_clock(w, m, t)) -
					(int64_t)by_clock(w, 0, t);

			CHECK((double)llabs(error) <= hosts[m].bound + 2);
		}
}

TEST(the_error_is_within_the_bound)
{
	int narrow = 0;

	srandom(1);
	for (int round = 0; round < 1000; round++) {
		_cleanup_(world_done) struct world w = world_new();
		nsec_t duration = (nsec_t)1000000 << random() % 17;

		for (int i = 0; i < 2; i++) {
			w.clocks[i].offset =
				NSEC_PER_SEC * 1000ll + random_between(-500000000, 500000000);
			w.clocks[i].drift = (double)random_between(-50, 50) * 1e-6;
		}
		exchange(&w, 0, 1, 3 + random() % 200, duration);

		const struct align_host *hosts = align_solve(w.align);

		CHECK_INT(hosts[1].root, 0);
		CHECK_INT(hosts[1].link->dropped, 0);
		check_all(&w, hosts, duration);
		narrow += hosts[1].bound < 30000;
	}
	CHECK(narrow > 500); /* the bounds are useful */
}

TEST(drift_is_found)
{
	_cleanup_(world_done) struct world w = world_new();

	w.clocks[0] = (struct clock){ .offset = 5000000000000 };
	w.clocks[1] = (struct clock){ .offset = 4500000000000, .drift = 50e-6 };
	exchange(&w, 0, 1, 1000, 20 * NSEC_PER_SEC);

	const struct align_host *hosts = align_solve(w.align);
	double ppm = hosts[1].line.drift * 1e6;

	CHECK(ppm > -52 && ppm < -48);
	CHECK(hosts[1].bound < 20000);
	CHECK_INT(hosts[1].link->there, 1000);
	CHECK_INT(hosts[1].link->back, 1000);
	check_all(&w, hosts, 20 * NSEC_PER_SEC);
}

TEST(a_chain_of_hosts_is_aligned_along_the_path_with_the_least_bounds)
{
	_cleanup_(world_done) struct world w = world_new();

	srandom(2);
	for (int i = 0; i < HOSTS; i++)
		w.clocks[i] =
			(struct clock){ .offset = 1000000000000 + random_between(0, 900000000000),
					.drift = (double)random_between(-90, 90) * 1e-6 };
	exchange(&w, 2, 1, 300, NSEC_PER_SEC);
	exchange(&w, 0, 1, 300, NSEC_PER_SEC);
	exchange(&w, 3, 2, 300, NSEC_PER_SEC);
	/* a slow connection, which must not be used */
	connect_two(&w, 0, 3);
	for (nsec_t t = 0; t < NSEC_PER_SEC; t += 10000000) {
		send_message(&w, 0, 3, t, t + 9000000);
		send_message(&w, 3, 0, t, t + 9000000);
	}

	const struct align_host *hosts = align_solve(w.align);

	for (uint16_t i = 1; i < HOSTS; i++)
		CHECK_INT(hosts[i].root, 0);
	CHECK_INT(hosts[2].link->to, 1);
	CHECK_INT(hosts[3].link->to, 2);
	CHECK(hosts[1].bound < hosts[2].bound && hosts[2].bound < hosts[3].bound);
	check_all(&w, hosts, NSEC_PER_SEC);
}

/* Messages that are fast in one direction and slow in the other. */
static void exchange_asymmetric(struct world *w, uint16_t a, uint16_t b, nsec_t there, nsec_t back)
{
	connect_two(w, a, b);
	for (int i = 0; i < 50; i++) {
		nsec_t t = random_between(0, NSEC_PER_SEC);

		send_message(w, a, b, t, t + there + random_between(0, 1000));
		send_message(w, b, a, t, t + back + random_between(0, 1000));
	}
}

TEST(all_messages_in_a_ring_of_hosts_are_in_order)
{
	srandom(3);
	for (int round = 0; round < 200; round++) {
		_cleanup_(world_done) struct world w = world_new();

		for (int i = 0; i < HOSTS; i++) {
			w.clocks[i].offset = 1000000000000 + random_between(0, 900000000);
			w.clocks[i].drift = (double)random_between(-90, 90) * 1e-6;
			add_run(&w, i, 0);
			add_run(&w, i, NSEC_PER_SEC);
		}
		for (uint16_t a = 0; a < HOSTS; a++)
			for (uint16_t b = 0; b < a; b++)
				exchange_asymmetric(&w, a, b, random_between(1000, 30000),
						    random_between(1000, 30000));
		check_all(&w, align_solve(w.align), NSEC_PER_SEC);
	}
}

TEST(hosts_with_too_few_messages_are_not_aligned)
{
	_cleanup_(world_done) struct world w = world_new();

	connect_two(&w, 0, 1);
	connect_two(&w, 2, 3);
	connect_two(&w, 2, 0);
	for (nsec_t t = 1000; t < 9000; t += 1000) {
		send_message(&w, 0, 1, t, t + 500);
		if (t < 3000)
			send_message(&w, 1, 0, t + 600, t + 900);
		send_message(&w, 2, 3, t, t + 500);
		send_message(&w, 3, 2, t, t + 500);
		send_message(&w, 2, 0, t, t + 500);
	}

	const struct align_host *hosts = align_solve(w.align);

	CHECK_INT(hosts[0].root, 0);
	CHECK_INT(hosts[1].root, 1);
	CHECK_INT(hosts[1].link->there, 2);
	CHECK_INT(hosts[1].link->back, 8);
	CHECK_INT(hosts[2].root, 2); /* root of a group of two */
	CHECK_INT(hosts[2].link->to, 0);
	CHECK_INT(hosts[3].root, 2);
}

TEST(a_clock_set_during_the_recording_is_contradictory)
{
	_cleanup_(world_done) struct world w = world_new();

	w.clocks[1].step_at = NSEC_PER_SEC;
	w.clocks[1].step = 100000000;
	exchange(&w, 0, 1, 1000, 2 * NSEC_PER_SEC);

	const struct align_host *hosts = align_solve(w.align);

	CHECK_INT(hosts[1].root, 1);
	CHECK(hosts[1].link && hosts[1].link->contradictory);
	/* the true offset is 0 at first, then 100 ms */
	for (int64_t truth = 0; truth >= -100000000; truth -= 100000000)
		CHECK((double)llabs(hosts[1].link->line.shift - truth) <= hosts[1].link->bound);
}

TEST(a_few_wrong_messages_are_ignored)
{
	_cleanup_(world_done) struct world w = world_new();

	w.clocks[1].offset = 123456789;
	exchange(&w, 0, 1, 1000, NSEC_PER_SEC);
	send_message(&w, 0, 1, 500000000, 400000000);
	send_message(&w, 1, 0, 700000000, 600000000);
	w.messages.count -= 2;

	const struct align_host *hosts = align_solve(w.align);

	CHECK_INT(hosts[1].root, 0);
	CHECK(hosts[1].link->dropped > 0);
	check_all(&w, hosts, NSEC_PER_SEC);
}

TEST(a_message_is_sent_before_the_system_call_returns)
{
	_cleanup_(world_done) struct world w = world_new();

	connect_two(&w, 0, 1);
	for (uint32_t i = 1; i <= 10; i++) {
		nsec_t t = i * 1000000;

		align_add(w.align, 0, 0,
			  REC(MESSAGE, message, t + 900, 1, .object = 101, .bytes = 10,
			      .position = i * 10, .lag = 900));
		align_add(w.align, 1, 0,
			  REC(MESSAGE, message, t + 100, 1, .object = 100, .bytes = 10,
			      .position = i * 10, .direction = MESSAGE_RECEIVE));
		send_message(&w, 1, 0, t + 10000, t + 10100);
	}

	const struct align_host *hosts = align_solve(w.align);

	CHECK_INT(hosts[1].root, 0);
	CHECK(hosts[1].bound <= 101);
	check_all(&w, hosts, 10000000);
}

/* The number of messages between hosts 0 and 1 that were matched. */
static uint64_t count_matches(struct world *w)
{
	const struct align_host *hosts = align_solve(w->align);

	return hosts[1].link ? hosts[1].link->there + hosts[1].link->back : 0;
}

TEST(an_end_that_is_recorded_twice_counts_once)
{
	_cleanup_(world_done) struct world w = world_new();

	connect_two(&w, 0, 1);
	for (int i = 0; i < 2; i++)
		add_end(&w, 0, 1, 1000, MESSAGE_SEND, 77);
	add_end(&w, 1, 0, 2000, MESSAGE_RECEIVE, 77);
	CHECK_INT(count_matches(&w), 1);
}

TEST(an_ambiguous_position_is_ignored)
{
	_cleanup_(world_done) struct world w = world_new();

	connect_two(&w, 0, 1);
	add_end(&w, 0, 1, 1000, MESSAGE_SEND, 77);
	add_end(&w, 0, 1, 9000, MESSAGE_SEND, 77);
	add_end(&w, 1, 0, 2000, MESSAGE_RECEIVE, 77);
	CHECK_INT(count_matches(&w), 0);
}

TEST(an_address_of_two_hosts_is_ignored)
{
	_cleanup_(world_done) struct world w = world_new();
	struct record_socket r = { .object = 101,
				   .address = { .family = AF_INET,
						.protocol = IPPROTO_TCP,
						.local = { 10, 0, 0, 0 },
						.peer = { 10, 0, 0, 1 },
						.local_port = 1001,
						.peer_port = 1000 } };

	r.head.kind = RECORD_SOCKET;
	connect_two(&w, 0, 1);
	send_message(&w, 0, 1, 1000, 2000);
	align_add(w.align, 2, 0, &r.head);
	CHECK_INT(count_matches(&w), 0);
}

TEST(lines_can_be_inverted_and_composed)
{
	struct align_line a = { .shift = 5000, .origin = 100000, .drift = 1e-4 };
	struct align_line b = { .shift = -300000, .origin = -70000, .drift = -2e-4 };

	for (int64_t t = -1000000; t <= 1000000; t += 100000) {
		CHECK(llabs(align_apply(align_inverse(a), align_apply(a, t)) - t) <= 2);
		CHECK(llabs(align_apply(align_compose(a, b), t) -
			    align_apply(b, align_apply(a, t))) <= 2);
	}
}
