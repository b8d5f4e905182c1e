/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - a web service of a given model, which logs all requests that it handles.
 *
 * The service runs in a child, which shares the log with its parent.  The parent prints
 * "ready PID PORT" once the child listens; PID is the child's.  On SIGTERM, the parent kills the
 * child and writes the log, so the service itself needs no signal handler.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/text.h"
#include "cli/opt.h"
#include "service.h"

struct service_opts {
	const char *listen, *model, *log, *parallel, *way, *queue, *handback, *work, *sleep, *lock;
	struct opt_list calls;
	unsigned long workers, pieces, read_size, bytes, entries;
	bool connect_anew;
};

static const struct {
	const char *name;
	void (*run)(struct service *s);
} models[] = {
	{ "thread", model_thread }, { "prefork", model_prefork },
	{ "fork", model_fork },     { "spawn", model_spawn },
	{ "pool", model_pool },     { "pool-handback", model_pool_handback },
	{ "loop", model_loop },
};

#define FIELD(name) offsetof(struct service_opts, name)

static const struct opt opts[] = {
	{ OPT_STRING, 0, "listen", "ADDRESS", "HOST:PORT, with port 0 for any, or unix:PATH",
	  FIELD(listen) },
	{ OPT_STRING, 0, "model", "NAME",
	  "thread, prefork, fork, spawn, pool, pool-handback or loop", FIELD(model) },
	{ OPT_STRING, 0, "log", "FILE", "log file, written at the end", FIELD(log) },
	{ OPT_COUNT, 0, "entries", "N", "maximum number of log entries", FIELD(entries) },
	{ OPT_LIST, 0, "call", "ADDRESS",
	  "service to call for each request; prefix redis: or pg: for a store", FIELD(calls) },
	{ OPT_STRING, 0, "parallel", "HOW", "calls at once: no, send or threads", FIELD(parallel) },
	{ OPT_FLAG, 0, "connect-anew", NULL, "new connection for each call", FIELD(connect_anew) },
	{ OPT_STRING, 0, "work", "TIME[-TIME]", "CPU time of a request", FIELD(work) },
	{ OPT_STRING, 0, "sleep", "TIME[-TIME]", "sleep of a request", FIELD(sleep) },
	{ OPT_STRING, 0, "lock", "TIME[-TIME]", "CPU time under a lock that all requests share",
	  FIELD(lock) },
	{ OPT_COUNT, 0, "workers", "N", "processes of prefork, threads of a pool", FIELD(workers) },
	{ OPT_STRING, 0, "queue", "HOW", "queue of a pool: condition, eventfd or pipe",
	  FIELD(queue) },
	{ OPT_STRING, 0, "handback", "HOW", "queue of results: eventfd or pipe", FIELD(handback) },
	{ OPT_STRING, 0, "way", "CALL", "send, write, writev, sendmsg, sendfile or splice",
	  FIELD(way) },
	{ OPT_COUNT, 0, "pieces", "N", "pieces to send each message in", FIELD(pieces) },
	{ OPT_COUNT, 0, "read-size", "BYTES", "maximum size of a read", FIELD(read_size) },
	{ OPT_COUNT, 0, "bytes", "BYTES", "size of a reply", FIELD(bytes) },
	{ 0 },
};

static const struct service_opts defaults = {
	.listen = "127.0.0.1:0",
	.model = "thread",
	.parallel = "no",
	.way = "send",
	.queue = "condition",
	.handback = "eventfd",
	.work = "0",
	.sleep = "0",
	.lock = "0",
	.workers = 4,
	.pieces = 1,
	.bytes = 100,
	.entries = 8192,
};

static const struct command command = {
	.name = "bed-service",
	.opts = opts,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
};

/* The index of a name in a list. */
static int choose(const char *name, const char *const names[], int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	errno = EINVAL;
	die("unknown value '%s'", name);
}

static struct range parse_range(const char *text)
{
	_cleanup_(freep) char *least = must_strdup(text);
	char *dash = strchr(least, '-');
	struct range range;

	if (dash)
		*dash = 0;
	errno = EINVAL;
	if (parse_time(least, &range.least) || parse_time(dash ? dash + 1 : least, &range.most) ||
	    range.most < range.least)
		die("'%s' is not a range of times", text);
	return range;
}

/* Loop iterations in a microsecond: the best of several trials, as others can be disturbed. */
static unsigned long calibrate(void)
{
	const unsigned long trial = 200000;
	nsec_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		nsec_t start = now();
		for (volatile unsigned long k = 0; k < trial;)
			k = k + 1;
		nsec_t took = now() - start;
		best = took < best ? took : best;
	}
	return trial * NSEC_PER_USEC / best;
}

static void service_init(struct service *s, const struct service_opts *o)
{
	static const char *const parallel[] = { "no", "send", "threads" };
	static const char *const signalling[] = { "condition", "eventfd", "pipe" };

	*s = (struct service){
		.listener = link_listen(o->listen),
		.log = log_new(o->entries),
		.how = { .way = (enum way)choose(o->way, way_names, WAY_COUNT),
			 .pieces = o->pieces,
			 .read_size = o->read_size },
		.parallel = (enum parallel)choose(o->parallel, parallel, ARRAY_LEN(parallel)),
		.queue = (enum signalling)choose(o->queue, signalling, ARRAY_LEN(signalling)),
		.handback = (enum signalling)choose(o->handback, signalling, ARRAY_LEN(signalling)),
		.workers = o->workers,
		.bytes = o->bytes,
		.work = parse_range(o->work),
		.sleep = parse_range(o->sleep),
		.lock = parse_range(o->lock),
		.shared = PTHREAD_MUTEX_INITIALIZER,
		.spin = calibrate(),
		.target_count = o->calls.count,
	};
	errno = EINVAL;
	if (s->target_count > MAX_CALLS ||
	    (s->handback == BY_CONDITION && !strcmp(o->model, "pool-handback")))
		die("too many calls, or no queue of results");
	for (size_t i = 0; i < s->target_count; i++)
		target_init(&s->targets[i], o->calls.items[i], !o->connect_anew);
}

static unsigned port_of(int listener)
{
	struct sockaddr_storage at = { 0 };
	socklen_t size = sizeof(at);

	getsockname(listener, (struct sockaddr *)&at, &size);
	return at.ss_family == AF_UNIX ? 0
				       : ntohs(((struct sockaddr_in *)&at)->sin_port); /* in both */
}

static void write_log(const struct service *s, const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		die("cannot write '%s'", path);
	log_write(s->log, file);
	if (fclose(file))
		die("cannot write '%s'", path);
}

/* Wait for SIGTERM, or for the child to end, which is a failure; returns false then. */
static bool supervise(pid_t child, const sigset_t *signals)
{
	int which, status;

	sigwait(signals, &which);
	if (which != SIGCHLD)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return which != SIGCHLD;
}

static pid_t start(struct service *s, const char *name)
{
	size_t model = 0;

	while (model < ARRAY_LEN(models) && strcmp(models[model].name, name) != 0)
		model++;
	errno = EINVAL;
	if (model == ARRAY_LEN(models))
		die("there is no model '%s'", name);

	pid_t child = fork_child();
	if (child)
		return child;
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	models[model].run(s);
	_exit(1);
}

int main(int argc, char **argv)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct service_opts o = defaults;
	struct err err = { 0 };
	struct service s;
	sigset_t signals;

	if (opt_parse(&command, argv + 1, arena, &o, &err) < 0) {
		fprintf(stderr, "bed-service: %s\n", err.text);
		return 2;
	}
	service_init(&s, &o);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	pid_t child = start(&s, o.model);
	printf("ready %d %u\n", child, port_of(s.listener));
	fflush(stdout);

	bool well = supervise(child, &signals);
	if (o.log)
		write_log(&s, o.log);
	return well ? 0 : 1;
}
