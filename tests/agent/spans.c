/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans - spans of sonde.h in a known pattern: spans FILE PATTERN ROUNDS
 *
 * nested       three threads, each with spans four deep
 * moved        a span is begun here, goes on in two other threads, and ends here
 * interleaved  seven tasks take turns on one thread, as in an event loop, and two
 *              more on another
 * forked       children one after the other, each with some spans, and gone at once
 * executed     the same, but each executes this program anew
 *
 * All compute and sleep in portions that differ, so that a portion that is given
 * to the wrong span shows.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

#define BEGIN(known, text) \
	do { \
		static struct sonde_site site_ = { text, 0 }; \
		known_begin(known, &site_); \
	} while (0)

static int rounds;

static void query(int i)
{
	struct known query, row;

	BEGIN(&query, "query");
	sonde_set_int(&query.span, "query.number", i);
	sonde_set_string(&query.span, "query.text", "SELECT");
	snprintf(query.attributes, sizeof(query.attributes),
		 "\"query.number\": %d, \"query.text\": \"SELECT\"", i);
	known_burn(650);
	usleep(300);
	for (int n = 0; n < 3; n++) {
		BEGIN(&row, "row");
		known_burn(350 + 150 * n);
		known_end(&row);
	}
	known_end(&query);
}

static void *serve(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		struct known request, parse;

		BEGIN(&request, "request");
		known_burn(550);
		BEGIN(&parse, "parse");
		known_burn(850);
		query(i);
		known_end(&parse);
		known_burn(250);
		known_end(&request);
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

/* A place where one thread puts a span for another. */
struct station {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct known *work;
};

static struct station stations[3] = {
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL },
};

static void pass(struct station *to, struct known *work)
{
	pthread_mutex_lock(&to->lock);
	to->work = work;
	pthread_cond_signal(&to->changed);
	pthread_mutex_unlock(&to->lock);
}

static struct known *await(struct station *at)
{
	pthread_mutex_lock(&at->lock);
	while (!at->work)
		pthread_cond_wait(&at->changed, &at->lock);
	struct known *work = at->work;
	at->work = NULL;
	pthread_mutex_unlock(&at->lock);
	return work;
}

static void *go_on(void *arg)
{
	struct station *at = arg;

	for (int i = 0; i < rounds; i++) {
		struct known *work = await(at), inner;

		known_burn(300); /* for nobody */
		known_enter(work);
		known_burn(700);
		BEGIN(&inner, "step");
		known_burn(450);
		known_end(&inner);
		known_burn(200);
		known_leave(work);
		pass(at + 1, work);
	}
	return NULL;
}

static void run_moved(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, go_on, &stations[i]);
	for (int i = 0; i < rounds; i++) {
		struct known outer, work;

		BEGIN(&outer, "outer");
		BEGIN(&work, "work");
		known_burn(500);
		known_leave(&work);
		pass(&stations[0], &work);
		known_burn(750); /* for the outer one, at the same time */
		await(&stations[2]);
		known_enter(&work);
		known_burn(300);
		known_end(&work);
		known_end(&outer);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

enum { TASKS_MAX = 7 };

static void *loop(void *arg)
{
	int tasks = *(int *)arg;
	struct known task[TASKS_MAX];

	for (int i = 0; i < rounds; i++) {
		for (int n = 0; n < tasks; n++) {
			BEGIN(&task[n], "task");
			known_leave(&task[n]);
		}
		for (int slice = 0; slice < 3; slice++) {
			for (int n = 0; n < tasks; n++) {
				known_enter(&task[n]);
				known_burn(300 + 125 * n);
				known_leave(&task[n]);
			}
			usleep(200);
		}
		for (int n = 0; n < tasks; n++) /* not in the reverse order of their begins */
			known_end(&task[n]);
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

/* What a process does when it first uses the agent takes a good part of so short a life. */
static void introduce(void)
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
			introduce();
			query(i);
			_exit(known_write(path));
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
		introduce(), query(1);
	else if (!strcmp(pattern, "forked") || !strcmp(pattern, "executed"))
		return run_children(argv[1], pattern[0] == 'e');
	else
		return fprintf(stderr, "usage: spans FILE PATTERN ROUNDS\n"), 2;
	return known_write(argv[1]);
}
