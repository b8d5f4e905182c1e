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

#include "request.h"

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

/* Send a line to a service and read its reply; with the fault `pool`, one call at a time. */
static void call(struct peer *peer, const char *line, const char *trace)
{
	static pthread_mutex_t only = PTHREAD_MUTEX_INITIALIZER;
	double connections = 1;
	bool is_scarce = faults_find("pool", "", &connections);

	if (is_scarce)
		pthread_mutex_lock(&only);
	if (!peer_write(peer, "%s%s\n", line, trace) || !peer_read(peer))
		errx(EXIT_FAILURE, "a service closed the connection");
	if (is_scarce)
		pthread_mutex_unlock(&only);
}

static void call_ledger(struct worker *w, const char *line)
{
	struct request request;
	char trace[TRACE_SIZE];

	CALL_BEGIN(&request, "call ledger");
	call(&w->ledger, line, request_trace(&request, trace));
	request_end(&request);
}

static void call_contacts(struct worker *w, const char *line)
{
	struct request request;
	char trace[TRACE_SIZE];

	CALL_BEGIN(&request, "call contacts");
	call(&w->contacts, line, request_trace(&request, trace));
	request_end(&request);
}

static void home(struct worker *w, struct peer *client, const char *name)
{
	struct request request;
	char line[64];

	REQUEST_BEGIN(&request, client, "GET /home");
	snprintf(line, sizeof(line), "balance %s", name);
	call_ledger(w, line);
	snprintf(line, sizeof(line), "get %s", name);
	call_contacts(w, line);
	peer_write(client, "200 %s: contact %.64s, balance %.64s\n", name, w->contacts.line,
		   w->ledger.line);
	request_end(&request);
}

static void import(struct worker *w, struct peer *client, const char *name, unsigned count)
{
	struct request request;
	char line[64];

	REQUEST_BEGIN(&request, client, "POST /import");
	snprintf(line, sizeof(line), "import %s %u", name, count);
	call_contacts(w, line);
	peer_write(client, "200 %.64s\n", w->contacts.line);
	request_end(&request);
}

static void reply(struct worker *w, struct peer *client)
{
	char name[32];
	unsigned count;

	if (sscanf(client->line, "GET /home %31s", name) == 1)
		home(w, client, name);
	else if (sscanf(client->line, "POST /import %31s %u", name, &count) == 2)
		import(w, client, name, count);
	else
		peer_write(client, "400 bad request\n");
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
	service_init("front");
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
