/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: one life of a tid each, and when their numbers can be reused.
 *
 * Other parts of the model name threads by number: causes their waker, messages their other side,
 * block I/O its issuer, slices, spans and residencies their thread.  A number that is reused must
 * not be followed from what belonged to the earlier thread.  So the number of a thread that has
 * ended passes three steps:
 *
 * 1. The thread is dropped once it has ended and no record of the window refers to it
 *    (thread.used).  Items of timelines before the window are invisible (timeline.h), and a record
 *    in the window that refers to a thread has set `used`.  So no visible item names the thread.
 * 2. The next sweep removes it from everything that is not a timeline: parents, spans,
 *    residencies, messages that wait for their other side.
 * 3. The sweep after that gives the number to new threads.  Sweeps are at least a window apart, so
 *    an analysis that remembers a number from one update to the next sees `forgotten` in time.
 *
 * Earlier lives of a tid form a list with shortcuts, whose entries can lead to a reused number.
 * An entry is followed only if the thread still is an earlier life of the same tid: the depth in
 * the list only grows, so a later life cannot be mistaken for an earlier one.
 */
#include "model/model_internal.h"

struct timeline *model_thread_timeline(struct thread *thread, enum thread_timeline which,
				       size_t item_size)
{
	if (!thread->timelines[which]) {
		thread->timelines[which] = must_alloc(sizeof(struct timeline));
		timeline_init(thread->timelines[which], item_size);
	}
	return thread->timelines[which];
}

/* Whether a thread is an earlier life of the tid of another one. */
static bool is_earlier_life(const struct model *model, thread_id id, thread_id of)
{
	const struct thread *a = &model->threads.items[id.i], *b = &model->threads.items[of.i];

	return id.i && !a->forgotten && a->tid == b->tid && a->host == b->host &&
	       model->earlier.items[id.i].depth < model->earlier.items[of.i].depth;
}

/* As in skew binary numbers: two shortcuts of one length become one of twice that length. */
static void set_earlier(struct model *model, thread_id id, thread_id previous)
{
	const struct earlier *all = model->earlier.items, *p = &all[previous.i];
	const struct earlier *jump = &all[p->jump.i];
	bool same = is_earlier_life(model, p->jump, previous) &&
		    p->depth - jump->depth == jump->depth - all[jump->jump.i].depth;
	struct earlier added = {
		.previous = previous,
		.jump = same ? jump->jump : previous,
		.depth = p->depth + 1,
	};

	model->earlier.items[id.i] = added;
}

/* A number without a thread: a reused one, or the next. */
static thread_id new_id(struct model *model)
{
	if (model->unused.count)
		return model->unused.items[--model->unused.count];
	*vec_push(&model->threads) = (struct thread){ 0 };
	vec_push(&model->earlier);
	return (thread_id){ model->threads.count - 1 };
}

thread_id model_add_thread(struct model *model, const struct source *source, uint32_t tid,
			   nsec_t now)
{
	uint64_t *slot = map_insert(&model->tids, tid_key(source->host, tid));
	thread_id id = new_id(model), previous = { *slot };
	struct thread *thread = thread_at(model, id);

	*thread = (struct thread){
		.tid = tid,
		.pid = tid,
		.generation = thread->generation + 1,
		.host = source->host,
		.input = source->input,
		.begin = now,
		.end = now,
		.used = now,
		.epoch = model_described(model, source).epoch,
	};
	timeline_init(&thread->intervals, sizeof(struct interval));
	timeline_init(&thread->causes, sizeof(struct cause));
	thread_at(model, previous)->replaced = previous.i;
	set_earlier(model, id, previous);
	*slot = id.i;
	return id;
}

thread_id model_thread_of(struct model *model, const struct source *source, uint32_t tid,
			  nsec_t now)
{
	const uint64_t *found = map_find(&model->tids, tid_key(source->host, tid));

	if (found) {
		thread_used(thread_at(model, (thread_id){ *found }), now);
		return (thread_id){ *found };
	}

	thread_id id = model_add_thread(model, source, tid, now);

	thread_at(model, id)->out_of_scope = true;
	return id;
}

thread_id model_host_thread(const struct model *model, uint16_t host, uint32_t tid, nsec_t t)
{
	const uint64_t *last = map_find(&model->tids, tid_key(host, tid));
	thread_id id = { last ? *last : 0 };

	while (id.i && model->threads.items[id.i].begin > t) {
		const struct earlier *e = &model->earlier.items[id.i];

		if (!is_earlier_life(model, e->previous, id))
			break;
		id = is_earlier_life(model, e->jump, id) &&
				     model->threads.items[e->jump.i].begin > t
			     ? e->jump
			     : e->previous;
	}
	return id;
}

void model_thread_done(struct thread *thread)
{
	timeline_done(&thread->intervals);
	timeline_done(&thread->causes);
	for (size_t i = 0; i < TIMELINE_COUNT; i++)
		if (thread->timelines[i]) {
			timeline_done(thread->timelines[i]);
			free(TAKE(thread->timelines[i]));
		}
	model_context_log_free(TAKE(thread->log));
	model_past_free(TAKE(thread->past));
}

static void drop_thread(struct model *model, thread_id id)
{
	struct thread *thread = thread_at(model, id);

	model_thread_done(thread);
	thread->forgotten = true;
	if (!thread->replaced)
		map_remove(&model->tids, tid_key(thread->host, thread->tid));
	*vec_push(&model->dropped) = (struct dropped_thread){ id, model->sweeps };
}

/* An interval is valid until the next; a cause belongs to the interval with its start. */
static void forget_intervals(struct thread *thread, nsec_t t)
{
	timeline_pos first;

	if (thread->end <= t)
		timeline_done(&thread->intervals);
	else
		timeline_forget(&thread->intervals, t);
	if (timeline_first(&thread->intervals, &first))
		timeline_forget_before(&thread->causes,
				       *(nsec_t *)timeline_at(&thread->intervals, first));
	else
		timeline_done(&thread->causes);
}

static void forget_items(struct thread *thread, nsec_t t)
{
	forget_intervals(thread, t);
	for (size_t i = 0; i < TIMELINE_COUNT; i++) {
		struct timeline *timeline = thread->timelines[i];

		if (!timeline)
			continue;
		if (i == TIMELINE_CONTEXTS)
			timeline_forget(timeline, t);
		else
			timeline_forget_before(timeline, t);
		if (!timeline->chunk_count && i != TIMELINE_CONTEXTS) {
			timeline_done(timeline);
			free(TAKE(thread->timelines[i]));
		}
	}
	if (thread->begin < t)
		thread->begin = thread->end < t ? thread->end : t;
}

void model_forget_threads(struct model *model, nsec_t t)
{
	for (uint32_t i = 1; i < model->threads.count; i++) {
		struct thread *thread = &model->threads.items[i];
		bool is_first =
			!is_earlier_life(model, model->earlier.items[i].previous, (thread_id){ i });

		if (thread->forgotten)
			continue;
		if (is_first && thread->used < t && thread->end < t &&
		    model_is_thread_over(model, thread, t)) {
			drop_thread(model, (thread_id){ i });
			continue;
		}
		model_past_keep(model, (thread_id){ i }, t);
		forget_items(thread, t);
	}
}

/* Removes dropped threads from those that name them as parent, and frees numbers. */
void model_sweep_threads(struct model *model)
{
	size_t freed = 0;

	for (uint32_t i = 1; i < model->threads.count; i++)
		if (thread_at(model, model->threads.items[i].parent)->forgotten)
			model->threads.items[i].parent = (thread_id){ 0 };
	while (freed < model->dropped.count && model->dropped.items[freed].sweep < model->sweeps)
		*vec_push(&model->unused) = model->dropped.items[freed++].thread;
	vec_drop_first(&model->dropped, freed);
}
