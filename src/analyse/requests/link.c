/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link - from states to trees of spans.
 *
 * Parents are found after the pass over all events: the owner of a call can be decided late, and
 * the record of a send can follow that of its receive.
 */
#include <string.h>
#include <xxhash.h>

#include "analyse/requests/internal.h"
#include "base/sort.h"

/*
 * Work of thousands of parts is a chain of them, so the walk makes each part on the way point at
 * the whole.
 */
uint32_t state_whole(struct finder *f, uint32_t state)
{
	uint32_t whole = state, next;

	while (state_at(f, whole)->part_of)
		whole = state_at(f, whole)->part_of;
	for (; state != whole; state = next) {
		next = state_at(f, state)->part_of;
		state_at(f, state)->part_of = whole;
	}
	return whole;
}

/* The state of a thread is certain, unless the runtime moves tasks between threads. */
static float state_confidence(struct finder *f, uint32_t state)
{
	const struct thread *thread = model_thread(f->model, span_at(f, state)->thread);

	return map_find(&f->work_stealing, process_key(thread)) ? 0.95f : 1;
}

uint32_t owner_state(struct finder *f, struct owner owner, float *ret_confidence)
{
	const struct hypothesis *hypothesis = &f->hypotheses.items[owner.hypothesis];
	uint32_t state = owner.state ?: hypothesis_state(f, owner.hypothesis);

	state = state_whole(f, state ?: hypothesis->candidate);

	*ret_confidence = owner.state ? state_confidence(f, owner.state) : hypothesis->confidence;
	/* the confidence of the owner's own handoffs counts as well */
	for (uint32_t i = state_stem(f, state); state_is_handoff(f, i);
	     i = state_stem(f, span_at(f, i)->parent))
		*ret_confidence *= span_at(f, i)->confidence;
	return state_request(f, state) ? state : 0;
}

/* The state that a message was sent for; 0 if unknown. */
static uint32_t caller_of(struct finder *f, const struct message *sent, float *ret_confidence)
{
	const uint64_t *found = sent ? map_find(&f->sent, (uintptr_t)sent) : NULL;

	return owner_state(f, found ? f->calls.items[*found].owner : (struct owner){ 0 },
			   ret_confidence);
}

static void link_request(struct finder *f, uint32_t index)
{
	struct request_span *span = span_at(f, index);
	const struct message *received = state_at(f, index)->received;
	const struct thread *sender = model_thread(f->model, received->other);
	float confidence;

	span->no_reply = !state_at(f, index)->replied;
	if (!received->other.i || state_at(f, index)->is_linked)
		return; /* the client was not recorded */
	span->is_client_recorded = true;

	const struct message *sent = model_sent_message(f->model, received);
	uint32_t caller = caller_of(f, sent, &confidence);

	if (sent)
		unread_note_read(f, sent, sender->host, span);
	if (caller && caller != index) {
		span->parent = caller;
		span->confidence = confidence;
	} else {
		/* a process that only calls is a client, but a service calls for a request */
		span->parent_unknown = map_find(&f->services, process_key(sender));
	}
}

/* Merge parts into the work that they were cut from. */
static void join_parts(struct finder *f)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		uint32_t whole = state_whole(f, i);
		nsec_t end = span_at(f, i)->end;

		if (whole == i)
			continue;
		span_at(f, i)->parent = 0;
		if (span_at(f, whole)->end < end)
			span_at(f, whole)->end = end;
	}
}

/*
 * A worker whose next wait for work is invisible seems to work on.  After the reply to the client,
 * its work lasts only until its last message.
 */
static void end_handoffs(struct finder *f)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		struct request_span *span = span_at(f, i);
		uint32_t request = state_is_handoff(f, i) ? state_request(f, i) : 0;
		nsec_t end;

		if (!request || !state_at(f, request)->replied)
			continue;
		end = span_at(f, request)->end;
		if (end < state_at(f, i)->last_message)
			end = state_at(f, i)->last_message;
		if (span->end > end)
			span->end = end > span->start ? end : span->start;
	}
}

/* Work of a handoff that turned out to be for no request stays with the handoff. */
static void resolve_work(struct finder *f)
{
	float confidence;

	for (size_t i = 0; i < f->work.count; i++) {
		const struct owned_work *work = &f->work.items[i];
		uint32_t span = work->owner.state ? state_whole(f, work->owner.state)
						  : owner_state(f, work->owner, &confidence);

		nsec_t to = work->to;

		if (state_is_handoff(f, span) && to > span_at(f, span)->end)
			to = span_at(f, span)->end;
		if (span && work->from < to)
			*vec_push(&f->out->work) =
				(struct request_work){ span, work->thread, work->from, to };
	}
}

static void resolve_replies(struct finder *f)
{
	float confidence;

	for (size_t i = 0; i < f->replies.count; i++) {
		const struct message *m = f->replies.items[i].message;
		uint32_t span = owner_state(f, f->replies.items[i].owner, &confidence);
		uint16_t host = model_thread(f->model, f->replies.items[i].thread)->host;
		nsec_t arrival = request_arrival(f->model, host, m);

		if (span)
			*vec_push(&f->out->replies) = (struct request_reply){
				.span = span,
				.time = m->time,
				.arrival = arrival < m->time ? arrival : m->time,
				.socket = m->object,
				.is_peer_recorded = m->other.i,
			};
	}
}

/*
 * Damaged captures and wrong clocks can make a span its own ancestor.  `visited` holds, for each
 * span on the way up, the index of the span where the way started; meeting that index again closes
 * a ring, which is cut there.
 */
static void find_root(struct requests *out, uint32_t start, uint32_t *visited)
{
	uint32_t at = start;

	while (out->spans.items[at].parent && !out->spans.items[at].root) {
		visited[at] = start;
		if (visited[out->spans.items[at].parent] == start) {
			out->spans.items[at].parent = 0;
			out->spans.items[at].parent_unknown = true;
			break;
		}
		at = out->spans.items[at].parent;
	}

	uint32_t root = out->spans.items[at].root ?: at;

	for (at = start; at && !out->spans.items[at].root; at = out->spans.items[at].parent)
		out->spans.items[at].root = root;
}

static void assign_ids(const struct model *model, struct requests *out, uint32_t index)
{
	struct request_span *span = &out->spans.items[index];
	const struct request_span *root = &out->spans.items[span->root];
	const struct thread *thread = model_thread(model, span->thread);
	const struct thread *first = model_thread(model, root->thread);
	/* requests that arrived at once have the same start */
	uint64_t own[] = { thread->host, thread->tid,  span->start,
			   span->end,    span->socket, span->kind };
	uint64_t whole[] = { first->host, first->tid, root->start, root->end, root->socket };
	uint64_t id = XXH3_64bits(own, sizeof(own));
	XXH128_hash_t trace = XXH3_128bits(whole, sizeof(whole));

	memcpy(span->id, &id, sizeof(id));
	memcpy(span->trace, &trace, sizeof(span->trace));
}

void request_assign_ids(struct finder *f, uint32_t span)
{
	assign_ids(f->model, f->out, span);
}

struct timed_root {
	nsec_t start;
	uint32_t span;
};

static bool starts_before(const struct timed_root *a, const struct timed_root *b)
{
	return a->start < b->start; /* stable: equal ones stay in the order of the spans */
}

/* Spans are in the order of reads, but requests start at their arrival. */
static void list_roots(struct requests *out)
{
	VEC(struct timed_root) roots = { 0 };

	for (uint32_t i = 1; i < out->spans.count; i++)
		if (!out->spans.items[i].parent && out->spans.items[i].kind == REQUEST_NETWORK)
			*vec_push(&roots) = (struct timed_root){ out->spans.items[i].start, i };
	sort_items(roots.items, roots.count, starts_before);
	for (size_t i = 0; i < roots.count; i++)
		*vec_push(&out->roots) = roots.items[i].span;
	vec_done(&roots);
}

static void link_children(struct requests *out)
{
	/* backwards, so that the children of a span are in the order of the list */
	for (uint32_t i = out->spans.count - 1; i > 0; i--) {
		struct request_span *span = &out->spans.items[i];

		if (!span->parent)
			continue;
		span->next = out->spans.items[span->parent].first_child;
		out->spans.items[span->parent].first_child = i;
	}
}

/* Work is in the order of time; a counting sort by span keeps that order. */
static void group_work(struct requests *out)
{
	struct request_work *sorted = must_realloc(NULL, (out->work.count + 1) * sizeof(*sorted));
	uint32_t sum = 0;

	for (size_t i = 0; i < out->work.count; i++)
		out->spans.items[out->work.items[i].span].work_count++;
	for (uint32_t i = 0; i < out->spans.count; i++) {
		out->spans.items[i].first_work = sum;
		sum += out->spans.items[i].work_count;
		out->spans.items[i].work_count = 0;
	}
	for (size_t i = 0; i < out->work.count; i++) {
		struct request_span *span = &out->spans.items[out->work.items[i].span];

		sorted[span->first_work + span->work_count++] = out->work.items[i];
	}
	free(out->work.items);
	out->work.items = sorted;
	out->work.room = out->work.count + 1;
}

/* A thread that was created for a request works for it until it exits. */
static void end_forks(struct finder *f)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		struct request_span *span = &f->out->spans.items[i];
		const struct thread *thread = model_thread(f->model, span->thread);

		if (span->kind == REQUEST_FORK && !f->states.items[i].ended && thread->exited &&
		    thread->end > span->end)
			span->end = thread->end;
	}
}

void requests_link(struct finder *f)
{
	struct requests *out = f->out;

	join_parts(f);
	client_calls_add(f);

	_cleanup_(freep) uint32_t *visited = must_alloc(out->spans.count * sizeof(*visited));

	for (uint32_t i = 1; i < out->spans.count; i++)
		if (out->spans.items[i].kind == REQUEST_NETWORK)
			link_request(f, i);
	end_forks(f);
	end_handoffs(f);
	for (uint32_t i = 1; i < out->spans.count; i++)
		find_root(out, i, visited);
	for (uint32_t i = 1; i < out->spans.count; i++) {
		const struct thread *thread = model_thread(f->model, out->spans.items[i].thread);

		out->spans.items[i].tasks_move = map_find(&f->work_stealing, process_key(thread));
		assign_ids(f->model, out, i);
	}
	link_children(out);
	list_roots(out);
	resolve_replies(f);
	resolve_work(f);
	group_work(out);
}
