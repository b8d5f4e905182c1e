/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/wakeup_latency.h"

#include "base/map.h"

static bool is_wakeup(const struct interval *interval)
{
	return (interval->state == STATE_READY || interval->state == STATE_THROTTLED) &&
	       !(interval->flags & (INTERVAL_PREEMPTED | INTERVAL_OPEN));
}

void wakeup_latency_merge(struct wakeup_latency *sum, const struct wakeup_latency *other)
{
	struct wakeup_latency longer = other->max > sum->max ? *other : *sum;

	longer.count = sum->count + other->count;
	longer.total = sum->total + other->total;
	*sum = longer;
}

void wakeup_latency_add(const struct model *model, thread_id id, nsec_t from, nsec_t to,
			struct wakeup_latency *sum)
{
	const struct thread *thread = model_thread(model, id);
	struct stretch s;

	if (from < thread->begin)
		from = thread->begin;
	for (bool more = model_stretch_at(model, id, from, &s); more && s.end <= to;
	     more = model_stretch_next(model, id, &s)) {
		nsec_t start = s.interval.start > from ? s.interval.start : from;
		struct wakeup_latency one = { .count = 1,
					      .total = s.end - start,
					      .max = s.end - start,
					      .thread = id,
					      .start = start,
					      .end = s.end,
					      .cpu = s.interval.cpu };

		if (is_wakeup(&s.interval) && s.end > from)
			wakeup_latency_merge(sum, &one);
	}
}

static nsec_t part_of(const struct slice *slice, const struct wakeup_latency *sum)
{
	nsec_t start = slice->start > sum->start ? slice->start : sum->start;
	nsec_t end = slice->start + slice->length;

	if (end > sum->end)
		end = sum->end;
	return start < end ? end - start : 0;
}

thread_id wakeup_latency_cpu_thread(const struct model *model, const struct wakeup_latency *sum)
{
	uint16_t host = model_thread(model, sum->thread)->host;
	const struct timeline *slices = sum->count ? model_slices(model, host, sum->cpu) : NULL;
	struct map times = { 0 };
	thread_id best = { 0 };
	nsec_t longest = 0;
	timeline_pos pos;

	if (!slices || (!timeline_find(slices, sum->start, &pos) && !timeline_first(slices, &pos)))
		return best;
	do {
		const struct slice *slice = timeline_at(slices, pos);

		if (slice->start >= sum->end)
			break;
		if (slice->thread.i == sum->thread.i || !part_of(slice, sum))
			continue;

		uint64_t *time = map_insert(&times, slice->thread.i);

		*time += part_of(slice, sum);
		if (*time > longest) {
			longest = *time;
			best = slice->thread;
		}
	} while (timeline_next(slices, &pos));
	map_done(&times);
	return best;
}
