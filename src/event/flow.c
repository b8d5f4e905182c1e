/* SPDX-License-Identifier: Apache-2.0 */
#include "event/flow.h"

#include <string.h>
#include <sys/socket.h>
#include <xxhash.h>

/* Limits for a flow with an unrecorded end. */
enum { SENDS_MAX = 512, RECEIVES_MAX = 8 };

void flows_done(struct flows *flows)
{
	vec_done(&flows->items);
	vec_done(&flows->pool);
	map_done(&flows->index);
}

static uint64_t hash_ends(const void *from, const void *to, size_t size)
{
	return XXH3_64bits_withSeed(to, size, XXH3_64bits(from, size));
}

static bool is_mapped(const uint8_t address[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

struct socket_address flow_wire_address(const struct socket_address *a)
{
	struct socket_address b = *a;

	if (a->family != AF_INET6 || !is_mapped(a->local) || !is_mapped(a->peer))
		return b;
	b.family = AF_INET;
	memset(b.local, 0, sizeof(b.local));
	memset(b.peer, 0, sizeof(b.peer));
	memcpy(b.local, &a->local[12], 4);
	memcpy(b.peer, &a->peer[12], 4);
	return b;
}

static bool is_loopback(const struct socket_address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->local[0] == 127 : memcmp(a->local, one, sizeof(one)) == 0;
}

uint64_t flow_key(const struct socket_address *address, uint64_t namespace, bool from_local)
{
	const struct socket_address wire = flow_wire_address(address), *a = &wire;
	struct {
		uint8_t address[16];
		uint64_t namespace;
		uint16_t port;
		uint8_t pad[6];
	} local, peer;

	memset(&local, 0, sizeof(local));
	memset(&peer, 0, sizeof(peer));
	memcpy(local.address, a->local, sizeof(local.address));
	memcpy(peer.address, a->peer, sizeof(peer.address));
	local.port = a->local_port;
	peer.port = a->peer_port;
	if (is_loopback(a))
		local.namespace = peer.namespace = namespace;
	return from_local ? hash_ends(&local, &peer, sizeof(local))
			  : hash_ends(&peer, &local, sizeof(local));
}

struct flow *flow_get(struct flows *flows, uint64_t key)
{
	uint64_t *at = map_insert(&flows->index, key);

	if (!*at) {
		*vec_push(&flows->items) = (struct flow){ .key = key };
		*at = flows->items.count;
	}
	return &flows->items.items[*at - 1];
}

static struct flow_end *end_at(const struct flows *flows, uint32_t index)
{
	return &flows->pool.items[index];
}

/* Inserts an end at *link, the head of a list or the `next` of an item; returns its index. */
static uint32_t insert_end(struct flows *flows, uint32_t *link, const struct flow_end *end)
{
	struct flow_end copy = *end;
	uint32_t index = flows->unused;

	if (!flows->pool.count)
		*vec_push(&flows->pool) = (struct flow_end){ 0 };
	copy.next = *link;
	if (index)
		flows->unused = end_at(flows, index)->next;
	else
		index = flows->pool.count;
	*link = index; /* before the push, which can move the pool that contains the link */
	if (index == flows->pool.count)
		*vec_push(&flows->pool) = copy;
	else
		*end_at(flows, index) = copy;
	return index;
}

static void remove_end(struct flows *flows, uint32_t *link)
{
	uint32_t index = *link;

	*link = end_at(flows, index)->next;
	end_at(flows, index)->next = flows->unused;
	flows->unused = index;
}

static void drop_first_send(struct flows *flows, struct flow *flow)
{
	remove_end(flows, &flow->sends);
	flow->send_count--;
}

/* Whether position a is not before b, modulo 2^32. */
static bool not_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) >= 0;
}

/* Whether a send contains the last byte of a receive; none does if its record was lost. */
static bool has_last_byte(const struct flow_end *send, const struct flow_end *receive)
{
	uint32_t remaining = send->position - receive->position;

	return remaining < send->bytes;
}

/* Almost always at the end, except if two threads send at the same time. */
static void insert_send(struct flows *flows, struct flow *flow, const struct flow_end *send)
{
	uint32_t *link = &flow->sends;

	if (flow->send_count == SENDS_MAX)
		drop_first_send(flows, flow);
	if (flow->sends && not_before(send->position, end_at(flows, flow->sends_end)->position))
		link = &end_at(flows, flow->sends_end)->next;
	while (*link && not_before(send->position, end_at(flows, *link)->position))
		link = &end_at(flows, *link)->next;

	uint32_t index = insert_end(flows, link, send);

	if (!end_at(flows, index)->next)
		flow->sends_end = index;
	flow->send_count++;
}

void flow_send(struct flows *flows, struct flow *flow, const struct flow_end *send, flow_fn *fn,
	       void *arg)
{
	uint32_t received = send->position - send->bytes;

	flow->last = send->time;
	for (uint32_t *link = &flow->receives; *link;) {
		struct flow_end receive = *end_at(flows, *link);

		if (!has_last_byte(send, &receive)) {
			link = &end_at(flows, *link)->next;
			continue;
		}
		remove_end(flows, link);
		fn(arg, send, &receive);
		if (not_before(receive.position, received))
			received = receive.position;
	}
	if (received != send->position)
		insert_send(flows, flow, send);
}

/* Keeps the latest few, because the record of a send comes soon after its receive, or never. */
static void keep_receive(struct flows *flows, struct flow *flow, const struct flow_end *receive)
{
	uint32_t *link = &flow->receives;

	for (int i = 1; i < RECEIVES_MAX && *link; i++)
		link = &end_at(flows, *link)->next;
	while (*link)
		remove_end(flows, link);
	insert_end(flows, &flow->receives, receive);
}

void flow_receive(struct flows *flows, struct flow *flow, const struct flow_end *receive,
		  flow_fn *fn, void *arg)
{
	flow->last = receive->time;
	while (flow->sends && !not_before(end_at(flows, flow->sends)->position, receive->position))
		drop_first_send(flows, flow);
	if (!flow->sends || !has_last_byte(end_at(flows, flow->sends), receive)) {
		keep_receive(flows, flow, receive);
		return;
	}

	struct flow_end send = *end_at(flows, flow->sends);

	if (send.position == receive->position)
		drop_first_send(flows, flow);
	fn(arg, &send, receive);
}

static void forget_flow(struct flows *flows, size_t i)
{
	struct flow *last = &flows->items.items[--flows->items.count];

	while (flows->items.items[i].sends)
		drop_first_send(flows, &flows->items.items[i]);
	while (flows->items.items[i].receives)
		remove_end(flows, &flows->items.items[i].receives);
	map_remove(&flows->index, flows->items.items[i].key);
	if (&flows->items.items[i] == last)
		return;
	flows->items.items[i] = *last;
	*map_find(&flows->index, last->key) = i + 1;
}

void flows_forget(struct flows *flows, nsec_t t, nsec_t gone)
{
	for (size_t i = flows->items.count; i-- > 0;) {
		struct flow *flow = &flows->items.items[i];

		while (flow->sends && end_at(flows, flow->sends)->time < t)
			drop_first_send(flows, flow);
		for (uint32_t *link = &flow->receives; *link;)
			if (end_at(flows, *link)->time < t)
				remove_end(flows, link);
			else
				link = &end_at(flows, *link)->next;
		/* keep the byte counts while the two ends differ */
		if (flow->last < (flow->sent == flow->received ? t : gone))
			forget_flow(flows, i);
	}
	vec_shrink(&flows->items);
	map_shrink(&flows->index);
}

size_t flows_memory(const struct flows *flows)
{
	return flows->items.room * sizeof(struct flow) +
	       flows->pool.room * sizeof(struct flow_end) +
	       flows->index.room * sizeof(struct map_slot);
}
