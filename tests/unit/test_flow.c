/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches between the sends and receives of a flow; each has another thread number.
 */
#include <netinet/in.h>

#include "event/flow.h"
#include "test.h"

struct pair {
	uint32_t send, receive;
};

struct pairs {
	struct flows flows;
	uint64_t key;
	VEC(struct pair) found;
};

static void pairs_done(struct pairs *p)
{
	flows_done(&p->flows);
	vec_done(&p->found);
}

static void note(void *arg, const struct flow_end *send, const struct flow_end *receive)
{
	*vec_push(&((struct pairs *)arg)->found) = (struct pair){ send->thread, receive->thread };
}

static void add_send(struct pairs *p, uint32_t name, uint32_t position, uint32_t bytes)
{
	flow_send(&p->flows, flow_get(&p->flows, p->key),
		  &(struct flow_end){
			  .time = name, .position = position, .bytes = bytes, .thread = name },
		  note, p);
}

static void add_receive(struct pairs *p, uint32_t name, uint32_t position, uint32_t bytes)
{
	flow_receive(&p->flows, flow_get(&p->flows, p->key),
		     &(struct flow_end){
			     .time = name, .position = position, .bytes = bytes, .thread = name },
		     note, p);
}

/* All matches so far, as "1-11 2-12". */
static void check_pairs(const struct pairs *p, const char *want)
{
	char got[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < p->found.count && len < sizeof(got); i++)
		len += snprintf(got + len, sizeof(got) - len, "%s%u-%u", i ? " " : "",
				p->found.items[i].send, p->found.items[i].receive);
	CHECK_STR(got, want);
}

TEST(a_receive_finds_its_send)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 1, 1100, 100);
	add_receive(&p, 11, 1100, 100);
	add_send(&p, 2, 1150, 50);
	add_send(&p, 3, 1200, 50);
	add_receive(&p, 12, 1150, 50);
	add_receive(&p, 13, 1200, 50);
	check_pairs(&p, "1-11 2-12 3-13");
}

TEST(every_receive_of_a_part_finds_the_send)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 1, 1100, 100);
	add_send(&p, 2, 1200, 100);
	add_receive(&p, 11, 1001, 1);
	add_receive(&p, 12, 1099, 98);
	add_receive(&p, 13, 1100, 1);
	add_receive(&p, 14, 1101, 1);
	add_receive(&p, 15, 1200, 99);
	check_pairs(&p, "1-11 1-12 1-13 2-14 2-15");
}

TEST(a_receive_of_several_sends_finds_the_last)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 1, 1010, 10);
	add_send(&p, 2, 1020, 10);
	add_send(&p, 3, 1030, 10);
	add_receive(&p, 11, 1025, 25);
	add_receive(&p, 12, 1030, 5);
	check_pairs(&p, "3-11 3-12");
}

TEST(positions_wrap_around)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 1, 0xffffff00, 100);
	add_send(&p, 2, 0x10, 0x110);
	add_send(&p, 3, 0x20, 0x10);
	add_receive(&p, 11, 0xffffff00, 100);
	add_receive(&p, 12, 0xfffffff0, 0xf0);
	add_receive(&p, 13, 0x5, 0x15);
	add_receive(&p, 14, 0x20, 0x1b);
	check_pairs(&p, "1-11 2-12 2-13 3-14");
}

TEST(a_send_can_come_after_its_receive)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_receive(&p, 11, 1100, 100);
	add_send(&p, 1, 1100, 100);
	add_receive(&p, 12, 1150, 50); /* in two parts, the second one in time */
	add_send(&p, 2, 1200, 100);
	add_receive(&p, 13, 1200, 50);
	check_pairs(&p, "1-11 2-12 2-13");
}

TEST(sends_of_two_threads_can_come_out_of_order)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 2, 1200, 100);
	add_send(&p, 1, 1100, 100);
	add_receive(&p, 11, 1100, 100);
	add_receive(&p, 12, 1200, 100);
	add_send(&p, 4, 1400, 100);
	add_receive(&p, 13, 1300, 100);
	add_send(&p, 3, 1300, 100);
	add_receive(&p, 14, 1400, 100);
	check_pairs(&p, "1-11 2-12 3-13 4-14");
}

TEST(a_lost_send_matches_no_receive)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };

	add_send(&p, 1, 1100, 100);
	/* lost: 1100 to 1200 */
	add_send(&p, 3, 1300, 100);
	add_receive(&p, 11, 1100, 100);
	add_receive(&p, 12, 1200, 100);
	add_receive(&p, 13, 1300, 100);
	check_pairs(&p, "1-11 3-13");
	/* a lost receive does no harm */
	add_send(&p, 4, 1400, 100);
	add_send(&p, 5, 1500, 100);
	add_receive(&p, 15, 1500, 100);
	check_pairs(&p, "1-11 3-13 5-15");
}

/* Ports are reused, and sequence numbers begin anywhere. */
TEST(a_connection_can_reuse_the_key_of_another)
{
	static const uint32_t starts[] = { 5000, 0x80001000, 100, 0xf0000000, 5000 };
	_cleanup_(pairs_done) struct pairs p = { 0 };

	for (uint32_t i = 0; i < ARRAY_LEN(starts); i++) {
		uint32_t at = starts[i];

		add_send(&p, 10 * i + 1, at + 100, 100);
		add_receive(&p, 10 * i + 2, at + 100, 100);
		add_send(&p, 10 * i + 3, at + 200, 100); /* without a receive */
	}
	check_pairs(&p, "1-2 11-12 21-22 31-32 41-42");
}

TEST(unmatched_ends_are_limited)
{
	_cleanup_(pairs_done) struct pairs sends = { 0 }, receives = { 0 };

	for (uint32_t i = 1; i <= 100000; i++) {
		add_send(&sends, i, i * 10, 10);
		add_receive(&receives, i, i * 10, 10);
	}
	CHECK(flows_memory(&sends.flows) < 65536);
	CHECK(flows_memory(&receives.flows) < 4096);
	add_receive(&sends, 1, 1000000, 10);
	add_send(&receives, 1, 1000000, 10);
	check_pairs(&sends, "100000-1");
	check_pairs(&receives, "1-100000");
}

TEST(a_connection_takes_little_memory)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };
	enum { COUNT = 100000 };

	for (p.key = 1; p.key <= COUNT; p.key++) {
		add_send(&p, 1, 10, 10);
		add_receive(&p, 2, 10, 10);
	}
	CHECK_INT(p.found.count, COUNT);
	CHECK(flows_memory(&p.flows) < 150 * COUNT);
}

TEST(old_flows_are_forgotten)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };
	size_t most = 0;

	for (uint32_t t = 1; t <= 200000; t++) {
		p.key = t * 77ull;
		add_send(&p, t, 10, 10);
		if (t % 2)
			add_receive(&p, t, 10, 10);
		if (t % 1000 == 0)
			flows_forget(&p.flows, t - 1000, 0);
		if (flows_memory(&p.flows) > most)
			most = flows_memory(&p.flows);
	}
	CHECK(most < 1000000);
	CHECK_INT(p.found.count, 100000);
	/* newer ends are still there */
	p.key = 200000 * 77ull;
	add_receive(&p, 7, 10, 10);
	CHECK_INT(p.found.count, 100001);
	p.key = 198000 * 77ull;
	add_receive(&p, 8, 10, 10);
	CHECK_INT(p.found.count, 100001);
}

/* A stream, split at random for sends and for receives. */
static void check_stream(uint32_t begin, int seed)
{
	_cleanup_(pairs_done) struct pairs p = { 0 };
	uint32_t sent = 0, read = 0, recorded = 0, name = 0, want = 0, names[3000], ends[3000];

	srandom(seed);
	while (name < 2900) {
		uint32_t bytes = 1 + random() % 50;

		if (random() % 2 ||
		    read == sent) { /* sent; its record comes now or a little later */
			ends[name] = sent += bytes;
			names[name] = bytes;
			name++;
		} else {
			read += bytes < sent - read ? bytes : sent - read;
			while (ends[want] < read)
				want++;
			add_receive(&p, 10000 + want, begin + read, bytes);
		}
		while (recorded < name && (name - recorded > 3 || random() % 2)) {
			add_send(&p, recorded, begin + ends[recorded], names[recorded]);
			recorded++;
		}
	}
	CHECK(p.found.count > 1000);
	for (size_t i = 0; i < p.found.count; i++)
		CHECK_INT(p.found.items[i].receive, 10000 + p.found.items[i].send);
}

TEST(a_receive_finds_the_send_of_its_last_byte_in_any_split)
{
	for (int seed = 1; seed <= 20; seed++)
		check_stream(seed % 2 ? 1000 : 0xffffc000, seed);
}

static struct socket_address address(uint8_t first, uint16_t local_port, uint16_t peer_port)
{
	return (struct socket_address){ .family = AF_INET,
					.protocol = IPPROTO_TCP,
					.local_port = local_port,
					.peer_port = peer_port,
					.local = { first, 0, 0, 1 },
					.peer = { first, 0, 0, 1 } };
}

TEST(both_ends_of_a_connection_have_the_same_keys)
{
	struct socket_address a = address(10, 80, 4000), b = address(10, 4000, 80);
	uint64_t there = flow_key(&a, 7, true), back = flow_key(&a, 7, false);

	CHECK(there != back);
	CHECK(flow_key(&b, 7, false) == there);
	CHECK(flow_key(&b, 7, true) == back);
	/* on any host */
	CHECK(flow_key(&b, 8, false) == there);
}

TEST(a_mapped_ipv4_address_has_the_key_of_the_ipv4_address)
{
	struct socket_address old = address(127, 4000, 80), both = address(127, 80, 4000);

	both.family = AF_INET6;
	memset(both.local, 0, sizeof(both.local));
	memset(both.peer, 0, sizeof(both.peer));
	both.local[10] = both.local[11] = both.peer[10] = both.peer[11] = 0xff;
	memcpy(&both.local[12], old.peer, 4);
	memcpy(&both.peer[12], old.local, 4);
	CHECK(flow_key(&both, 7, false) == flow_key(&old, 7, true));
	CHECK(flow_key(&both, 7, true) == flow_key(&old, 7, false));
}

TEST(loopback_differs_by_network_namespace)
{
	struct socket_address a = address(127, 80, 4000), b = address(127, 4000, 80);

	CHECK(flow_key(&a, 7, true) == flow_key(&b, 7, false));
	CHECK(flow_key(&a, 7, true) != flow_key(&b, 8, false));
}
