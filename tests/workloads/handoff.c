/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handoff - two parties that wait for each other in turn.
 *
 *	handoff CHANNEL [COUNT [MILLISECONDS]]
 *
 * Each party rests, releases the other, and waits for it: COUNT times, in turn.
 * Because of the rest, every wait is long and its end has a known cause: it lies
 * between the clock readings around the release by the other party, under any load.
 * The parties are processes, or threads if the channel is a lock.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "truth.h"

struct party {
	int in, out; /* to be released, to release the other */
	int epoll;
	sem_t semaphore;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t word; /* 1: released */
};

static struct party parties[2];
static unsigned long count, rest;

/* Channels with file descriptors: eight bytes are one release. */

static void join(int a, int b)
{
	parties[a].out = parties[b].in;
}

static void make_pipe(void)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		must(pipe(ends), "pipe");
		parties[i].in = ends[0];
		parties[!i].out = ends[1];
	}
}

static void make_unix(void)
{
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	for (int i = 0; i < 2; i++)
		parties[i].in = parties[i].out = ends[i];
}

static void make_eventfd(void)
{
	parties[0].in = (int)must(eventfd(0, 0), "eventfd");
	parties[1].in = (int)must(eventfd(0, 0), "eventfd");
	join(0, 1);
	join(1, 0);
}

/* The first party reads a terminal; the second types there, and is released by a pipe. */
static void make_tty(void)
{
	struct termios raw;
	int master = (int)must(posix_openpt(O_RDWR | O_NOCTTY), "posix_openpt");

	must(grantpt(master), "grantpt");
	must(unlockpt(master), "unlockpt");
	make_pipe();
	parties[0].in = (int)must(open(ptsname(master), O_RDWR | O_NOCTTY), "open pty");
	parties[1].out = master;
	must(tcgetattr(parties[0].in, &raw), "tcgetattr");
	cfmakeraw(&raw);
	must(tcsetattr(parties[0].in, TCSANOW, &raw), "tcsetattr");
}

static void connect_inet(int family, int type)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at[2] = { 0 };
	socklen_t size = family == AF_INET ? sizeof(at[0].four) : sizeof(at[0].six);
	int ends[2];

	for (int i = 0; i < 2; i++) {
		at[i].any.sa_family = (sa_family_t)family;
		if (family == AF_INET)
			at[i].four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		else
			at[i].six.sin6_addr = in6addr_loopback;
		ends[i] = (int)must(socket(family, type, 0), "socket");
		must(bind(ends[i], &at[i].any, size), "bind");
		must(getsockname(ends[i], &at[i].any, &size), "getsockname");
	}
	if (type == SOCK_STREAM)
		must(listen(ends[0], 1), "listen");
	else
		must(connect(ends[0], &at[1].any, size), "connect");
	must(connect(ends[1], &at[0].any, size), "connect");
	if (type == SOCK_STREAM)
		ends[0] = (int)must(accept(ends[0], NULL, NULL), "accept");
	for (int i = 0; i < 2; i++)
		parties[i].in = parties[i].out = ends[i];
	truth_add("port", "%d",
		  ntohs(at[0].four.sin_port)); /* at the same offset in IPv4 and IPv6 */
}

static void make_tcp(void)
{
	connect_inet(AF_INET, SOCK_STREAM);
}

static void make_tcp6(void)
{
	connect_inet(AF_INET6, SOCK_STREAM);
}

static void make_udp(void)
{
	connect_inet(AF_INET, SOCK_DGRAM);
}

static void wait_read(struct party *p)
{
	uint64_t value;

	must(read(p->in, &value, sizeof(value)), "read");
}

static void wait_recv(struct party *p)
{
	uint64_t value;

	must(recv(p->in, &value, sizeof(value), 0), "recv");
}

static void wait_poll(struct party *p)
{
	struct pollfd poll_in = { .fd = p->in, .events = POLLIN };

	must(poll(&poll_in, 1, -1), "poll");
	wait_read(p);
}

static void wait_epoll(struct party *p)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (!p->epoll) {
		p->epoll = (int)must(epoll_create1(0), "epoll_create1");
		must(epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->in, &e), "epoll_ctl");
	}
	must(epoll_wait(p->epoll, &e, 1, -1), "epoll_wait");
	wait_read(p);
}

static void release_write(struct party *p)
{
	uint64_t value = 1;

	must(write(p->out, &value, sizeof(value)), "write");
}

/* Channels with locks: the lock of a party is in its own struct. */

static struct party *other(struct party *p)
{
	return &parties[p == parties];
}

static void make_locks(void)
{
	for (int i = 0; i < 2; i++) {
		sem_init(&parties[i].semaphore, 0, 0);
		pthread_mutex_init(&parties[i].mutex, NULL);
		pthread_cond_init(&parties[i].cond, NULL);
	}
}

static void wait_semaphore(struct party *p)
{
	sem_wait(&p->semaphore);
}

static void release_semaphore(struct party *p)
{
	sem_post(&other(p)->semaphore);
}

static void wait_cond(struct party *p)
{
	pthread_mutex_lock(&p->mutex);
	while (!p->word)
		pthread_cond_wait(&p->cond, &p->mutex);
	p->word = 0;
	pthread_mutex_unlock(&p->mutex);
}

static void release_cond(struct party *p)
{
	struct party *o = other(p);

	pthread_mutex_lock(&o->mutex);
	o->word = 1;
	pthread_cond_signal(&o->cond);
	pthread_mutex_unlock(&o->mutex);
}

static void wait_futex(struct party *p)
{
	while (!__atomic_load_n(&p->word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(&p->word, 0, __ATOMIC_RELEASE);
}

static void release_futex(struct party *p)
{
	uint32_t *word = &other(p)->word;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static const struct channel {
	const char *name;
	bool threads;
	void (*make)(void);
	void (*wait)(struct party *);
	void (*release)(struct party *);
} channels[] = {
	{ "pipe", false, make_pipe, wait_read, release_write },
	{ "pipe-poll", false, make_pipe, wait_poll, release_write },
	{ "unix", false, make_unix, wait_recv, release_write },
	{ "unix-epoll", false, make_unix, wait_epoll, release_write },
	{ "eventfd", false, make_eventfd, wait_read, release_write },
	{ "tty", false, make_tty, wait_read, release_write },
	{ "tcp", false, make_tcp, wait_recv, release_write },
	{ "tcp6", false, make_tcp6, wait_recv, release_write },
	{ "tcp-poll", false, make_tcp, wait_poll, release_write },
	{ "tcp-epoll", false, make_tcp, wait_epoll, release_write },
	{ "udp", false, make_udp, wait_recv, release_write },
	{ "semaphore", true, make_locks, wait_semaphore, release_semaphore },
	{ "cond", true, make_locks, wait_cond, release_cond },
	{ "futex", true, make_locks, wait_futex, release_futex },
};

static const struct channel *channel;

/* The stack of a waiting thread must contain this function, so it is not inlined. */
__attribute__((noinline)) static void wait_for_other(struct party *p)
{
	channel->wait(p);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) static void release_other(struct party *p)
{
	channel->release(p);
	__asm__ volatile("");
}

static void measured(struct track *t, void (*action)(struct party *), struct party *p)
{
	call_begin(t);
	action(p);
	call_end(t);
}

static void take_rest(struct party *p)
{
	sleep_until(now() + rest);
}

/* The first party starts with its rest, the second with its wait. */
static void *take_part(void *arg)
{
	struct party *p = arg;
	bool first = p == parties;
	struct track *waits = track_new(first ? "wait.0" : "wait.1");
	struct track *rests = track_new(first ? "rest.0" : "rest.1");
	struct track *releases = track_new(first ? "release.0" : "release.1");

	for (unsigned long i = 0; i < count; i++) {
		if (!first)
			measured(waits, wait_for_other, p);
		measured(rests, take_rest, p);
		measured(releases, release_other, p);
		if (first)
			measured(waits, wait_for_other, p);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t second;

	must(-pthread_create(&second, NULL, take_part, &parties[1]), "pthread_create");
	take_part(&parties[0]);
	pthread_join(second, NULL);
}

static void run_processes(void)
{
	pid_t second = (pid_t)must(fork(), "fork");

	if (!second) {
		take_part(&parties[1]);
		_exit(0);
	}
	take_part(&parties[0]);
	waitpid(second, NULL, 0);
}

int main(int argc, char **argv)
{
	truth_init("handoff");
	count = number_arg(argc, argv, 2, 53);
	rest = number_arg(argc, argv, 3, 5) * MSEC;
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++)
		if (argc > 1 && strcmp(channels[i].name, argv[1]) == 0)
			channel = &channels[i];
	if (!channel) {
		fputs("handoff: no such channel\n", stderr);
		return 1;
	}
	channel->make();
	truth_gate();
	if (channel->threads)
		run_threads();
	else
		run_processes();
	truth_print();
	return 0;
}
