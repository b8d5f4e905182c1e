/* SPDX-License-Identifier: Apache-2.0 */
/* finder - all requests of a model: one pass over its events, then what only the whole shows. */
#include "analyse/requests/internal.h"

void finder_init(struct finder *f, const struct model *model, struct requests *out)
{
	*f = (struct finder){ .model = model, .out = out };
	*out = (struct requests){ 0 };
	/* indexes count from 1 */
	*vec_push(&out->spans) = (struct request_span){ 0 };
	*vec_push(&f->states) = (struct work_state){ 0 };
	*vec_push(&f->sides) = (struct side){ 0 };
	*vec_push(&f->hypotheses) = (struct hypothesis){ 0 };
	*vec_push(&f->calls) = (struct sent_call){ 0 };
	*vec_push(&f->client_calls) = (struct client_call){ 0 };
	*vec_push(&f->waits) = (struct futex_wait){ 0 };
}

void finder_done(struct finder *f)
{
	for (size_t i = 0; i < f->states.count; i++)
		state_free_received(&f->states.items[i]);
	vec_done(&f->states);
	vec_done(&f->sides);
	vec_done(&f->hypotheses);
	vec_done(&f->calls);
	vec_done(&f->work);
	vec_done(&f->replies);
	vec_done(&f->client_calls);
	vec_done(&f->waits);
	map_done(&f->last_waits);
	map_done(&f->side_index);
	map_done(&f->sent);
	map_done(&f->services);
	map_done(&f->readers);
	map_done(&f->conditions);
	map_done(&f->gils);
	map_done(&f->shared_locks);
	map_done(&f->work_stealing);
	vec_done(&f->workers);
	vec_done(&f->cursors);
	control_done(&f->control);
}

static void add_threads(struct finder *f)
{
	while (f->workers.count < model_thread_count(f->model)) {
		*vec_push(&f->workers) = (struct worker){ 0 };
		*vec_push(&f->cursors) = (struct occurrence_cursor){ 0 };
	}
	for (uint32_t i = 1; i < f->workers.count; i++) {
		uint32_t generation = thread_of(f, i)->generation;

		if (f->cursors.items[i].generation == generation)
			continue;
		finder_drop_thread(f, i);
		f->cursors.items[i] = (struct occurrence_cursor){ .generation = generation };
	}
}

/* Any thread acknowledges a PING: what was taken for a reply showed no change of threads. */
static void unlearn(struct finder *f)
{
	for (size_t i = 0; i < f->control.exposed.count; i++)
		map_remove(&f->work_stealing,
			   process_key(thread_of(f, f->control.exposed.items[i])));
	f->control.exposed.count = 0;
}

void finder_process(struct finder *f, nsec_t until)
{
	occurrences list;

	add_threads(f);
	occurrences_find(f->model, f->cursors.items, until, &list);
	occurrences_drop_control(&f->control, f->model, &list);
	unlearn(f);
	for (size_t i = 0; i < list.count; i++)
		finder_handle(f, &list.items[i]);
	vec_done(&list);
}

void finder_complete(struct finder *f)
{
	for (uint32_t i = 1; i < f->workers.count; i++)
		worker_add_open_work(f, i, thread_of(f, i)->end);
	match_handoffs(f);
	requests_set_times(f);
	requests_link(f);
}

void requests_find(const struct model *model, struct requests *ret)
{
	_cleanup_(finder_done) struct finder f;

	finder_init(&f, model, ret);
	finder_process(&f, UINT64_MAX);
	finder_complete(&f);
}

void requests_done(struct requests *requests)
{
	vec_done(&requests->spans);
	vec_done(&requests->work);
	vec_done(&requests->roots);
	vec_done(&requests->replies);
}

uint32_t requests_next(const struct requests *requests, uint32_t root, uint32_t at,
		       unsigned int *depth)
{
	const struct request_span *spans = requests->spans.items;
	unsigned int none = 0;

	depth = depth ? depth : &none;
	if (spans[at].first_child) {
		++*depth;
		return spans[at].first_child;
	}
	for (; at != root && !spans[at].next; at = spans[at].parent)
		--*depth;
	return at == root ? 0 : spans[at].next;
}
