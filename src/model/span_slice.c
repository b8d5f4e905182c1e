/* SPDX-License-Identifier: Apache-2.0 */
#include "model/span_slice.h"

void span_slices_done(struct span_slices *slices)
{
	vec_done(&slices->by_span);
	vec_done(&slices->by_thread);
	vec_done(&slices->replies);
}

void span_slices_add(struct span_slices *slices, const struct span_slice *slice)
{
	if (slice->start >= slice->end)
		return;
	*vec_push(&slices->by_span) = *slice;
	*vec_push(&slices->by_thread) = *slice;
}

void span_slices_add_reply(struct span_slices *slices, const struct span_reply *reply)
{
	*vec_push(&slices->replies) = *reply;
}

static int compare(uint32_t a, uint32_t b, nsec_t a_time, nsec_t b_time)
{
	return (a > b) - (a < b) ?: (a_time > b_time) - (a_time < b_time);
}

static int by_span(const void *a, const void *b)
{
	const struct span_slice *x = a, *y = b;

	return compare(x->span.i, y->span.i, x->start, y->start);
}

static int by_thread(const void *a, const void *b)
{
	const struct span_slice *x = a, *y = b;

	return compare(x->thread.i, y->thread.i, x->start, y->start);
}

static int by_reply(const void *a, const void *b)
{
	const struct span_reply *x = a, *y = b;

	return compare(x->span.i, y->span.i, x->time, y->time);
}

#define SORT(vec, order) \
	do { \
		if ((vec)->count) \
			qsort((vec)->items, (vec)->count, sizeof((vec)->items[0]), order); \
	} while (0)

/* Later work ends earlier work. */
#define CUT_OVERLAPS(vec, key) \
	for (size_t i_ = 1; i_ < (vec)->count; i_++) { \
		struct span_slice *a_ = &(vec)->items[i_ - 1]; \
		const struct span_slice *b_ = &(vec)->items[i_]; \
\
		if (a_->key.i == b_->key.i && a_->end > b_->start) \
			a_->end = b_->start; \
	}

void span_slices_finish(struct span_slices *slices)
{
	SORT(&slices->by_span, by_span);
	SORT(&slices->by_thread, by_thread);
	SORT(&slices->replies, by_reply);
	CUT_OVERLAPS(&slices->by_span, span)
	CUT_OVERLAPS(&slices->by_thread, thread)
}

/* The first item of an owner from time t on; NULL if there is none. */
#define FIND(vec, owner, id, time, t) \
	({ \
		size_t low_ = 0, high_ = (vec)->count; \
\
		while (low_ < high_) { \
			size_t at_ = low_ + (high_ - low_) / 2; \
\
			if (compare((vec)->items[at_].owner.i, id.i, (vec)->items[at_].time, t) < \
			    0) \
				low_ = at_ + 1; \
			else \
				high_ = at_; \
		} \
		low_ < (vec)->count && (vec)->items[low_].owner.i == id.i ? &(vec)->items[low_] \
									  : NULL; \
	})

const struct span_slice *span_slice_of_span(const struct span_slices *slices, span_id span,
					    nsec_t t)
{
	return FIND(&slices->by_span, span, span, end, t + 1);
}

const struct span_slice *span_slice_of_thread(const struct span_slices *slices, thread_id thread,
					      nsec_t t)
{
	return FIND(&slices->by_thread, thread, thread, end, t + 1);
}

const struct span_reply *span_reply_from(const struct span_slices *slices, span_id span, nsec_t t)
{
	return FIND(&slices->replies, span, span, time, t);
}
