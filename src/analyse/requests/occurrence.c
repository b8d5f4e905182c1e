/* SPDX-License-Identifier: Apache-2.0 */
/* occurrence - the events of all threads that show which requests they work for, by time. */
#include <string.h>

#include "analyse/requests/internal.h"
#include "event/thread_state.h"

/* A timeline, if it has items from a time on: most threads have nothing new. */
static const struct timeline *newer(const struct timeline *timeline, nsec_t from)
{
	const nsec_t *last = timeline ? timeline_last(timeline) : NULL;

	return last && *last >= from ? timeline : NULL;
}

/*
 * A socket pair within a process, such as the one of Python's asyncio, only wakes the thread that
 * polls it; the wakeup is an occurrence of its own.
 */
static bool is_internal(const struct model *model, const struct thread *thread,
			const struct message *m)
{
	const struct thread *other = model_thread(model, m->other);

	return m->object_kind == OBJECT_UNIX && m->other.i && other->host == thread->host &&
	       other->pid == thread->pid;
}

static void add_message(const struct model *model, occurrences *list, uint32_t id,
			const struct message *m)
{
	if (is_internal(model, model_thread(model, (thread_id){ id }), m))
		return;
	*vec_push(list) = (struct occurrence){
		.time = m->time,
		.what = m,
		.thread = id,
		.kind = m->direction == MESSAGE_SEND ? OCCUR_SEND : OCCUR_RECEIVE,
	};
}

static void add_messages(const struct model *model, occurrences *list, uint32_t id,
			 const struct thread *thread, struct occurrence_cursor *c, nsec_t until)
{
	const struct timeline *messages = newer(thread->timelines[TIMELINE_MESSAGES], c->message);
	const struct timeline *connects = newer(thread->timelines[TIMELINE_CONNECTS], c->connect);
	nsec_t end = until < UINT64_MAX ? until + 1 : until;

	TIMELINE_EACH_BETWEEN(struct message, m, messages, c->message, end)
	{
		c->message = m->time + 1;
		add_message(model, list, id, m);
	}
	TIMELINE_EACH_BETWEEN(struct connect, connect, connects, c->connect, end)
	{
		c->connect = connect->time + 1;
		*vec_push(list) = (struct occurrence){
			.time = connect->time, .what = connect, .thread = id, .kind = OCCUR_CONNECT
		};
	}
}

/* Whether a thread waits for one of many events, or for work. */
static bool is_idling(const struct cause *cause)
{
	enum syscall_class class = syscall_class_of(cause->syscall);

	return class == SYSCALL_POLL || class == SYSCALL_LOCK ||
	       cause->object_kind == OBJECT_PIPE || cause->object_kind == OBJECT_EVENTFD;
}

/* When a thread that is ready from this interval on got a CPU; it can have run since then. */
static nsec_t ran_at(const struct thread *thread, timeline_pos at)
{
	const struct interval *ready = timeline_at(&thread->intervals, at);

	if (ready->state == STATE_RUNNING)
		return ready->start;
	if (!timeline_next(&thread->intervals, &at))
		return thread->end;
	return ((const struct interval *)timeline_at(&thread->intervals, at))->start;
}

static void add_block(occurrences *list, uint32_t id, const struct cause *cause, nsec_t woken)
{
	*vec_push(list) = (struct occurrence){
		.time = cause->start, .ran = woken, .what = cause, .thread = id, .kind = OCCUR_BLOCK
	};
}

static void add_wake(occurrences *list, uint32_t id, const struct cause *cause, nsec_t woken,
		     nsec_t ran)
{
	if (cause->context == WAKE_TASK && cause->waker.i)
		*vec_push(list) = (struct occurrence){ .time = woken,
						       .ran = ran,
						       .what = cause,
						       .thread = id,
						       .other = cause->waker.i,
						       .kind = OCCUR_WAKE };
}

/* A wait is recorded when it ends, so that a long one can come late. */
static void add_waits(occurrences *list, uint32_t id, const struct thread *thread,
		      struct occurrence_cursor *c, nsec_t until)
{
	const struct timeline *intervals = &thread->intervals;
	nsec_t from = c->wake < c->block ? c->wake : c->block;
	const struct timeline *causes = newer(&thread->causes, from);
	timeline_pos at;
	bool more = causes && timeline_from(intervals, from, &at);

	TIMELINE_EACH_BETWEEN(struct cause, cause, causes, from, until)
	{
		bool is_new = cause->start >= c->block, is_idle = is_idling(cause);
		const struct interval *interval = NULL;

		/* causes are in the order of their intervals */
		while (more && (interval = timeline_at(intervals, at))->start < cause->start)
			more = timeline_next(intervals, &at);
		if (!more)
			break;
		if (interval->start != cause->start)
			continue;
		more = timeline_next(intervals, &at);

		nsec_t woken = more ? ((const struct interval *)timeline_at(intervals, at))->start
				    : thread->end;

		if (is_new && is_idle)
			add_block(list, id, cause, woken);
		c->block = is_new ? cause->start + 1 : c->block;
		if (woken > until)
			break;
		if (is_idle)
			add_wake(list, id, cause, woken, more ? ran_at(thread, at) : thread->end);
		c->wake = cause->start + 1;
	}
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Sorts by one digit of the time since `begin`; stable. */
static void sort_digit(const struct occurrence *from, struct occurrence *to, size_t count,
		       nsec_t begin, unsigned shift)
{
	size_t starts[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		starts[(from[i].time - begin) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t n = starts[i];

		starts[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[(from[i].time - begin) >> shift & (DIGITS - 1)]++] = from[i];
}

/* A radix sort, which takes linear time. */
static void sort(occurrences *list)
{
	nsec_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < list->count; i++) {
		begin = list->items[i].time < begin ? list->items[i].time : begin;
		end = list->items[i].time > end ? list->items[i].time : end;
	}
	if (begin >= end)
		return;

	struct occurrence *other = must_realloc(NULL, list->count * sizeof(*other));

	for (unsigned shift = 0; shift < 64 && (end - begin) >> shift; shift += DIGIT_BITS) {
		struct occurrence *from = list->items;

		sort_digit(from, other, list->count, begin, shift);
		list->items = other;
		other = from;
	}
	list->room = list->count;
	free(other);
}

void occurrences_find(const struct model *model, struct occurrence_cursor *cursors, nsec_t until,
		      occurrences *ret)
{
	*ret = (occurrences){ 0 };
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });
		struct occurrence_cursor *c = &cursors[i];

		if (thread->out_of_scope)
			continue;
		add_messages(model, ret, i, thread, c, until);
		add_waits(ret, i, thread, c, until);
		if (!thread->parent.i || c->has_fork || thread->begin > until)
			continue;
		c->has_fork = true;
		*vec_push(ret) = (struct occurrence){ .time = thread->begin,
						      .thread = i,
						      .other = thread->parent.i,
						      .kind = OCCUR_FORK };
	}
	sort(ret);
}
