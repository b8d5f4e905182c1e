/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - the speed of SQL over a model.
 *
 * usage: query ROWS
 *
 * Makes a model of threads that run, wait for each other, execute system calls, send
 * and receive, with about ROWS rows in each table.  Counts, sums and selects all
 * columns of each table, and runs the queries of the manual page.  Prints a line for
 * each: the kind, the table or name, its rows, and the ns of CPU time per row (for a
 * join, per row of its first table).
 */
#include <netinet/in.h>
#include <string.h>

#include "clock.h"
#include "query/query.h"

enum { THREADS = 32, CPUS = 4, STEP = 100 };

static const char *get_string(const void *arg, uint32_t id)
{
	static char text[32];

	snprintf(text, sizeof(text), "name-%u", id);
	return id ? text : "";
}

static const struct source source = { .get_string = get_string };

#define ADD(model, KIND, type, t, thread, ...) \
	model_add(model, &source, \
		  &(struct record_##type){ .head = { .time = (t), \
						     .tid = (thread), \
						     .cpu = (thread) % CPUS, \
						     .kind = RECORD_##KIND, \
						     .words = sizeof(struct record_##type) / 8 }, \
					   __VA_ARGS__ } \
			   .head)

/* Thread t calls thread t + 1 through socket 100 + 2 t; the socket of the peer is the next number.
 */
static void add_names(struct model *model)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct socket_address a = { .family = AF_INET,
					    .protocol = IPPROTO_TCP,
					    .local_port = 40000 + i,
					    .peer_port = 80 + i,
					    .local = { 10, 0, 0, 1 },
					    .peer = { 10, 0, 0, 2 } };
		struct socket_address b = { .family = AF_INET,
					    .protocol = IPPROTO_TCP,
					    .local_port = 80 + i,
					    .peer_port = 40000 + i,
					    .local = { 10, 0, 0, 2 },
					    .peer = { 10, 0, 0, 1 } };

		ADD(model, TASK, task, 1, 1 + i, .pid = 1 + i / 4 * 4, .comm = 1 + i,
		    .event = TASK_EXISTING);
		ADD(model, SOCKET, socket, 1, 0, .object = 100 + 2 * i, .address = a);
		ADD(model, SOCKET, socket, 1, 0, .object = 101 + 2 * i, .address = b);
	}
	ADD(model, PROBE_TYPE, probe_type, 1, 0, .type = 1, .name = 100);
}

/* One record of each kind of one thread, three intervals, and the four messages of a request. */
static void add_step(struct model *model, uint64_t n)
{
	uint32_t tid = 1 + n % THREADS, other = 1 + (n + 1) % THREADS;
	nsec_t t = 1000 + n * STEP, last = 1000 + (n - THREADS) * STEP;
	uint32_t position = n / THREADS * 20;
	uint8_t id[8];

	memcpy(id, &n, sizeof(id));
	if (n >= THREADS)
		ADD(model, WAIT, wait, t, tid, .start = last + 90, .woken = t - 20,
		    .state = n % 3 ? STATE_LOCK : STATE_NETWORK, .ready = STATE_READY,
		    .waker = other, .context = n % 3 ? WAKE_TASK : WAKE_SOFTIRQ, .syscall = n % 200,
		    .object_kind = n % 3 ? OBJECT_FUTEX : OBJECT_INET, .object = 98 + 2 * tid);
	ADD(model, PROBE_EVENT, probe_event, t + 10, tid, .type = 1);
	ADD(model, SYSCALL, syscall, t + 20, tid, .start = t + 5, .nr = n % 200,
	    .result = -(n % 5));
	ADD(model, BLOCK, block, t + 30, tid, .start = t + 1, .device = 1 << 20, .bytes = 4096,
	    .op = 'R');
	for (uint32_t i = 0; i < 4; i++) { /* send and receive of the request, then of the reply */
		bool at_client = i == 0 || i == 3;

		ADD(model, MESSAGE, message, t + 40 + i, at_client ? tid : other,
		    .object = 2 * tid + (at_client ? 98 : 99), .bytes = 20,
		    .position = position + 20, .direction = i % 2 ? MESSAGE_RECEIVE : MESSAGE_SEND,
		    .object_kind = OBJECT_INET);
	}
	ADD(model, RUN, run, t + 90, tid, .start = t);

	struct record_span span = { .head = { .time = t + 95,
					      .tid = tid,
					      .kind = RECORD_SPAN,
					      .words = sizeof(span) / 8 },
				    .start = t,
				    .trace = { 1 },
				    .service = 1 + tid / 4,
				    .operation = 200 };
	memcpy(span.span, id, sizeof(id));
	memcpy(span.trace + 8, id, sizeof(id));
	span.span[7] = 1;
	model_add(model, &source, &span.head);
}

static int ignore_begin(void *arg, const char *const *names, size_t count)
{
	return 0;
}

static int count_row(void *arg, const struct query_value *values)
{
	*(int64_t *)arg += values[0].type == QUERY_INT ? values[0].i : 1;
	return 0;
}

static int ignore_end(void *arg)
{
	return 0;
}

static nsec_t run(struct query *q, const char *sql, int64_t *ret)
{
	struct query_sink sink = { ignore_begin, count_row, ignore_end, ret };
	nsec_t begin = clock_now(CLOCK_THREAD_CPUTIME_ID);
	struct err err;

	*ret = 0;
	if (query_run(q, sql, &sink, &err) < 0) {
		fprintf(stderr, "bench-query: %s\n", err.text);
		exit(1);
	}
	return clock_now(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void tell(const char *sort, const char *name, int64_t rows, nsec_t time)
{
	printf("%s %s %lld %.1f\n", sort, name, (long long)rows, rows ? (double)time / rows : 0);
	fflush(stdout);
}

static int64_t measure_table(struct query *q, const char *table, const char *sum)
{
	_cleanup_(freep) char *count = must_printf("SELECT count(*) FROM %s", table);
	_cleanup_(freep) char *add = must_printf("SELECT count(*), sum(%s) FROM %s", sum, table);
	_cleanup_(freep) char *all = must_printf("SELECT * FROM %s", table);
	int64_t rows, ignored;

	run(q, count, &rows); /* warm up: finds requests and builds indexes */
	tell("count", table, rows, run(q, count, &ignored));
	tell("sum", table, rows, run(q, add, &ignored));
	tell("all", table, rows, run(q, all, &ignored));
	return rows;
}

static const struct {
	const char *table, *sum;
} tables[] = {
	{ "threads", "duration" },  { "intervals", "duration" },    { "wakeups", "duration" },
	{ "slices", "duration" },   { "messages", "duration" },     { "syscalls", "duration" },
	{ "block_io", "duration" }, { "probe_events", "time" },     { "spans", "duration" },
	{ "requests", "duration" }, { "request_work", "duration" },
};

static const struct {
	const char *name, *table, *sql;
} queries[] = {
	{ "one-thread", "intervals", "SELECT count(*) FROM intervals WHERE tid = 7" },
	{ "by-state", "intervals", "SELECT state, sum(duration) FROM intervals GROUP BY state" },
	{ "by-thread", "intervals",
	  "SELECT tid, comm, count(*), sum(duration), max(duration) FROM intervals WHERE state = "
	  "'C' GROUP BY "
	  "thread" },
	{ "meanwhile", "intervals",
	  "SELECT t.tid, sum(min(t.end, i.end) - max(t.start, i.start)) FROM intervals i JOIN "
	  "slices t "
	  "ON t.host = i.host AND t.cpu = i.cpu AND t.start < i.end AND t.end > i.start "
	  "WHERE i.state = 'C' AND t.thread <> i.thread GROUP BY t.thread" },
	{ "wakers", "wakeups",
	  "SELECT waker_comm, comm, count(*), avg(delay) FROM wakeups WHERE woken_by = 'task' "
	  "GROUP BY waker, thread" },
	{ "histogram", "intervals",
	  "SELECT bucket(duration), count(*) FROM intervals WHERE state = 'C' GROUP BY "
	  "bucket(duration)" },
	{ "peers", "intervals",
	  "SELECT object_name, count(*), percentile(duration, 99) FROM intervals WHERE state = 'N' "
	  "GROUP BY "
	  "object_name" },
	{ "connections", "messages",
	  "SELECT local, peer, count(*), sum(bytes) FROM messages GROUP BY 1, 2" },
	{ "syscalls", "syscalls",
	  "SELECT name, count(*), count(error), sum(duration) FROM syscalls GROUP BY name" },
	{ "spans", "spans",
	  "SELECT service, percentile(duration, 99) FROM spans GROUP BY service" },
	{ "span-states", "spans",
	  "SELECT s.service, i.state, sum(min(i.end, s.end) - max(i.start, s.start)) FROM spans s "
	  "JOIN intervals i ON i.thread = s.thread AND i.start < s.end AND i.end > s.start "
	  "GROUP BY s.service, i.state" },
	{ "request-states", "requests",
	  "SELECT r.service, i.state, sum(min(i.end, s.end) - max(i.start, s.start)) "
	  "FROM requests r JOIN request_work s ON s.request = r.id JOIN intervals i "
	  "ON i.thread = s.thread AND i.start < s.end AND i.end > s.start GROUP BY 1, 2" },
	{ "syscalls-in-spans", "spans",
	  "SELECT count(*) FROM spans s JOIN syscalls c ON c.thread = s.thread AND c.start < s.end "
	  "AND c.end > s.start" },
};

int main(int argc, char **argv)
{
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	struct model *model = model_new();
	int64_t rows[ARRAY_LEN(tables)], ignored;

	add_names(model);
	for (uint64_t i = 0; i < steps; i++)
		add_step(model, i);
	model_finish(model);

	struct query *q = query_new(model);

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		rows[i] = measure_table(q, tables[i].table, tables[i].sum);
	for (size_t i = 0; i < ARRAY_LEN(queries); i++)
		for (size_t k = 0; k < ARRAY_LEN(tables); k++)
			if (strcmp(tables[k].table, queries[i].table) == 0)
				tell("query", queries[i].name, rows[k],
				     run(q, queries[i].sql, &ignored));
	query_free(q);
	model_free(model);
	return 0;
}
