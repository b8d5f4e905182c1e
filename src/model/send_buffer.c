/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that stayed in the send buffer.
 *
 * A send that left bytes behind is flagged, and a TRANSMIT record follows once all bytes of the
 * socket have left.  Each socket has a list of its flagged sends since the last TRANSMIT, which
 * then gets the time and empties the list.  Sends without a TRANSMIT keep an unknown time.
 */
#include "model/model_internal.h"

void model_hold_message(struct model *model, uint16_t host, thread_id thread,
			const struct message *m)
{
	uint64_t *first = map_insert(&model->held_index, host_key(host, m->object));

	*vec_push(&model->held) = (struct held_send){ m->time, thread, m->position, *first };
	*first = model->held.count;
}

struct held_sweep {
	nsec_t t;
	const struct held_send *from;
	VEC(struct held_send) kept;
};

/* Copies the sends of a socket since t, which are the first of its list. */
static bool keep_held(void *arg, uint64_t key, uint64_t *value)
{
	struct held_sweep *s = arg;
	size_t first = s->kept.count;

	for (uint64_t at = *value; at && s->from[at - 1].time >= s->t; at = s->from[at - 1].next) {
		struct held_send held = s->from[at - 1];

		held.next = s->kept.count + 2;
		*vec_push(&s->kept) = held;
	}
	if (s->kept.count == first)
		return false;
	s->kept.items[s->kept.count - 1].next = 0;
	*value = first + 1;
	return true;
}

void model_sweep_held(struct model *model, nsec_t t)
{
	struct held_sweep s = { .t = t, .from = model->held.items };

	map_sweep(&model->held_index, keep_held, &s);
	free(model->held.items);
	model->held.items = s.kept.items;
	model->held.count = s.kept.count;
	model->held.room = s.kept.room;
}

void model_add_transmit(struct model *model, const struct source *source,
			const struct record_transmit *r)
{
	uint64_t key = host_key(source->host, r->object);
	const uint64_t *first = map_find(&model->held_index, key);
	nsec_t left = source_time(source, r->left < r->head.time ? r->left : r->head.time);

	for (uint64_t at = first ? *first : 0; at; at = model->held.items[at - 1].next) {
		const struct held_send *held = &model->held.items[at - 1];
		struct message *m = model_message_at(model, held->thread, held->time,
						     held->position, MESSAGE_SEND);

		if (!m || (int32_t)(r->position - held->position) < 0)
			continue;
		m->wire_time = left > m->time ? left : m->time;
		m->held = r->reason;
	}
	map_remove(&model->held_index, key);
	if (!model->held_index.count)
		model->held.count = 0;
}
