/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_client - the smallest reader of a live recorder.
 *
 *	live_client {all|PID} STEP...
 *
 * Starts a keeper, drops all privileges, and executes the steps:
 *
 *	epoch=MS	length of an epoch; before `start`
 *	stacks=NS	as --stacks; before `start`
 *	buffer=BYTES	as --buffer; before `start`
 *	start		start a recorder
 *	read=MS		read its stream, at most until the stream and the recorder have ended
 *	until=K:N[-O]	read until N records of the kind K came, none of the kind O between them;
 *			`outside` is a RUN of a task out of scope
 *	stall=MS	do not read
 *	stop		VERB_STOP
 *	verb=V,PID,N	any verb
 *	garbage=N	send N bytes that are no verb
 *	close		close the stream
 *	privileges	fail if this process still has any
 *
 * Prints notes, the end of recorders, and at the end the number of records of each kind.  Checks
 * that records refer only to what their epoch or the one before it describes.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/map.h"
#include "event/kind.h"
#include "event/stream_read.h"
#include "record/keeper.h"
#include "record/privilege.h"
#include "record/verb.h"

#define UNTIL_MAX 60000 /* longest wait for records on a busy host, ms */

enum { KIND_OUTSIDE = RECORD_KIND_COUNT + 1 };

/* Records to read before the next step. */
struct goal {
	unsigned int kind;
	unsigned int other; /* starts the count again */
	uint64_t left, count;
};

struct client {
	struct keeper *keeper;
	struct stream_reader *reader;
	int stream;
	bool keeper_ended, recorder_ended;
	uint64_t kinds[RECORD_KIND_COUNT];
	struct goal *goal;                          /* of a step `until` */
	uint64_t epoch;                             /* + 1 is stored in the maps */
	struct map tasks, stacks, frames, symbols;  /* number -> epoch of its description */
	uint64_t strangers, stale, strings_missing; /* violations */
};

static void say(const char *what, const char *text)
{
	printf("%s: %s\n", what, text);
	fflush(stdout);
}

static void on_note(void *arg, const char *text)
{
	(void)arg;
	say("note", text);
}

static void describe(struct client *c, struct map *map, uint64_t number)
{
	*map_insert(map, number) = c->epoch + 1;
}

static void refer(struct client *c, const struct map *map, uint64_t number)
{
	const uint64_t *epoch = number ? map_find(map, number) : NULL;

	if (number && !epoch)
		c->strangers++;
	else if (number && *epoch + 1 < c->epoch + 1)
		c->stale++;
}

static void refer_string(struct client *c, uint32_t id)
{
	if (id && !stream_reader_get_string(c->reader, id)[0])
		c->strings_missing++;
}

static void check_stack(struct client *c, const struct record_stack *s)
{
	for (size_t i = 0; i < (size_t)s->kernel_count + s->user_count; i++)
		refer(c, &c->frames, s->frames[i]);
	describe(c, &c->stacks, s->stack);
}

static void check_wait(struct client *c, const struct record_wait *w)
{
	refer(c, &c->tasks, w->head.tid);
	refer(c, &c->stacks, w->stack);
	refer(c, &c->stacks, w->waker_stack);
}

static void count_down(struct goal *g, unsigned int kind)
{
	if (g->left && kind == g->other)
		g->left = g->count;
	else if (g->left && kind == g->kind)
		g->left--;
}

static bool is_outside(const struct record *r)
{
	return r->kind == RECORD_RUN &&
	       ((const struct record_run *)(const void *)r)->flags & INTERVAL_OUT_OF_SCOPE;
}

static void check(struct client *c, const struct record *r)
{
	c->kinds[r->kind]++;
	if (c->goal)
		count_down(c->goal, is_outside(r) ? KIND_OUTSIDE : r->kind);
	switch (r->kind) {
	case RECORD_EPOCH:
		c->epoch = ((const struct record_epoch *)(const void *)r)->number;
		break;
	case RECORD_TASK:
		refer_string(c, ((const struct record_task *)(const void *)r)->comm);
		describe(c, &c->tasks, r->tid);
		break;
	case RECORD_PROCESS:
		refer_string(c, ((const struct record_process *)(const void *)r)->cmdline);
		break;
	case RECORD_FILE:
		refer_string(c, ((const struct record_file *)(const void *)r)->name);
		break;
	case RECORD_FRAME:
		refer_string(c, ((const struct record_frame *)(const void *)r)->module);
		describe(c, &c->frames, ((const struct record_frame *)(const void *)r)->frame);
		break;
	case RECORD_SYMBOL:
		refer_string(c, ((const struct record_symbol *)(const void *)r)->name);
		refer(c, &c->frames, ((const struct record_symbol *)(const void *)r)->frame);
		break;
	case RECORD_STACK:
		check_stack(c, (const void *)r);
		break;
	case RECORD_WAIT:
		check_wait(c, (const void *)r);
		break;
	case RECORD_RUN:
		refer(c, &c->tasks, r->tid);
		break;
	}
}

static void close_stream(struct client *c)
{
	if (c->stream >= 0)
		close(c->stream);
	c->stream = -1;
	stream_reader_free(c->reader);
	c->reader = NULL;
}

/* Whether the stream goes on. */
static bool read_some(struct client *c)
{
	const struct record *record;
	struct err err;
	int n = stream_reader_read(c->reader, c->stream, &err), r;

	if (n == -EAGAIN)
		return true;
	if (n <= 0)
		stream_reader_end(c->reader);
	while ((r = stream_reader_next(c->reader, &record, &err)) > 0)
		check(c, record);
	if (r < 0 && r != -EAGAIN)
		say("damage", err.text);
	return r == -EAGAIN && n > 0;
}

static void report_end(struct client *c)
{
	struct recorder_end end;
	int r = keeper_poll(c->keeper, &end);

	if (r > 0) {
		c->recorder_ended = true;
		printf("ended%s: %s\n", end.failed ? " with failure" : "", end.text);
		fflush(stdout);
	} else if (r < 0) {
		c->keeper_ended = true;
		say("keeper", "ended");
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000u + t.tv_nsec / 1000000;
}

static bool is_over(const struct client *c)
{
	return c->goal ? !c->goal->left : c->stream < 0 && c->recorder_ended;
}

static void wait_ms(struct client *c, uint64_t ms, bool read)
{
	uint64_t end = now_ms() + ms;

	for (uint64_t now; (now = now_ms()) < end && !(read && is_over(c));) {
		struct pollfd p[] = { { c->keeper_ended ? -1 : keeper_fd(c->keeper), POLLIN, 0 },
				      { read ? c->stream : -1, POLLIN, 0 } };

		poll(p, 2, end - now);
		if (p[1].revents && !read_some(c)) {
			say("stream", stream_reader_is_complete(c->reader) ? "complete" : "broken");
			close_stream(c);
		}
		if (p[0].revents)
			report_end(c);
	}
}

static unsigned int kind_of(const char *name)
{
	for (unsigned int i = 0; i < RECORD_KIND_COUNT; i++)
		if (kind_name(i) && strcmp(kind_name(i), name) == 0)
			return i;
	return strcmp(name, "outside") == 0 ? KIND_OUTSIDE : RECORD_KIND_COUNT;
}

static void read_until(struct client *c, const char *text)
{
	char kind[32], other[32] = "";
	struct goal goal = { 0 };

	if (sscanf(text, "%31[a-z]:%" SCNu64 "-%31[a-z]", kind, &goal.count, other) < 2) {
		fprintf(stderr, "live_client: unknown goal '%s'\n", text);
		exit(1);
	}
	goal.kind = kind_of(kind);
	goal.other = kind_of(other);
	goal.left = goal.count;
	c->goal = &goal;
	wait_ms(c, UNTIL_MAX, c->stream >= 0);
	c->goal = NULL;
	if (goal.left)
		say("not reached", text);
}

static void start(struct client *c)
{
	struct err err;
	int r = keeper_start_recorder(c->keeper, &c->stream, &err);

	say("start", r < 0 ? err.text : "done");
	if (r < 0)
		return;
	c->reader = stream_reader_new("live");
	stream_reader_on_note(c->reader, on_note, c);
	c->epoch = 0;
	c->recorder_ended = false;
	map_done(&c->tasks);
	map_done(&c->stacks);
	map_done(&c->frames);
	c->tasks = c->stacks = c->frames = (struct map){ 0 };
}

static void check_privileges(void)
{
	char *none[] = { NULL };
	const char *left = NULL;

	if (caps_permitted())
		left = "capabilities";
	else if (getuid() == 0 || geteuid() == 0)
		left = "root";
	else if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		left = "sockets";
	else if (execve("/bin/true", none, none) == 0 || errno != EPERM)
		left = "exec";
	else if (syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM)
		left = "bpf";
	say("privileges", left ? left : "none");
}

static void step(struct client *c, const char *text)
{
	const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
	struct verb_message m = { .verb = VERB_STOP };
	char bytes[4096] = { 0 };

	if (strcmp(text, "start") == 0)
		start(c);
	else if (strncmp(text, "read=", 5) == 0)
		wait_ms(c, strtoull(value, NULL, 10), c->stream >= 0);
	else if (strncmp(text, "until=", 6) == 0)
		read_until(c, value);
	else if (strncmp(text, "stall=", 6) == 0)
		wait_ms(c, strtoull(value, NULL, 10), false);
	else if (strcmp(text, "stop") == 0)
		verb_send(c->stream, &m);
	else if (sscanf(text, "verb=%" SCNu32 ",%" SCNu32 ",%" SCNu64, &m.verb, &m.pid, &m.value) ==
		 3)
		verb_send(c->stream, &m);
	else if (strncmp(text, "garbage=", 8) == 0)
		send(c->stream, bytes, strtoull(value, NULL, 10) % sizeof(bytes), MSG_NOSIGNAL);
	else if (strcmp(text, "close") == 0)
		close_stream(c);
	else if (strcmp(text, "privileges") == 0)
		check_privileges();
}

static void set_option(struct record_options *o, const char *text)
{
	if (sscanf(text, "epoch=%" SCNu64, &o->epoch) == 1)
		o->epoch *= NSEC_PER_MSEC;
	sscanf(text, "stacks=%" SCNu64, &o->stacks);
	sscanf(text, "buffer=%" SCNu64, &o->buffer);
}

static void print_results(const struct client *c)
{
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		if (c->kinds[i])
			printf("records %s: %" PRIu64 "\n", kind_name(i), c->kinds[i]);
	printf("undescribed: %" PRIu64 "\nstale: %" PRIu64 "\nstrings missing: %" PRIu64 "\n",
	       c->strangers, c->stale, c->strings_missing);
}

int main(int argc, char **argv)
{
	uint64_t pid = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	struct record_options options = { .pids = &pid,
					  .pid_count = pid != 0,
					  .all = pid == 0,
					  .other_tasks = true,
					  .spans = pid != 0,
					  .arguments = true,
					  .on_demand = true,
					  .command_line = "live_client",
					  .tool = "live_client" };
	struct client c = { .stream = -1 };
	struct err err;

	for (int i = 2; i < argc; i++)
		set_option(&options, argv[i]);

	int r = keeper_start(&options, &c.keeper, &err);

	if (r == 0)
		r = privilege_drop_reader(0, 0, &err);
	if (r < 0) {
		fprintf(stderr, "live_client: %s\n", err.text);
		return 1;
	}
	for (int i = 2; i < argc; i++)
		step(&c, argv[i]);
	close_stream(&c);
	keeper_free(c.keeper);
	print_results(&c);
	return 0;
}
