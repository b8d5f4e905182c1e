/* SPDX-License-Identifier: Apache-2.0 */
#include "model/flow.h"

#include <string.h>
#include <sys/socket.h>
#include <xxhash.h>

void flows_done(struct flows *flows)
{
	for (size_t i = 0; i < flows->items.count; i++) {
		vec_done(&flows->items.items[i].sends);
		vec_done(&flows->items.items[i].receives);
	}
	vec_done(&flows->items);
	map_done(&flows->index);
}

static uint64_t hash_ends(const void *from, const void *to, size_t size)
{
	return XXH3_64bits_withSeed(to, size, XXH3_64bits(from, size));
}

static bool is_loopback(const struct socket_address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->local[0] == 127 : memcmp(a->local, one, sizeof(one)) == 0;
}

uint64_t flow_key(const struct socket_address *a, uint64_t object, uint64_t peer_object,
		  uint64_t place, bool from_local)
{
	struct {
		uint8_t address[16];
		uint64_t object, place;
		uint16_t port;
		uint8_t pad[6];
	} local, peer;

	memset(&local, 0, sizeof(local));
	memset(&peer, 0, sizeof(peer));
	if (peer_object) {
		local.object = object;
		peer.object = peer_object;
	} else {
		memcpy(local.address, a->local, sizeof(local.address));
		memcpy(peer.address, a->peer, sizeof(peer.address));
		local.port = a->local_port;
		peer.port = a->peer_port;
	}
	if (peer_object || is_loopback(a))
		local.place = peer.place = place;
	return from_local ? hash_ends(&local, &peer, sizeof(local))
			  : hash_ends(&peer, &local, sizeof(local));
}

struct flow *flow_of(struct flows *flows, uint64_t key)
{
	uint64_t *at = map_insert(&flows->index, key);

	if (!*at) {
		*vec_push(&flows->items) = (struct flow){ 0 };
		*at = flows->items.count;
	}
	return &flows->items.items[*at - 1];
}

/* Whether position a is not before b; they count modulo 2^32. */
static bool not_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) >= 0;
}

/* Drop sends that are done, once they are most of the list. */
static void pack_sends(struct flow *flow)
{
	if (flow->sends_done < 64 || flow->sends_done < flow->sends.count / 2)
		return;
	flow->sends.count -= flow->sends_done;
	memmove(flow->sends.items, flow->sends.items + flow->sends_done,
		flow->sends.count * sizeof(flow->sends.items[0]));
	flow->sends_done = 0;
}

/* Of a flow whose other end nobody records, only so much is kept. */
enum { WAITING_MAX = 4096 };

void flow_send(struct flow *flow, const struct flow_end *send, flow_fn *fn, void *arg)
{
	size_t left = 0;

	if (flow->sends.count - flow->sends_done >= WAITING_MAX)
		flow->sends_done += WAITING_MAX / 2;
	*vec_push(&flow->sends) = *send;
	pack_sends(flow);
	for (size_t i = 0; i < flow->receives.count; i++) {
		struct flow_end receive = flow->receives.items[i];

		if (not_before(send->position, receive.position))
			fn(arg, send, &receive);
		else
			flow->receives.items[left++] = receive;
	}
	flow->receives.count = left;
}

void flow_receive(struct flow *flow, const struct flow_end *receive, flow_fn *fn, void *arg)
{
	while (flow->sends_done < flow->sends.count &&
	       !not_before(flow->sends.items[flow->sends_done].position, receive->position))
		flow->sends_done++;
	if (flow->sends_done < flow->sends.count)
		fn(arg, &flow->sends.items[flow->sends_done], receive);
	else if (flow->receives.count < WAITING_MAX)
		*vec_push(&flow->receives) = *receive;
	pack_sends(flow);
}

void flows_forget(struct flows *flows, nsec_t t)
{
	for (size_t i = 0; i < flows->items.count; i++) {
		struct flow *flow = &flows->items.items[i];
		size_t left = 0;

		while (flow->sends_done < flow->sends.count &&
		       flow->sends.items[flow->sends_done].time < t)
			flow->sends_done++;
		pack_sends(flow);
		for (size_t k = 0; k < flow->receives.count; k++)
			if (flow->receives.items[k].time >= t)
				flow->receives.items[left++] = flow->receives.items[k];
		flow->receives.count = left;
	}
}
