/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTTng's inet_sock_local_in and _out of two hosts with different clocks: each segment
 * finds its other side, and the segments align the clocks.
 */
#include <stdlib.h>

#include "model/model.h"
#include "read/clock/align.h"
#include "read/replay/replay.h"
#include "story.h"
#include "test.h"

enum { ROUNDS = 10, AHEAD = 5000000 /* ns, of the second clock */ };

struct test_host {
	struct raw_source source;
	struct replay *replay;
};

struct two {
	struct test_host hosts[2];
	struct align *align;
	struct model *model;
};

static struct two two_begin(void)
{
	return (struct two){ .align = align_new(2), .model = model_new() };
}

static void two_done(struct two *t)
{
	align_free(t->align);
	model_free(t->model);
	for (int i = 0; i < 2; i++)
		replay_free(t->hosts[i].replay);
}

static void play(struct two *t, int host, struct raw_event e)
{
	struct test_host *m = &t->hosts[host];
	struct source source = story_source(host);
	const struct record *record;

	if (!m->replay)
		m->replay = replay_new(&m->source);
	source.shift = host ? -AHEAD : 0;
	e.time += host ? AHEAD : 0;
	replay_event(m->replay, &e);
	while ((record = replay_take(m->replay))) {
		align_add(t->align, host, 0, record);
		model_add(t->model, &source, record);
	}
}

static struct raw_event at(nsec_t time, enum raw_kind kind, uint32_t tid)
{
	struct raw_event e = raw_event_empty(kind);

	e.time = time;
	e.tid = tid;
	return e;
}

static struct raw_event switched(nsec_t time, uint32_t from, uint32_t to)
{
	struct raw_event e = at(time, RAW_SWITCH, from);

	e.sched_switch.prev = from;
	e.sched_switch.next = to;
	e.sched_switch.state = from ? RAW_STATE_SLEEP : 0;
	return e;
}

static struct raw_event segment(nsec_t time, enum raw_kind kind, uint32_t tid, uint32_t seq)
{
	struct raw_event e = at(time, kind, tid);

	e.packet.object = 0xffff880012345600 + tid;
	e.packet.seq = seq;
	e.packet.ack = 10 * seq;
	e.packet.flags = 0x8018;
	return e;
}

/* Thread 1 of one host sends, which takes 20 µs; thread 1 of the other sleeps until then. */
static void send(struct two *t, int from, nsec_t time, uint32_t seq)
{
	struct raw_event wakes = at(time + 20000, RAW_WAKING, 0);

	wakes.wake.tid = 1;
	play(t, from, switched(time - 10, 0, 1));
	play(t, from, segment(time, RAW_PACKET_SEND, 1, seq));
	play(t, from, switched(time + 10, 1, 0));
	play(t, !from, at(time + 19000, RAW_SOFTIRQ_ENTRY, 0));
	play(t, !from, segment(time + 19500, RAW_PACKET_RECEIVE, 0, seq));
	play(t, !from, wakes);
	play(t, !from, at(time + 21000, RAW_SOFTIRQ_EXIT, 0));
}

TEST(local_segments_find_their_other_side_and_align_clocks)
{
	_cleanup_(two_done) struct two t = two_begin();

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		send(&t, 0, 100000ull * i, 1000 * i);
		send(&t, 1, 100000ull * i + 50000, 2000 * i + 77);
	}
	model_finish(t.model);

	const struct align_host *hosts = align_solve(t.align);

	CHECK_INT(hosts[1].root, 0);
	CHECK(llabs(hosts[1].line.shift + AHEAD) <= 20000);

	thread_id sender = model_find_thread(t.model, 1, 100000);
	const struct timeline *line = model_thread(t.model, sender)->timelines[TIMELINE_MESSAGES];
	unsigned joined = 0;
	timeline_pos pos;

	if (!line || !timeline_find(line, UINT64_MAX, &pos)) {
		CHECK(!"there are no messages");
		return;
	}
	do {
		const struct message *m = timeline_at(line, pos);
		const struct thread *other = model_thread(t.model, m->other);

		joined += other->tid == 1 && other->host != model_thread(t.model, sender)->host &&
			  m->other_time + 20000 - m->time <= 40000;
	} while (timeline_prev(line, &pos));
	CHECK_INT(joined, 2 * ROUNDS);
}
