/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: ends of messages between three hosts, ten bytes each: hosts and direction, position,
 * time.  For any input, each host gets a line with a bound.  If no message was dropped and the
 * times are plausible, no message along the chosen path is received before it was sent.
 */
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "read/clock/align.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { HOSTS = 3, ITEM = 10, POSITIONS = 256 };

/* Times at which a position of a stream was sent and received, by direction. */
static int64_t times[HOSTS][HOSTS][POSITIONS][2];
static uint8_t counts[HOSTS][HOSTS][POSITIONS][2];

static void connect_all(struct align *align)
{
	for (uint8_t a = 0; a < HOSTS; a++)
		for (uint8_t b = 0; b < HOSTS; b++) {
			struct record_socket r = { .object = 100u + b,
						   .address = { .family = AF_INET,
								.protocol = IPPROTO_TCP,
								.local = { 10, 0, 0, a },
								.peer = { 10, 0, 0, b },
								.local_port = b,
								.peer_port = a } };

			r.head.kind = RECORD_SOCKET;
			if (a != b)
				align_add(align, a, 0, &r.head);
		}
}

/* Returns whether the time is plausible. */
static bool add_item(struct align *align, const uint8_t *item)
{
	uint8_t at = item[0] % HOSTS, peer = item[0] / HOSTS % HOSTS;
	uint8_t direction = item[0] >> 7, position = item[1];
	int64_t time;

	memcpy(&time, item + 2, sizeof(time));
	if (at == peer)
		return true;

	struct record_message r = { .object = 100u + peer,
				    .position = position,
				    .direction = direction };
	uint8_t from = direction ? peer : at, to = direction ? at : peer;

	r.head.time = (uint64_t)time;
	r.head.kind = RECORD_MESSAGE;
	align_add(align, at, 0, &r.head);
	times[from][to][position][direction] = time;
	counts[from][to][position][direction] += counts[from][to][position][direction] < 2;
	return time >= 0 && time < (int64_t)1 << 50;
}

static void check_order(const struct align_host *hosts, uint16_t a, uint16_t b)
{
	for (int i = 1; i < POSITIONS; i++) {
		if (counts[a][b][i][0] != 1 || counts[a][b][i][1] != 1)
			continue;

		int64_t sent = align_apply(hosts[a].line, times[a][b][i][0]);
		int64_t received = align_apply(hosts[b].line, times[a][b][i][1]);

		assert(received - sent >= -4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	_cleanup_(align_freep) struct align *align = align_new(HOSTS);
	bool plausible = true;

	memset(counts, 0, sizeof(counts));
	connect_all(align);
	for (; size >= ITEM; input += ITEM, size -= ITEM)
		plausible = add_item(align, input) && plausible;

	const struct align_host *hosts = align_solve(align);

	for (uint16_t i = 0; i < HOSTS; i++) {
		const struct align_host *h = &hosts[i];

		assert(h->root <= i && hosts[h->root].root == h->root);
		assert(h->bound >= 0 && h->line.drift > -0.01 && h->line.drift < 0.01);
		if (!plausible || h->root == i || h->link->dropped)
			continue;
		check_order(hosts, h->link->from, h->link->to);
		check_order(hosts, h->link->to, h->link->from);
	}
	return 0;
}
