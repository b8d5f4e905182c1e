/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/gil.h"

/* A holder runs for a good part of the wait, even if it shares its CPU. */
enum { HOLDER_PART = 5 };
/* Bounds the cost; there are few slices in 5 ms. */
enum { SLICES_MAX = 256, RUNNERS_MAX = 8 };

struct runner {
	thread_id thread;
	nsec_t ran;
};

static void add_slice(struct runner *runners, thread_id thread, nsec_t ran)
{
	for (int i = 0; i < RUNNERS_MAX; i++) {
		if (!runners[i].thread.i)
			runners[i].thread = thread;
		if (runners[i].thread.i == thread.i) {
			runners[i].ran += ran;
			return;
		}
	}
}

static void add_cpu(const struct model *model, const struct timeline *slices, thread_id waiter,
		    nsec_t from, nsec_t to, struct runner *runners)
{
	const struct thread *own = model_thread(model, waiter);
	timeline_pos pos;

	if (!timeline_find(slices, from, &pos) && !timeline_from(slices, from, &pos))
		return;
	for (int i = 0; i < SLICES_MAX; i++) {
		const struct slice *s = timeline_at(slices, pos);
		const struct thread *thread = model_thread(model, s->thread);
		nsec_t start = s->start > from ? s->start : from, end = s->start + s->length;

		if (s->start >= to)
			break;
		end = end < to ? end : to;
		if (start < end && s->thread.i != waiter.i && thread->pid == own->pid &&
		    thread->host == own->host)
			add_slice(runners, s->thread, end - start);
		if (!timeline_next(slices, &pos))
			break;
	}
}

thread_id gil_holder(const struct model *model, thread_id waiter, nsec_t from, nsec_t to)
{
	struct runner runners[RUNNERS_MAX] = { 0 }, *most = &runners[0];
	uint16_t host = model_thread(model, waiter)->host;
	const struct timeline *slices;

	for (uint16_t cpu = 0; (slices = model_slices(model, host, cpu)); cpu++)
		add_cpu(model, slices, waiter, from, to, runners);
	for (int i = 1; i < RUNNERS_MAX; i++)
		if (runners[i].ran > most->ran)
			most = &runners[i];
	return most->ran * HOLDER_PART >= to - from ? most->thread : (thread_id){ 0 };
}
