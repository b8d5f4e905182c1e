/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleep - waits that only a timer ends: T.
 *
 *	sleep KIND [COUNT [MILLISECONDS]]
 *
 * The calls also wait on an object: none (nanosleep), an empty pipe (poll, select,
 * epoll), an idle socket (recv with SO_RCVTIMEO), a lock that is never released
 * (futex, cond), a timer descriptor (timerfd).  The object never becomes ready, so
 * the timer ends each wait.
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static int idle[2]; /* pipe without a writer */
static int ticker;  /* epoll or timerfd */
static long span;   /* length of a wait, ns */

static struct timespec span_timespec(void)
{
	return (struct timespec){ span / 1000000000, span % 1000000000 };
}

static void nothing(void)
{
}

static void make_pipe(void)
{
	must(pipe(idle), "pipe");
}

static void do_nanosleep(void)
{
	struct timespec t = span_timespec();

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void do_poll(void)
{
	struct pollfd p = { .fd = idle[0], .events = POLLIN };

	poll(&p, 1, (int)(span / 1000000));
}

static void do_select(void)
{
	struct timeval t = { 0, span / 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(idle[0], &set);
	select(idle[0] + 1, &set, NULL, NULL, &t);
}

static void make_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	make_pipe();
	ticker = (int)must(epoll_create1(0), "epoll_create1");
	must(epoll_ctl(ticker, EPOLL_CTL_ADD, idle[0], &e), "epoll_ctl");
}

static void do_epoll(void)
{
	struct epoll_event e;

	epoll_wait(ticker, &e, 1, (int)(span / 1000000));
}

static void make_socket(void)
{
	struct timeval t = { 0, span / 1000 };

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, idle), "socketpair");
	must(setsockopt(idle[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)), "setsockopt");
}

static void do_recv(void)
{
	char byte;

	recv(idle[0], &byte, 1, 0);
}

static void do_futex(void)
{
	static uint32_t word;
	struct timespec t = span_timespec();

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void do_cond(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	uint64_t end = now() + (uint64_t)span;
	struct timespec t = { (time_t)(end / 1000000000u), (long)(end % 1000000000u) };

	pthread_mutex_lock(&mutex);
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t);
	pthread_mutex_unlock(&mutex);
}

static void make_timerfd(void)
{
	ticker = (int)must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
}

static void do_timerfd(void)
{
	struct itimerspec t = { .it_value = span_timespec() };
	uint64_t count;

	must(timerfd_settime(ticker, 0, &t, NULL), "timerfd_settime");
	must(read(ticker, &count, sizeof(count)), "read");
}

static const struct kind {
	const char *name;
	void (*make)(void);
	void (*wait)(void);
} kinds[] = {
	{ "nanosleep", nothing, do_nanosleep }, { "poll", make_pipe, do_poll },
	{ "select", make_pipe, do_select },     { "epoll", make_epoll, do_epoll },
	{ "recv", make_socket, do_recv },       { "futex", nothing, do_futex },
	{ "cond", nothing, do_cond },           { "timerfd", make_timerfd, do_timerfd },
};

int main(int argc, char **argv)
{
	truth_init("sleep");
	unsigned long count = number_arg(argc, argv, 2, 101);
	span = (long)(number_arg(argc, argv, 3, 5) * MSEC);

	for (const struct kind *k = kinds; k < kinds + sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (argc < 2 || strcmp(k->name, argv[1]) != 0)
			continue;
		k->make();
		truth_gate();
		struct track *t = track_new("sleep");
		for (unsigned long i = 0; i < count; i++) {
			call_begin(t);
			k->wait();
			call_end(t);
		}
		truth_print();
		return 0;
	}
	fputs("sleep: no such kind\n", stderr);
	return 1;
}
