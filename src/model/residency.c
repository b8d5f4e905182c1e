/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residencies: the threads that worked for a span, derived from contexts.
 *
 * Contexts that are settled (context.c) and have ended change no more, and are counted once.  Later
 * ones can change with the next update, as can the end of a thread's last context.  So an
 * update counts them, too, but keeps what they changed, and the next update undoes it first.
 */
#include "model/model_internal.h"

static uint64_t residency_key(uint32_t ref, thread_id thread)
{
	return (uint64_t)ref << 32 | thread.i;
}

static void undo(struct model *model)
{
	for (size_t i = model->residency_changes.count; i-- > 0;) {
		const struct residency_change *change = &model->residency_changes.items[i];
		struct residency *residency = &model->residencies.items[change->residency];

		if (!change->is_new) {
			*residency = change->before;
			continue;
		}
		model->refs.items[change->ref].first_residency = residency->next;
		map_remove(&model->residency_index, residency_key(change->ref, residency->thread));
		model->residencies.count--;
	}
	model->residency_changes.count = 0;
}

static void add_residency(struct model *model, thread_id thread, const struct context_stretch *s,
			  bool is_final)
{
	uint32_t number = s->context.ref;
	struct span_ref *ref = &model->refs.items[number];
	uint64_t *index = map_insert(&model->residency_index, residency_key(number, thread));
	struct residency_change change = { .ref = number, .is_new = !*index };
	nsec_t last = s->end;

	if (last == UINT64_MAX && model_thread(model, thread)->end > s->context.start)
		last = model_thread(model, thread)->end;
	if (!*index) {
		*index = model->residencies.count;
		*vec_push(&model->residencies) =
			(struct residency){ s->context.start, last, thread, ref->first_residency };
		ref->first_residency = *index;
	} else {
		change.before = model->residencies.items[*index];
		model->residencies.items[*index].last = last;
	}
	change.residency = *index;
	if (!is_final)
		*vec_push(&model->residency_changes) = change;
}

/* Counts the contexts of a thread with a start in [from, to). */
static void count_contexts(struct model *model, thread_id id, nsec_t from, nsec_t to, bool is_final)
{
	struct context_stretch s;

	for (bool more = model_context_from(model, id, from, &s); more && s.context.start < to;
	     more = model_context_next(model, id, &s))
		if (s.context.ref && s.context.start >= from)
			add_residency(model, id, &s, is_final);
}

void model_update_residencies(struct model *model)
{
	undo(model);
	if (model->refs.count == 1)
		return;
	/* backwards, as each thread becomes the first of its span */
	for (size_t i = model->context_threads.count; i-- > 0;) {
		thread_id id = model->context_threads.items[i];
		struct context_log *log = thread_at(model, id)->log;

		if (!log || !log->has_last || log->last.start <= log->counted)
			continue;
		count_contexts(model, id, log->counted, log->last.start, true);
		log->counted = log->last.start;
	}
	for (size_t i = model->context_threads.count; i-- > 0;) {
		thread_id id = model->context_threads.items[i];

		if (thread_at(model, id)->log)
			count_contexts(model, id, thread_at(model, id)->log->counted, UINT64_MAX,
				       false);
	}
}

void model_sweep_residencies(struct model *model)
{
	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].first_residency = 0;
	for (size_t i = 0; i < model->context_threads.count; i++) {
		struct context_log *log = thread_at(model, model->context_threads.items[i])->log;

		if (log)
			log->counted = 0;
	}
	model->residencies.count = 1;
	model->residency_changes.count = 0;
	map_done(&model->residency_index);
	model_update_residencies(model);
	vec_shrink(&model->residencies);
	vec_shrink(&model->residency_changes);
}

const struct residency *model_residency(const struct model *model, uint32_t residency)
{
	return &model->residencies.items[residency < model->residencies.count ? residency : 0];
}
