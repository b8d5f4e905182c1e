/* SPDX-License-Identifier: Apache-2.0 */
#include "model/span_slice.h"

#include "base/sort.h"

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

static inline bool is_before(uint32_t a, uint32_t b, nsec_t a_time, nsec_t b_time)
{
	return a != b ? a < b : a_time < b_time;
}

static bool by_span(const struct span_slice *a, const struct span_slice *b)
{
	return is_before(a->span.i, b->span.i, a->start, b->start);
}

static bool by_thread(const struct span_slice *a, const struct span_slice *b)
{
	return is_before(a->thread.i, b->thread.i, a->start, b->start);
}

static bool by_reply(const struct span_reply *a, const struct span_reply *b)
{
	return is_before(a->span.i, b->span.i, a->time, b->time);
}

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
	sort_items(slices->by_span.items, slices->by_span.count, by_span);
	sort_items(slices->by_thread.items, slices->by_thread.count, by_thread);
	sort_items(slices->replies.items, slices->replies.count, by_reply);
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
			if (is_before((vec)->items[at_].owner.i, id.i, (vec)->items[at_].time, t)) \
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
