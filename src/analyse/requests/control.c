/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - drop messages of HTTP/2 that are neither requests nor replies.
 *
 * Both ends of a gRPC connection send PING frames, to measure the bandwidth or as a keep-alive,
 * and the other end acknowledges each one.  Taken for requests, they add requests that no client
 * sent, and an acknowledgement that is taken for a reply ends the request that is being served.
 *
 * Contents are not recorded, but sizes are: a PING has 17 bytes, a WINDOW_UPDATE 13, and the
 * acknowledgement of SETTINGS 9.  A call cannot be as small as two of them, because it has a
 * HEADERS and a DATA frame.  Sizes alone are no evidence.  In a protocol of calls and replies,
 * however, only one end starts exchanges, so a connection is of HTTP/2 if both ends start exchanges
 * of PINGs, and it has other messages as well.
 */
#include "analyse/requests/internal.h"
#include "base/hash.h"

enum { SETTINGS_ACK = 9, WINDOW_UPDATE = 13, PING = 17 };
enum { EXCHANGES_MIN = 2 }; /* of PINGs that the peer started; an own one suffices */

struct ping_side {
	uint64_t exchanges[2]; /* of PINGs, by the direction of the first */
	uint64_t others;       /* number of received messages that are no PING */
	bool awaits_ack;
	uint8_t ping; /* awaits_ack: direction of the PING */
	uint8_t last; /* direction of the last message */
	nsec_t time;  /* of the last message */
	uint64_t key;
	bool is_exposed; /* its control messages are dropped */
};

static bool is_message(const struct occurrence *o)
{
	return o->kind == OCCUR_SEND || o->kind == OCCUR_RECEIVE;
}

static bool is_ping(const struct message *m)
{
	return m->bytes == PING || m->bytes == PING + WINDOW_UPDATE;
}

static bool is_control(const struct message *m)
{
	return is_ping(m) || m->bytes == SETTINGS_ACK || m->bytes == WINDOW_UPDATE ||
	       m->bytes == SETTINGS_ACK + WINDOW_UPDATE || m->bytes == SETTINGS_ACK + PING;
}

/* A PING that is sent follows another sent message; otherwise it can be a short reply. */
static void side_observe(struct ping_side *s, const struct message *m)
{
	bool starts = m->direction == MESSAGE_RECEIVE || s->last == MESSAGE_SEND;

	if (!is_ping(m) && m->direction == MESSAGE_RECEIVE)
		s->others++;
	if (s->awaits_ack && m->direction != s->ping) {
		s->exchanges[s->ping] += is_ping(m);
		s->awaits_ack = false;
	} else if (is_ping(m) && starts) {
		s->awaits_ack = true;
		s->ping = m->direction;
	}
	s->last = m->direction;
	s->time = m->time;
}

static bool side_has_pings(const struct ping_side *s)
{
	return s->exchanges[MESSAGE_SEND] && s->exchanges[MESSAGE_RECEIVE] >= EXCHANGES_MIN &&
	       s->others >= s->exchanges[MESSAGE_RECEIVE];
}

/* Whether a message is dropped; notes the first on a connection. */
static bool is_dropped(struct control *control, struct ping_side *s, const struct occurrence *o)
{
	if (!is_control(o->what) || !side_has_pings(s))
		return false;
	if (!s->is_exposed)
		*vec_push(&control->exposed) = o->thread;
	s->is_exposed = true;
	return true;
}

static uint64_t side_key(const struct model *model, const struct occurrence *o)
{
	const struct message *m = o->what;

	return hash_pair(m->object, model_thread(model, (thread_id){ o->thread })->host);
}

static struct ping_side *side_at(struct control *control, uint64_t key)
{
	uint64_t *at = map_insert(&control->index, key);

	if (!*at) {
		*vec_push(&control->sides) =
			(struct ping_side){ .last = MESSAGE_RECEIVE, .key = key };
		*at = control->sides.count;
	}
	return &control->sides.items[*at - 1];
}

void control_done(struct control *control)
{
	vec_done(&control->exposed);
	vec_done(&control->sides);
	map_done(&control->index);
}

void control_forget(struct control *control, nsec_t t)
{
	size_t count = 0;

	map_done(&control->index);
	control->index = (struct map){ 0 };
	for (size_t i = 0; i < control->sides.count; i++) {
		if (control->sides.items[i].time < t)
			continue;
		control->sides.items[count++] = control->sides.items[i];
		*map_insert(&control->index, control->sides.items[i].key) = count;
	}
	control->sides.count = count;
}

void occurrences_drop_control(struct control *control, const struct model *model, occurrences *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (is_message(&list->items[i]))
			side_observe(side_at(control, side_key(model, &list->items[i])),
				     list->items[i].what);
	for (size_t i = 0; i < list->count; i++) {
		const struct occurrence *o = &list->items[i];

		if (!is_message(o) || !is_dropped(control, side_at(control, side_key(model, o)), o))
			list->items[count++] = *o;
	}
	list->count = count;
}
