/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* The socket of connection 0 on the client's side and on the server's, as port and as object. */
enum { CLIENT = 40000, SERVER = 100 };
enum { CONDITION = 0x7000, MUTEX = 0x9000, RESULTS = 0x100000 };
enum { CALL_BYTES = 10, REPLY_BYTES = 20 };

struct statement {
	nsec_t from, to; /* the same of a statement at one time */
	uint32_t thread;
	char verb[16];
	char connection[2]; /* a letter; empty if there is none */
	uint32_t other;     /* another thread; 0 if there is none */
};

void scenario_done(struct scenario *s)
{
	story_done(&s->story);
}

static void add_socket(struct scenario *s, uint16_t local, uint16_t peer)
{
	struct socket_address address = { .family = AF_INET,
					  .protocol = IPPROTO_TCP,
					  .local_port = local,
					  .peer_port = peer,
					  .local = { 10, 0, 0, 1 },
					  .peer = { 10, 0, 0, 1 } };

	story_add(&s->story, REC(SOCKET, socket, 0, 0, .object = local, .address = address));
}

/* The number of a connection, which exists from the start of the scenario. */
static unsigned connection_of(struct scenario *s, char letter)
{
	unsigned c = letter - 'a';

	CHECK(c < CONNECTIONS_MAX);
	if (!s->connected[c]) {
		add_socket(s, CLIENT + c, SERVER + c);
		add_socket(s, SERVER + c, CLIENT + c);
		s->connected[c] = true;
	}
	return c;
}

static void call(struct scenario *s, nsec_t t, uint32_t tid, unsigned c)
{
	s->sent[c] += CALL_BYTES;
	story_send(&s->story, tid, t, CLIENT + c, 1 + s->sent[c], CALL_BYTES);
}

static void take(struct scenario *s, nsec_t t, uint32_t tid, unsigned c)
{
	story_receive(&s->story, tid, t, SERVER + c, 1 + s->sent[c], CALL_BYTES);
}

static void reply(struct scenario *s, nsec_t t, uint32_t tid, unsigned c)
{
	s->replied[c] += REPLY_BYTES;
	story_send(&s->story, tid, t, SERVER + c, 1 + s->replied[c], REPLY_BYTES);
}

static void receive_reply(struct scenario *s, nsec_t t, uint32_t tid, unsigned c)
{
	story_receive(&s->story, tid, t, CLIENT + c, 1 + s->replied[c], REPLY_BYTES);
}

void scenario_take_part(struct scenario *s, nsec_t time, uint32_t tid, char connection,
			uint32_t end, uint32_t bytes)
{
	story_receive(&s->story, tid, time, SERVER + connection_of(s, connection), 1 + end, bytes);
}

static void wait_on(struct scenario *s, const struct statement *w, uint64_t futex)
{
	story_add(&s->story, REC(WAIT, wait, w->to, w->thread, .start = w->from, .woken = w->to,
				 .state = STATE_LOCK, .ready = STATE_READY, .waker = w->other,
				 .context = WAKE_TASK, .syscall = 202, .object_kind = OBJECT_FUTEX,
				 .object = futex, .flags = futex == MUTEX ? 0 : INTERVAL_CONDVAR));
}

static void wait_in_poll(struct scenario *s, const struct statement *w, enum wake_context context)
{
	story_add(&s->story, REC(WAIT, wait, w->to, w->thread, .start = w->from, .woken = w->to,
				 .state = STATE_PROCESS, .ready = STATE_READY, .waker = w->other,
				 .context = w->other ? WAKE_TASK : context, .syscall = 232,
				 .object_kind = OBJECT_EPOLL));
}

/* A call; with a server, also what the server does; and the caller's read of the reply. */
static void exchange(struct scenario *s, const struct statement *st, bool reads)
{
	unsigned c = connection_of(s, st->connection[0]);

	call(s, st->from, st->thread, c);
	if (!st->other)
		return;
	take(s, st->from + 1, st->other, c);
	reply(s, st->from + 2, st->other, c);
	if (reads)
		receive_reply(s, st->from + 3, st->thread, c);
}

static bool is_verb(const struct statement *st, const char *verb)
{
	return strcmp(st->verb, verb) == 0;
}

/* Verbs without a connection; false if the verb is another. */
static bool add_thread_event(struct scenario *s, const struct statement *st)
{
	if (is_verb(st, "waits"))
		wait_on(s, st, CONDITION);
	else if (is_verb(st, "awaits"))
		wait_on(s, st, RESULTS + st->thread * 4096);
	else if (is_verb(st, "locks"))
		wait_on(s, st, MUTEX);
	else if (is_verb(st, "polls"))
		wait_in_poll(s, st, WAKE_SOFTIRQ);
	else if (is_verb(st, "sleeps"))
		wait_in_poll(s, st, WAKE_HRTIMER);
	else if (is_verb(st, "forks"))
		story_create(&s->story, st->other, st->thread, st->from);
	else if (is_verb(st, "spawns"))
		story_add(&s->story, REC(TASK, task, st->from, st->other, .pid = 1,
					 .parent = st->thread, .event = TASK_NEW));
	else
		return false;
	return true;
}

static void add_message(struct scenario *s, const struct statement *st)
{
	unsigned c = connection_of(s, st->connection[0]);

	if (is_verb(st, "gets")) {
		s->sent[c] += CALL_BYTES;
		take(s, st->from, st->thread, c);
	} else if (is_verb(st, "calls") || is_verb(st, "exchanges")) {
		exchange(s, st, is_verb(st, "exchanges"));
	} else if (is_verb(st, "takes")) {
		take(s, st->from, st->thread, c);
	} else if (is_verb(st, "replies")) {
		reply(s, st->from, st->thread, c);
	} else if (is_verb(st, "reads")) {
		receive_reply(s, st->from, st->thread, c);
	} else if (is_verb(st, "connects")) {
		story_add(&s->story, REC(SOCKET_STATE, socket_state, st->from, st->thread,
					 .object = CLIENT + c, .from = 7, .to = 2));
	} else {
		CHECK(!"the verb is unknown");
	}
}

/* "1 3 4": threads of the first one's process. */
static void add_process(struct scenario *s, const char *tids)
{
	unsigned pid = 0, tid;
	int length;

	for (; sscanf(tids, " %u%n", &tid, &length) == 1; tids += length) {
		pid = pid ?: tid;
		story_add(&s->story, REC(TASK, task, 0, tid, .pid = pid, .event = TASK_EXISTING));
		story_run(&s->story, tid, 0, 1);
	}
}

static void add_statement(struct scenario *s, const char *text)
{
	unsigned long from, to;
	struct statement st = { 0 };
	int length = 0;

	if (strncmp(text, "process ", 8) == 0) {
		add_process(s, text + 8);
		return;
	}
	CHECK(sscanf(text, "%lu%n", &from, &length) == 1);
	text += length;
	to = from;
	if (*text == '-') {
		CHECK(sscanf(text, "-%lu%n", &to, &length) == 1);
		text += length;
	}
	CHECK(sscanf(text, " %u %15s%n", &st.thread, st.verb, &length) == 2);
	text += length;
	if (sscanf(text, " %1[a-z]%n", st.connection, &length) == 1)
		text += length;
	sscanf(text, " %u", &st.other);
	st.from = s->offset + from;
	st.to = s->offset + to;
	if (!add_thread_event(s, &st))
		add_message(s, &st);
}

void scenario_add(struct scenario *s, nsec_t offset, const char *statements)
{
	_cleanup_(freep) char *copy = strdup(statements);

	s->offset = offset;
	for (char *text, *rest = copy; (text = strsep(&rest, ";"));) {
		text += strspn(text, " ");
		if (*text)
			add_statement(s, text);
	}
}

static void put_tree(FILE *file, const struct model *model, const struct requests *r, uint32_t at)
{
	static const char *const kinds[] = { "", "f", "h", "c" };
	const struct request_span *span = &r->spans.items[at];

	fprintf(file, "%s%s%u", span->parent_unknown ? "?" : "", kinds[span->kind],
		model_thread(model, span->thread)->tid);
	for (uint32_t i = span->first_child; i; i = r->spans.items[i].next) {
		fputs(i == span->first_child ? "(" : " ", file);
		put_tree(file, model, r, i);
	}
	fputs(span->first_child ? ")" : "", file);
}

static char *print_trees(const struct model *model, const struct requests *requests)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < requests->roots.count; i++) {
		fputs(i ? " " : "", file);
		put_tree(file, model, requests, requests->roots.items[i]);
	}
	fclose(file);
	return text;
}

/* A window that advances with each event finds the same requests. */
static void check_window(const struct model *model, const struct scenario *s, const char *want)
{
	_cleanup_(request_window_freep) struct request_window *w = request_window_new(NSEC_PER_SEC);
	struct request_batch batch;

	for (size_t i = 0; i < s->story.events.count; i++) {
		nsec_t now = s->story.events.items[i].record.head.time + REQUEST_LAG;

		request_window_advance(w, model, now, &batch);
		CHECK(!batch.ended.count);
		request_batch_done(&batch);
	}
	request_window_finish(w, model, &batch);

	_cleanup_(freep) char *text = print_trees(model, &batch.requests);

	CHECK_STR(text, want);
	request_batch_done(&batch);
}

void scenario_check_trees(const struct scenario *s, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(&s->story);
	_cleanup_(requests_done) struct requests requests;

	requests_find(model, &requests);

	_cleanup_(freep) char *text = print_trees(model, &requests);

	CHECK_STR(text, want);
	check_window(model, s, want);
}

void scenario_check(const char *statements, const char *want)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, statements);
	scenario_check_trees(&s, want);
}
