/* SPDX-License-Identifier: Apache-2.0 */
/* occurrence - the events of all threads that show which requests they work for, by time. */
#include <string.h>

#include "analyse/requests/internal.h"
#include "event/thread_state.h"

#define EACH(type, item, timeline) \
	for (timeline_pos pos_ = { 0, 0 }, \
			  *once_ = (timeline) && timeline_first(timeline, &pos_) ? &pos_ : NULL; \
	     once_; once_ = timeline_next(timeline, &pos_) ? &pos_ : NULL) \
		for (const type *item = timeline_at(timeline, pos_); item; item = NULL)

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

static void add_messages(const struct model *model, occurrences *list, uint32_t id,
			 const struct thread *thread)
{
	EACH(struct message, m, thread->timelines[TIMELINE_MESSAGES])
	{
		if (is_internal(model, thread, m))
			continue;
		*vec_push(list) = (struct occurrence){
			.time = m->time,
			.what = m,
			.thread = id,
			.kind = m->direction == MESSAGE_SEND ? OCCUR_SEND : OCCUR_RECEIVE,
		};
	}
	EACH(struct connect, c, thread->timelines[TIMELINE_CONNECTS])
	*vec_push(list) = (struct occurrence){
		.time = c->time, .what = c, .thread = id, .kind = OCCUR_CONNECT
	};
}

/* Whether a thread waits for one of many events, or for work. */
static bool is_idling(const struct cause *cause)
{
	enum syscall_class class = syscall_class_of(cause->syscall);

	return class == SYSCALL_POLL || class == SYSCALL_LOCK ||
	       cause->object_kind == OBJECT_PIPE || cause->object_kind == OBJECT_EVENTFD;
}

/* When a thread that is ready from this interval on got a CPU. */
static nsec_t ran_at(const struct timeline *intervals, timeline_pos at)
{
	const struct interval *ready = timeline_at(intervals, at);

	if (ready->state == STATE_RUNNING || !timeline_next(intervals, &at))
		return ready->start;
	return ((const struct interval *)timeline_at(intervals, at))->start;
}

static void add_waits(occurrences *list, uint32_t id, const struct thread *thread)
{
	const struct timeline *intervals = &thread->intervals;
	timeline_pos at;
	bool more = timeline_first(intervals, &at);

	EACH(struct cause, cause, &thread->causes)
	{
		const struct interval *interval = NULL;

		/* causes are in the order of their intervals */
		while (more && (interval = timeline_at(intervals, at))->start < cause->start)
			more = timeline_next(intervals, &at);
		if (!more || interval->start != cause->start || !is_idling(cause))
			continue;
		more = timeline_next(intervals, &at);

		const struct interval *next = more ? timeline_at(intervals, at) : NULL;

		*vec_push(list) = (struct occurrence){
			.time = cause->start,
			.ran = next ? next->start : thread->end,
			.what = cause,
			.thread = id,
			.kind = OCCUR_BLOCK,
		};
		if (cause->context != WAKE_TASK || !cause->waker.i)
			continue;
		*vec_push(list) = (struct occurrence){
			.time = next ? next->start : thread->end,
			.ran = next ? ran_at(intervals, at) : thread->end,
			.what = cause,
			.thread = id,
			.other = cause->waker.i,
			.kind = OCCUR_WAKE,
		};
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

void occurrences_find(const struct model *model, occurrences *ret)
{
	*ret = (occurrences){ 0 };
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });

		if (thread->out_of_scope)
			continue;
		add_messages(model, ret, i, thread);
		add_waits(ret, i, thread);
		if (thread->parent.i)
			*vec_push(ret) = (struct occurrence){ .time = thread->begin,
							      .thread = i,
							      .other = thread->parent.i,
							      .kind = OCCUR_FORK };
	}
	sort(ret);
}
