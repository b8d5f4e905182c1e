/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_drain - take the events out of the arenas, at a bounded cost.
 *
 * A process can fill its rings faster than they are emptied: by honest work, or by
 * just moving a number.  Its events must not keep the recorder from the rings of
 * the kernel programs or of other processes.  So each arena has a budget of time
 * in each round and an allowance of bytes over time.  Events beyond these stay in
 * the arena, where the agent drops new ones and counts them.  Events that are too
 * old when they are taken, because of that, are dropped here and count as a loss of
 * that process: records before and after them are written already.
 */
#include "base/base.h"
#include "record/spans/agents_internal.h"
#include "record/clock.h"

/* Time in one round for all arenas, and for one. */
#define ROUND_TIME (20 * NSEC_PER_MSEC)
#define ARENA_TIME (5 * NSEC_PER_MSEC)
/* Time at the end of the recording for all, and for one. */
#define END_TIME (1 * NSEC_PER_SEC)
#define ARENA_END_TIME (250 * NSEC_PER_MSEC)

/* Bytes per second, of events or of the records made of them, and at a time. */
#define BYTES_PER_SEC (256ull << 20)
#define BYTES_MAX (64ull << 20)

/* Records older than this may be out of order when they are written. */
#define AGE_MAX (40 * NSEC_PER_MSEC)

enum {
	LOOKS = 4,    /* into processes that rings name, in one round */
	SAY_OVER = 8, /* name so many processes that write too much */
};

/* For ring_sink, from here on. */
static bool is_ready(void *arg, struct ring_reader *reader, struct ring_owner *ring)
{
	return ring->own.asked || agents_find_owner(arg, reader, ring);
}

static bool is_too_old(const struct agents *a, const struct attachment *attachment,
		       const struct span_event *event)
{
	return attachment->was_over && event->time < a->now - AGE_MAX;
}

static void take_event(void *arg, struct ring_reader *reader, struct ring_owner *ring,
		       const struct span_event *event)
{
	struct agents *a = arg;
	struct attachment *attachment = &a->attachments.items[a->drained];
	const struct span_event_end *end = (const void *)event;
	size_t before = span_writer_buffered(a->span_writer);
	struct span_origin origin = { ring_reader_inode(reader), ring->own.pid, ring->own.tid,
				      ring->own.tid, ring->own.service };

	if (!origin.pid) {
		counter_add(a->config.counters, COUNTER_EVENTS_OUT_OF_SCOPE, 1);
		return;
	}
	if (is_too_old(a, attachment, event)) {
		counter_add(a->config.counters, COUNTER_EVENTS_TOO_OLD, 1);
		attachment->too_many++;
		return;
	}
	if (event->kind == SPAN_EVENT_END && end->tid != ring->tid)
		origin.begun_by = agents_find_thread(a, ring, end->tid);
	span_writer_add_event(a->span_writer, &origin, event, a->until);
	drain_budget_use(&a->budget, span_writer_buffered(a->span_writer) - before);
}

uint32_t agents_first_member(const struct attachment *attachment)
{
	uint64_t pid, until, first = 0;

	for (size_t pos = 0; map_next(&attachment->members, &pos, &pid, &until);)
		first = !first || pid < first ? pid : first;
	return first;
}

static void take_loss(void *arg, struct ring_reader *reader, struct ring_owner *ring, nsec_t first,
		      nsec_t last, uint64_t count)
{
	struct agents *a = arg;
	uint32_t pid = ring ? 0 : agents_first_member(agents_find_attachment(a, reader));

	if (pid)
		span_writer_add_loss(a->span_writer, pid, a->before, last, count, a->now);
	else if (ring && ring->own.pid)
		span_writer_add_loss(a->span_writer, ring->own.tid ? ring->own.tid : ring->own.pid,
				     first, last, count, a->now);
	drain_budget_use(&a->budget, sizeof(struct record_loss));
}

/* The memory of an arena is gone, and with it the spans that were there. */
static void lose_hold(struct agents *a, size_t i)
{
	struct attachment *attachment = &a->attachments.items[i];
	uint32_t first = agents_first_member(attachment);
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&attachment->members, &pos, &pid, &until);) {
		struct process *p = tracker_find(a->tracker, pid);

		if (p && p->reader == attachment->reader)
			p->reader = NULL;
	}
	agents_warn_once(a, &a->said_lost,
			 "process %u truncated the memory of its agent: its spans are lost", first);
	agents_detach(a, i);
}

static void add_loss(struct agents *a, struct attachment *attachment, uint64_t count)
{
	if (count)
		span_writer_add_loss(a->span_writer, agents_first_member(attachment), a->before,
				     a->now, count, a->now);
}

static void say_over(struct agents *a, struct attachment *attachment)
{
	if (attachment->said_over || a->said_over == SAY_OVER)
		return;
	a->said_over++;
	agents_warn_once(a, &attachment->said_over,
			 "process %u writes spans faster than they can be recorded: some of its "
			 "spans are lost",
			 agents_first_member(attachment));
}

/* To find a ring's owner can attach to other arenas: pointers to holds do not last. */
static unsigned int drain_hold(struct agents *a, size_t i, nsec_t time, nsec_t end)
{
	const struct ring_sink sink = { is_ready, take_event, take_loss, a, a->config.counters };
	struct ring_reader *reader = a->attachments.items[i].reader;
	nsec_t deadline = clock_now() + time;

	a->drained = i;
	a->attachments.items[i].too_many = 0;
	a->budget = (struct drain_budget){ .bytes = a->attachments.items[i].allowance,
					   .deadline = deadline < end ? deadline : end };
	ring_reader_set_budget(reader, &a->budget);

	unsigned int fill = ring_reader_drain(reader, &sink);
	struct attachment *attachment = &a->attachments.items[i];

	ring_reader_set_budget(reader, NULL);
	attachment->allowance = a->budget.bytes;
	attachment->was_over = a->budget.is_spent;
	add_loss(a, attachment, attachment->too_many);
	if (attachment->too_many)
		say_over(a, attachment);
	return fill;
}

static void close_ended(struct agents *a)
{
	if (a->ended.count)
		span_writer_close_processes(a->span_writer, &a->ended);
	map_done(&a->ended);
}

static void add_allowance(struct attachment *attachment, uint64_t bytes)
{
	bool is_full =
		attachment->allowance > BYTES_MAX || bytes > BYTES_MAX - attachment->allowance;

	attachment->allowance = is_full ? BYTES_MAX : attachment->allowance + bytes;
}

unsigned int agents_drain_rings(struct agents *a)
{
	nsec_t end = clock_now() + ROUND_TIME;
	uint64_t more = (a->now - a->before) * (BYTES_PER_SEC / NSEC_PER_MSEC) / 1000;
	size_t count = a->attachments.count, done = 0;
	unsigned int fill = 0;

	a->scans_left = LOOKS;
	for (; done < count && (done == 0 || clock_now() < end); done++) {
		size_t i = (a->next_hold + done) % count;
		add_allowance(&a->attachments.items[i], more);

		unsigned int filled = drain_hold(a, i, ARENA_TIME, end);

		fill = filled > fill ? filled : fill;
	}
	a->next_hold = count ? (a->next_hold + done) % count : 0;
	for (size_t i = a->attachments.count; i-- > 0;)
		if (ring_reader_is_lost(a->attachments.items[i].reader))
			lose_hold(a, i);
	close_ended(a);
	return fill;
}

void agents_drain_rings_at_end(struct agents *a)
{
	nsec_t end = clock_now() + END_TIME;

	a->scans_left = LOOKS;
	for (size_t i = 0; i < a->attachments.count; i++) {
		a->attachments.items[i].allowance = BYTES_MAX;
		drain_hold(a, i, ARENA_END_TIME, end);

		struct attachment *attachment = &a->attachments.items[i];

		uint64_t left =
			clock_now() < end ? ring_reader_count_remaining(attachment->reader) : 0;

		counter_add(a->config.counters, COUNTER_EVENTS_LEFT, left);
		if (attachment->was_over) {
			add_loss(a, attachment, left ? left : 1);
			say_over(a, attachment);
		}
	}
	close_ended(a);
}
