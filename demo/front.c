/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front - the service that clients connect to.
 *
 *   GET /home NAME         -> 200 ...   calls ledger, then contacts
 *   POST /import NAME N    -> 200 ok    calls contacts
 *
 * A pool of threads, each with its own connections to both services.  All of
 * them wait in accept(); the thread that accepts a connection serves it until
 * it is closed.
 */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

#define WORKERS 8

struct front {
	int listener;
	const char *contacts, *ledger; /* ports */
};

struct worker {
	const struct front *front; /* borrowed */
	int number;
	struct peer contacts, ledger;
};

static void reply(struct worker *w, struct peer *client)
{
	char name[32];
	unsigned count;

	if (sscanf(client->line, "GET /home %31s", name) == 1) {
		peer_write(&w->ledger, "balance %s\n", name);
		if (!peer_read(&w->ledger))
			errx(EXIT_FAILURE, "ledger closed the connection");
		peer_write(&w->contacts, "get %s\n", name);
		if (!peer_read(&w->contacts))
			errx(EXIT_FAILURE, "contacts closed the connection");
		peer_write(client, "200 %s: contact %.64s, balance %.64s\n", name, w->contacts.line,
			   w->ledger.line);
	} else if (sscanf(client->line, "POST /import %31s %u", name, &count) == 2) {
		peer_write(&w->contacts, "import %s %u\n", name, count);
		if (!peer_read(&w->contacts))
			errx(EXIT_FAILURE, "contacts closed the connection");
		peer_write(client, "200 %.64s\n", w->contacts.line);
	} else {
		peer_write(client, "400 bad request\n");
	}
}

__attribute__((noreturn)) static void *work(void *arg)
{
	struct worker *w = arg;
	struct peer client;

	name_thread("front", w->number);
	peer_connect(&w->contacts, w->front->contacts);
	peer_connect(&w->ledger, w->front->ledger);
	for (;;) {
		peer_accept(&client, w->front->listener);
		while (peer_read(&client))
			reply(w, &client);
		peer_close(&client);
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS];
	struct front front;

	if (argc != 4)
		errx(2, "usage: front PORT_FILE CONTACTS_PORT LEDGER_PORT");
	live_briefly();
	front = (struct front){ listen_on_free_port(argv[1]), argv[2], argv[3] };
	for (int i = WORKERS - 1; i >= 0; i--) {
		pthread_t thread;

		workers[i] = (struct worker){ .front = &front, .number = i + 1 };
		if (i == 0)
			work(&workers[i]); /* on this thread; does not return */
		if (pthread_create(&thread, NULL, work, &workers[i]))
			errx(EXIT_FAILURE, "cannot start a thread");
	}
}
