/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - sends a number of requests to a service over a number of connections.
 *
 * Each connection has a thread, which sends a request, waits for the reply and repeats.  With
 * --pipeline, it sends several requests before it waits.  With --warm, each connection is used
 * before the client prints "ready" and waits for a line on stdin, so that a recorder that starts
 * then finds open connections.  Ids of those requests begin with w, all others with r.  The log has
 * the format of the services' logs, with each request as a call.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cli/opt.h"
#include "service.h"

struct client_opts {
	const char *to, *log;
	unsigned long connections, count, pipeline, warm, pieces;
	nsec_t think;
	bool connect_anew;
};

#define FIELD(name) offsetof(struct client_opts, name)

static const struct opt opts[] = {
	{ OPT_STRING, 0, "to", "ADDRESS", "service to call", FIELD(to) },
	{ OPT_STRING, 0, "log", "FILE", "log file", FIELD(log) },
	{ OPT_COUNT, 0, "connections", "N", "number of connections", FIELD(connections) },
	{ OPT_COUNT, 0, "count", "N", "total number of requests", FIELD(count) },
	{ OPT_COUNT, 0, "pipeline", "N", "requests to send before waiting for a reply",
	  FIELD(pipeline) },
	{ OPT_COUNT, 0, "warm", "N", "requests on each connection before \"ready\"", FIELD(warm) },
	{ OPT_COUNT, 0, "pieces", "N", "pieces to send each message in", FIELD(pieces) },
	{ OPT_TIME, 0, "think", "TIME", "pause before each request", FIELD(think) },
	{ OPT_FLAG, 0, "connect-anew", NULL, "new connection for each request",
	  FIELD(connect_anew) },
	{ 0 },
};

static const struct client_opts defaults = {
	.connections = 1,
	.count = 1,
	.pipeline = 1,
	.pieces = 1,
};

static const struct command command = {
	.name = "bed-client",
	.opts = opts,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
};

#define MAX_PIPELINE 32

struct client {
	const struct client_opts *opts;
	struct io_style how;
	struct log *log;
	atomic_ulong next;
	pthread_barrier_t warmed, gate;
};

static void send_call(struct client *c, struct link *l, struct entry *e)
{
	struct call_entry *call = &e->calls[0];
	struct call_head q = { .id = e->id, .hop = "0", .close = c->opts->connect_anew };
	char text[256];

	e->pid = (uint32_t)getpid();
	e->call_count = 1;
	*call = (struct call_entry){ .wire = "http", .ends = l->ends, .tid = (uint32_t)gettid() };
	call->gave = (uint32_t)wire_http.format_call(&q, text, sizeof(text));
	call->sending = now();
	link_send(l, &c->how, text, call->gave);
	call->sent = now();
}

static void wait_for_reply(struct client *c, struct link *l, struct entry *e)
{
	struct call_entry *call = &e->calls[0];

	while (!(call->got = (uint32_t)wire_http.reply_size(l->buf, l->used))) {
		errno = ECONNRESET;
		if (link_read(l, &c->how) <= 0)
			die("no reply from %s", c->opts->to);
	}
	e->replied = call->replied = now();
	link_take(l, call->got);
}

/* Sends the requests from number `first` up to `end` at once, then waits for all replies. */
static void exchange(struct client *c, struct link **l, char kind, unsigned long first,
		     unsigned long end)
{
	struct entry *entries[MAX_PIPELINE];

	if (!*l)
		*l = link_connect(c->opts->to, 0);
	for (unsigned long i = first; i < end; i++) {
		entries[i - first] = log_entry(c->log);
		snprintf(entries[i - first]->id, sizeof(entries[0]->id), "%c%06lu", kind, i);
		send_call(c, *l, entries[i - first]);
	}
	for (unsigned long i = first; i < end; i++)
		wait_for_reply(c, *l, entries[i - first]);
	if (c->opts->connect_anew) {
		link_free(*l);
		*l = NULL;
	}
}

static void *session(void *arg)
{
	struct client *c = arg;
	const struct client_opts *o = c->opts;
	_cleanup_(link_freep) struct link *l = NULL;
	unsigned long first;

	for (unsigned long i = 0; i < o->warm; i++)
		exchange(c, &l, 'w', i, i + 1);
	pthread_barrier_wait(&c->warmed);
	pthread_barrier_wait(&c->gate);
	while ((first = atomic_fetch_add(&c->next, o->pipeline)) < o->count) {
		unsigned long end = first + o->pipeline < o->count ? first + o->pipeline : o->count;

		if (o->think)
			nanosleep(&(struct timespec){ .tv_sec = (time_t)(o->think / NSEC_PER_SEC),
						      .tv_nsec = (long)(o->think % NSEC_PER_SEC) },
				  NULL);
		exchange(c, &l, 'r', first, end);
	}
	return NULL;
}

static void run(struct client *c)
{
	unsigned count = (unsigned)c->opts->connections;
	pthread_t *threads = must_alloc(count * sizeof(*threads));

	pthread_barrier_init(&c->warmed, NULL, count + 1);
	pthread_barrier_init(&c->gate, NULL, count + 1);
	for (unsigned i = 0; i < count; i++)
		start_thread(session, c, &threads[i]);
	pthread_barrier_wait(&c->warmed);
	printf("ready\n");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	pthread_barrier_wait(&c->gate);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

int main(int argc, char **argv)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct client_opts o = defaults;
	struct err err = { 0 };

	if (opt_parse(&command, argv + 1, arena, &o, &err) < 0 || !o.to || !o.log ||
	    o.pipeline > MAX_PIPELINE || (o.connect_anew && o.pipeline > 1)) {
		fprintf(stderr, "bed-client: wrong options: %s\n", err.text);
		return 2;
	}

	struct client c = { .opts = &o,
			    .how = { .pieces = o.pieces },
			    .log = log_new(o.count + o.connections * o.warm) };
	run(&c);

	FILE *file = fopen(o.log, "w");
	if (!file)
		die("cannot write '%s'", o.log);
	log_write(c.log, file);
	return fclose(file) ? 1 : 0;
}
