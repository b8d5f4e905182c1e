/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock - a thread that waits for a lock of another one: L.
 *
 *	lock KIND [COUNT [MILLISECONDS]]
 *
 * In each round the holder takes the lock, waits for the waiter to block, rests, and
 * releases the lock.  The kinds are the ways in which glibc uses futexes: a plain
 * mutex, one with priority inheritance, a read-write lock, and pthread_join().
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static sem_t come, gone;
static unsigned long count, rest;

static void lock_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock_mutex(void)
{
	pthread_mutex_unlock(&mutex);
}

static void lock_rwlock(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void unlock_rwlock(void)
{
	pthread_rwlock_unlock(&rwlock);
}

static const struct kind {
	const char *name;
	int protocol;
	void (*lock)(void);
	void (*unlock)(void);
} kinds[] = {
	{ "mutex", PTHREAD_PRIO_NONE, lock_mutex, unlock_mutex },
	{ "pi", PTHREAD_PRIO_INHERIT, lock_mutex, unlock_mutex },
	{ "rwlock", PTHREAD_PRIO_NONE, lock_rwlock, unlock_rwlock },
	{ "join", PTHREAD_PRIO_NONE, NULL, NULL },
};

static const struct kind *kind;

static void *waiter(void *arg)
{
	struct track *t = track_new("wait");

	for (unsigned long i = 0; i < count; i++) {
		sem_wait(&come);
		call_begin(t);
		kind->lock();
		call_end(t);
		kind->unlock();
		sem_post(&gone);
	}
	return NULL;
}

static void hold_and_release(void)
{
	struct track *t = track_new("release");
	pthread_t thread;

	must(-pthread_create(&thread, NULL, waiter, NULL), "pthread_create");
	for (unsigned long i = 0; i < count; i++) {
		kind->lock();
		sem_post(&come);
		sleep_until(now() + rest);
		call_begin(t);
		kind->unlock();
		call_end(t);
		sem_wait(&gone);
	}
	pthread_join(thread, NULL);
}

static void *live_a_little(void *arg)
{
	sleep_until(now() + rest);
	return NULL;
}

static void join_threads(void)
{
	struct track *t = track_new("wait");

	for (unsigned long i = 0; i < count; i++) {
		pthread_t thread;

		must(-pthread_create(&thread, NULL, live_a_little, NULL), "pthread_create");
		call_begin(t);
		pthread_join(thread, NULL);
		call_end(t);
	}
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;

	truth_init("lock");
	count = number_arg(argc, argv, 2, 53);
	rest = number_arg(argc, argv, 3, 5) * MSEC;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc > 1 && strcmp(kinds[i].name, argv[1]) == 0)
			kind = &kinds[i];
	if (!kind) {
		fputs("lock: no such kind\n", stderr);
		return 1;
	}
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, kind->protocol);
	pthread_mutex_init(&mutex, &attr);
	pthread_rwlock_init(&rwlock, NULL);
	truth_gate();
	if (kind->lock)
		hold_and_release();
	else
		join_threads();
	truth_print();
	return 0;
}
