/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_drain - read the events from the arenas at a bounded cost.
 *
 * A process can fill its rings faster than the recorder empties them: legitimately,
 * or by advancing the head of a ring.  That must not delay the rings of the kernel
 * programs or of other processes.  So each arena has a time budget per round and an
 * allowance of bytes over time.  Events beyond that stay in the arena; when a ring is
 * full, the agent drops new events and counts them.  Events that waited too long are
 * dropped here and count as a loss of that process, because the records around them
 * have already been written.
 */
#include "base/base.h"
#include "record/clock.h"
#include "record/spans/agents_internal.h"

/* Time in one round for all arenas, and for one. */
#define ROUND_TIME (20 * NSEC_PER_MSEC)
#define ARENA_TIME (5 * NSEC_PER_MSEC)
/* Time at the end of the recording for all arenas, and for one. */
#define END_TIME (1 * NSEC_PER_SEC)
#define ARENA_END_TIME (250 * NSEC_PER_MSEC)

/* Bytes of events and of the records made from them: per second, and at most in one drain. */
#define BYTES_PER_SEC (256ull << 20)
#define BYTES_MAX (64ull << 20)

/* Older records can be out of order in the capture. */
#define AGE_MAX (40 * NSEC_PER_MSEC)

enum {
	SCANS_PER_ROUND = 4,   /* of processes named by rings */
	SLOW_WARNINGS_MAX = 8, /* processes named to write too much */
};

/* Callbacks of struct ring_sink. */
static bool is_ready(void *arg, struct ring_reader *reader, struct ring_owner *owner)
{
	return owner->resolved.is_final || agents_resolve_owner(arg, reader, owner);
}

static bool is_too_old(const struct agents *a, const struct attachment *attachment,
		       const struct span_event *event)
{
	return attachment->was_over_budget && event->time < a->now - AGE_MAX;
}

static void add_event(void *arg, struct ring_reader *reader, struct ring_owner *owner,
		      const struct span_event *event)
{
	struct agents *a = arg;
	struct attachment *attachment = &a->attachments.items[a->current];
	const struct span_event_end *end = (const void *)event;
	size_t before = span_writer_buffered(a->span_writer);
	struct span_origin origin = {
		.owner = ring_reader_inode(reader),
		.pid = owner->resolved.pid,
		.tid = owner->resolved.tid,
		.start_tid = owner->resolved.tid,
		.service = agents_service(a, owner),
	};

	if (!origin.pid) {
		counter_add(a->config.counters, COUNTER_EVENTS_OUT_OF_SCOPE, 1);
		return;
	}
	if (is_too_old(a, attachment, event)) {
		counter_add(a->config.counters, COUNTER_EVENTS_TOO_OLD, 1);
		attachment->dropped++;
		return;
	}
	if (event->kind == SPAN_EVENT_END && end->tid != owner->tid)
		origin.start_tid = agents_find_thread(a, owner, end->tid);
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

static void add_loss(void *arg, struct ring_reader *reader, struct ring_owner *owner, nsec_t first,
		     nsec_t last, uint64_t count)
{
	struct agents *a = arg;
	uint32_t pid = owner ? 0 : agents_first_member(agents_find_attachment(a, reader));

	if (pid)
		span_writer_add_loss(a->span_writer, pid, a->before, last, count, a->now);
	else if (owner && owner->resolved.pid)
		span_writer_add_loss(a->span_writer,
				     owner->resolved.tid ? owner->resolved.tid
							 : owner->resolved.pid,
				     first, last, count, a->now);
	drain_budget_use(&a->budget, sizeof(struct record_loss));
}

/* The memory of an arena is gone, and the spans in it are lost. */
static void drop_lost_attachment(struct agents *a, size_t i)
{
	struct attachment *attachment = &a->attachments.items[i];
	uint32_t first = agents_first_member(attachment);
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&attachment->members, &pos, &pid, &until);) {
		struct tracked_process *p = tracker_find(a->tracker, pid);

		if (p && p->reader == attachment->reader)
			p->reader = NULL;
	}
	agents_warn_once(a, &a->warned_lost,
			 "process %u truncated the arena of its agent: its spans are lost", first);
	agents_detach(a, i);
}

/* A loss of the whole arena, in this round. */
static void add_arena_loss(struct agents *a, struct attachment *attachment, uint64_t count)
{
	if (count)
		span_writer_add_loss(a->span_writer, agents_first_member(attachment), a->before,
				     a->now, count, a->now);
}

static void warn_slow(struct agents *a, struct attachment *attachment)
{
	if (attachment->has_warned || a->slow_warnings == SLOW_WARNINGS_MAX)
		return;
	a->slow_warnings++;
	agents_warn_once(a, &attachment->has_warned,
			 "process %u writes spans faster than they can be recorded: some of its "
			 "spans are lost",
			 agents_first_member(attachment));
}

/* Resolving the owner of a ring can attach another arena, which moves a->attachments.items. */
static unsigned int drain_attachment(struct agents *a, size_t i, nsec_t time, nsec_t end)
{
	const struct ring_sink sink = { is_ready, add_event, add_loss, a, a->config.counters };
	struct ring_reader *reader = a->attachments.items[i].reader;
	nsec_t deadline = clock_now() + time;

	a->current = i;
	a->attachments.items[i].dropped = 0;
	a->budget = (struct drain_budget){ .bytes = a->attachments.items[i].allowance,
					   .deadline = deadline < end ? deadline : end };
	ring_reader_set_budget(reader, &a->budget);

	unsigned int fill = ring_reader_drain(reader, &sink);
	struct attachment *attachment = &a->attachments.items[i];

	ring_reader_set_budget(reader, NULL);
	attachment->allowance = a->budget.bytes;
	attachment->was_over_budget = a->budget.is_spent;
	add_arena_loss(a, attachment, attachment->dropped);
	if (attachment->dropped)
		warn_slow(a, attachment);
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
	unsigned int fullest = 0;

	a->scans_left = SCANS_PER_ROUND;
	for (; done < count && (done == 0 || clock_now() < end); done++) {
		size_t i = (a->next_attachment + done) % count;
		add_allowance(&a->attachments.items[i], more);

		unsigned int fill = drain_attachment(a, i, ARENA_TIME, end);

		fullest = fill > fullest ? fill : fullest;
	}
	a->next_attachment = count ? (a->next_attachment + done) % count : 0;
	for (size_t i = a->attachments.count; i-- > 0;)
		if (ring_reader_is_lost(a->attachments.items[i].reader))
			drop_lost_attachment(a, i);
	close_ended(a);
	return fullest;
}

void agents_drain_rings_at_end(struct agents *a)
{
	nsec_t end = clock_now() + END_TIME;

	a->scans_left = SCANS_PER_ROUND;
	for (size_t i = 0; i < a->attachments.count; i++) {
		a->attachments.items[i].allowance = BYTES_MAX;
		drain_attachment(a, i, ARENA_END_TIME, end);

		struct attachment *attachment = &a->attachments.items[i];
		uint64_t left =
			clock_now() < end ? ring_reader_count_remaining(attachment->reader) : 0;

		counter_add(a->config.counters, COUNTER_EVENTS_UNREAD, left);
		if (attachment->was_over_budget) {
			add_arena_loss(a, attachment, left ? left : 1);
			warn_slow(a, attachment);
		}
	}
	close_ended(a);
}
