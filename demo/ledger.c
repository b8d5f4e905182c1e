/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger - computes balances.
 *
 *   balance NAME     -> ok AMOUNT
 *
 * Every entry is hashed with the one before it, so a balance is computed by
 * replaying the journal from its start: one or two milliseconds of arithmetic.
 * It is slow if another busy program runs on its CPU.
 */
#include <err.h>
#include <stdlib.h>

#include "request.h"

#define ENTRIES 1500000u

static unsigned hash(const char *text)
{
	unsigned h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* Each step depends on the one before it, so the loop cannot be vectorised. */
static unsigned replay(const char *name)
{
	unsigned seal = hash(name), balance = 0;

	for (unsigned entry = 0; entry < ENTRIES; entry++) {
		seal = (seal ^ entry) * 16777619u;
		balance += seal >> 28;
	}
	return balance;
}

static void balance(struct peer *peer, const char *name)
{
	struct request request;

	REQUEST_BEGIN(&request, peer, "balance");
	peer_write(peer, "ok %u\n", replay(name));
	request_end(&request);
}

static void reply(struct peer *peer, void *service)
{
	char name[32];

	if (sscanf(peer->line, "balance %31s", name) == 1)
		balance(peer, name);
	else
		peer_write(peer, "bad request\n");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: ledger PORT_FILE");
	service_init("ledger");
	serve(listen_on_free_port(argv[1]), "ledger", reply, NULL);
}
