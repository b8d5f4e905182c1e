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
