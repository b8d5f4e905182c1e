/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans - sonde.h spans in a known pattern: spans FILE PATTERN ROUNDS
 *
 * nested       three threads, each with spans four deep
 * moved        a span begins here, continues in two other threads, and ends here
 * interleaved  seven tasks alternate on one thread, as in an event loop, and two more
 *              on another
 * forked       consecutive children, each with some spans and a short life
 * executed     the same, but each child executes this program again
 *
 * The portions of computing and sleeping differ, so that a portion attributed to a wrong
 * span is detected.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "true_span.h"

#define BEGIN(s, text) \
	do { \
		static struct sonde_site site_ = { text, 0 }; \
		true_span_begin(s, &site_); \
	} while (0)

static int rounds;

static void query(int i)
{
	struct true_span query, row;

	BEGIN(&query, "query");
	sonde_set_int(&query.span, "query.number", i);
	sonde_set_string(&query.span, "query.text", "SELECT");
	snprintf(query.attributes, sizeof(query.attributes),
		 "\"query.number\": %d, \"query.text\": \"SELECT\"", i);
	burn_cpu(650);
	usleep(300);
	for (int n = 0; n < 3; n++) {
		BEGIN(&row, "row");
		burn_cpu(350 + 150 * n);
		true_span_end(&row);
	}
	true_span_end(&query);
}

static void *serve(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		struct true_span request, parse;

		BEGIN(&request, "request");
		burn_cpu(550);
		BEGIN(&parse, "parse");
		burn_cpu(850);
		query(i);
		true_span_end(&parse);
		burn_cpu(250);
		true_span_end(&request);
	}
	return NULL;
}

static void run_nested(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* A mailbox in which one thread passes a span to another. */
struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct true_span *work;
};

static struct mailbox mailboxes[3] = {
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
};

static void pass(struct mailbox *to, struct true_span *work)
{
	pthread_mutex_lock(&to->lock);
	to->work = work;
	pthread_cond_signal(&to->changed);
	pthread_mutex_unlock(&to->lock);
}

static struct true_span *await(struct mailbox *at)
{
	pthread_mutex_lock(&at->lock);
	while (!at->work)
		pthread_cond_wait(&at->changed, &at->lock);
	struct true_span *work = at->work;
	at->work = NULL;
	pthread_mutex_unlock(&at->lock);
	return work;
}

static void *continue_spans(void *arg)
{
	struct mailbox *at = arg;

	for (int i = 0; i < rounds; i++) {
		struct true_span *work = await(at), inner;

		burn_cpu(300); /* for no span */
		true_span_attach(work);
		burn_cpu(700);
		BEGIN(&inner, "step");
		burn_cpu(450);
		true_span_end(&inner);
		burn_cpu(200);
		true_span_detach(work);
		pass(at + 1, work);
	}
	return NULL;
}

static void run_moved(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, continue_spans, &mailboxes[i]);
	for (int i = 0; i < rounds; i++) {
		struct true_span outer, work;

		BEGIN(&outer, "outer");
		BEGIN(&work, "work");
		burn_cpu(500);
		true_span_detach(&work);
		pass(&mailboxes[0], &work);
		burn_cpu(750); /* for the outer span, at the same time */
		await(&mailboxes[2]);
		true_span_attach(&work);
		burn_cpu(300);
		true_span_end(&work);
		true_span_end(&outer);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

enum { TASKS_MAX = 7 };

static void *loop(void *arg)
{
	int tasks = *(int *)arg;
	struct true_span task[TASKS_MAX];

	for (int i = 0; i < rounds; i++) {
		for (int n = 0; n < tasks; n++) {
			BEGIN(&task[n], "task");
			true_span_detach(&task[n]);
		}
		for (int step = 0; step < 3; step++) {
			for (int n = 0; n < tasks; n++) {
				true_span_attach(&task[n]);
				burn_cpu(300 + 125 * n);
				true_span_detach(&task[n]);
			}
			usleep(200);
		}
		for (int n = 0; n < tasks; n++) /* not in the reverse order of their begins */
			true_span_end(&task[n]);
	}
	return NULL;
}

static void run_interleaved(void)
{
	int here = TASKS_MAX, there = 2;
	pthread_t thread;

	pthread_create(&thread, NULL, loop, &there);
	loop(&here);
	pthread_join(thread, NULL);
}

/* Initialise the agent first: it takes a large part of such a short life. */
static void initialise_agent(void)
{
	sonde_set_enabled("no such name", true);
}

static int run_children(const char *path, bool is_executed)
{
	int status, failed = 0;

	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (pid == 0 && is_executed) {
			execl("/proc/self/exe", "spans", path, "once", "1", NULL);
			_exit(127);
		}
		if (pid == 0) {
			initialise_agent();
			query(i);
			_exit(true_span_write(path));
		}
		failed |= waitpid(pid, &status, 0) != pid || status != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	const char *pattern = argc == 4 ? argv[2] : "";

	rounds = argc == 4 ? atoi(argv[3]) : 0;
	if (!strcmp(pattern, "nested"))
		run_nested();
	else if (!strcmp(pattern, "moved"))
		run_moved();
	else if (!strcmp(pattern, "interleaved"))
		run_interleaved();
	else if (!strcmp(pattern, "once"))
		initialise_agent(), query(1);
	else if (!strcmp(pattern, "forked") || !strcmp(pattern, "executed"))
		return run_children(argv[1], pattern[0] == 'e');
	else
		return fprintf(stderr, "usage: spans FILE PATTERN ROUNDS\n"), 2;
	return true_span_write(argv[1]);
}
