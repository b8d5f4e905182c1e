/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: messages between three machines, ten bytes each: who and which, then a
 * time.  Whatever they say, each machine gets a line with a bound; and if nothing
 * was dropped and times are those of machines that run for days, no receive is
 * before its send on the way that was chosen.
 */
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "read/clock/align.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { MACHINES = 3, ITEM = 10, POSITIONS = 256 };

/* When a position of a stream was sent and received; the first time only. */
static int64_t seen[MACHINES][MACHINES][POSITIONS][2];
static uint8_t counts[MACHINES][MACHINES][POSITIONS][2];

static void connect_all(struct align *align)
{
	for (uint8_t a = 0; a < MACHINES; a++)
		for (uint8_t b = 0; b < MACHINES; b++) {
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

static bool add_item(struct align *align, const uint8_t *item)
{
	uint8_t at = item[0] % MACHINES, peer = item[0] / MACHINES % MACHINES;
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
	seen[from][to][position][direction] = time;
	counts[from][to][position][direction] += counts[from][to][position][direction] < 2;
	return time >= 0 && time < (int64_t)1 << 50;
}

static void check_order(const struct align_host *hosts, uint16_t a, uint16_t b)
{
	for (int i = 1; i < POSITIONS; i++) {
		if (counts[a][b][i][0] != 1 || counts[a][b][i][1] != 1)
			continue;

		int64_t sent = align_apply(hosts[a].line, seen[a][b][i][0]);
		int64_t received = align_apply(hosts[b].line, seen[a][b][i][1]);

		assert(received - sent >= -4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	_cleanup_(align_freep) struct align *align = align_new(MACHINES);
	bool sane = true;

	memset(counts, 0, sizeof(counts));
	connect_all(align);
	for (; size >= ITEM; input += ITEM, size -= ITEM)
		sane = add_item(align, input) && sane;

	const struct align_host *hosts = align_solve(align);

	for (uint16_t i = 0; i < MACHINES; i++) {
		const struct align_host *h = &hosts[i];

		assert(h->root <= i && hosts[h->root].root == h->root);
		assert(h->bound >= 0 && h->line.drift > -0.01 && h->line.drift < 0.01);
		if (!sane || h->root == i || h->link->dropped)
			continue;
		check_order(hosts, h->link->from, h->link->to);
		check_order(hosts, h->link->to, h->link->from);
	}
	return 0;
}
