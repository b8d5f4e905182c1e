/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile MODE - a process that abuses the agent's protocol until it is killed.
 *
 *	shrink     registers arenas that it truncates while the recorder checks them
 *	names      spans whose names collide in a hash table with a known hash
 *	backwards  events whose times go backwards
 *	flood      all rings full, all the time
 *	claims     false loss counts
 *	arenas     registers one arena after the other
 *	occupy     occupies the abstract names at which recorders listen
 *	connect    connects to the recorder's sockets as fast as it can
 *	swarm      many processes, each with an arena, which it registers again and again
 *
 * Prints a line when it has started.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "event/event.h"
#include "event/span_socket.h"
#include "event/span_wire.h"

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int make_file(void)
{
	int fd = memfd_create(SPAN_ARENA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, sizeof(struct span_arena)) < 0)
		abort();
	return fd;
}

static struct span_arena *map_arena(int fd)
{
	struct span_arena *arena =
		mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (arena == MAP_FAILED)
		abort();
	memcpy(arena->magic, SPAN_ARENA_MAGIC, sizeof(arena->magic));
	arena->version = SPAN_ARENA_VERSION;
	return arena;
}

static void seal(int fd)
{
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
}

/* Connect to the n-th socket in the directory or abstract namespace; returns -1 on failure. */
static int connect_to(int number, bool is_abstract)
{
	struct sockaddr_un address;
	char directory[64];
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	span_socket_directory(0, directory);

	socklen_t size = is_abstract ? span_socket_name(number, &address)
				     : span_socket_path(directory, number, &address);

	if (s >= 0 && connect(s, (struct sockaddr *)&address, size) == 0)
		return s;
	if (s >= 0)
		close(s);
	return -1;
}

static void send_file(int s, int fd)
{
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	sendmsg(s, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void offer(int fd)
{
	for (int i = 0; i < 2 * SPAN_SOCKETS; i++) {
		int s = connect_to(i / 2, i % 2);

		if (s >= 0) {
			send_file(s, fd);
			close(s);
		}
	}
}

static void begun(void)
{
	puts("begun");
	fflush(stdout);
}

static int shrinking = -1;

static void *shrink_it(void *arg)
{
	for (unsigned int i = 0;; i++) {
		int fd = __atomic_exchange_n(&shrinking, -1, __ATOMIC_ACQUIRE);

		if (fd < 0)
			continue;
		for (volatile unsigned int k = 0; k < i * 97 % 40000; k++)
			; /* at a different time in each round */
		if (ftruncate(fd, 0) == 0)
			seal(fd);
		close(fd);
	}
	return arg;
}

static void shrink(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, shrink_it, NULL);
	begun();
	for (;;) {
		int fd = make_file(), mine = dup(fd);

		__atomic_store_n(&shrinking, mine, __ATOMIC_RELEASE);
		offer(fd);
		close(fd);
		while (__atomic_load_n(&shrinking, __ATOMIC_ACQUIRE) >= 0)
			;
		usleep(300);
	}
}

static struct span_arena *register_arena(size_t rings)
{
	int fd = make_file();
	struct span_arena *arena = map_arena(fd);

	seal(fd);
	for (size_t i = 0; i < rings; i++) {
		arena->rings[i].pid = getpid();
		arena->rings[i].tid = getpid();
		arena->rings[i].state = SPAN_RING_TAKEN;
		arena->taken[i / 64] |= 1ull << (i % 64);
	}
	offer(fd);
	close(fd);
	return arena;
}

static void put(struct span_ring *ring, const struct span_event *event)
{
	while (ring->head + event->size - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >
	       SPAN_RING_SIZE)
		usleep(200);
	memcpy(ring->data + ring->head % SPAN_RING_SIZE, event, event->size);
	__atomic_store_n(&ring->head, ring->head + event->size, __ATOMIC_RELEASE);
}

/* The modular inverse of an odd number. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

static void names(void)
{
	struct span_arena *arena = register_arena(1);
	_Alignas(8) char room[sizeof(struct span_event_end) + 8] = { 0 };
	struct span_event_end *end = (void *)room;

	begun();
	for (uint64_t i = 1;; i++) {
		uint64_t word = (i << 32 | i) * inverse(0x9e3779b97f4a7c15) ^ 8;

		if (memchr(&word, 0, sizeof(word)))
			continue;
		end->head = (struct span_event){ now(), sizeof(room), SPAN_EVENT_END, 0, 0 };
		memcpy(end->span, &i, sizeof(i));
		end->start = end->head.time - 1;
		end->name_size = sizeof(word);
		memcpy(end->text, &word, sizeof(word));
		put(&arena->rings[0], &end->head);
	}
}

static void backwards(void)
{
	struct span_arena *arena = register_arena(1);
	struct span_event_context context = { 0 };
	uint64_t time = now();

	begun();
	for (uint64_t i = 0;; i++) {
		if (i % 100000 == 0)
			time = now();
		context.head = (struct span_event){ time - i % 100000 * 400, sizeof(context),
						    SPAN_EVENT_CONTEXT, 0, 0 };
		memcpy(context.span, &i, sizeof(i));
		put(&arena->rings[0], &context.head);
	}
}

/* The events are written once; then only the heads advance. */
static void flood(void)
{
	struct span_arena *arena = register_arena(SPAN_RINGS);

	for (size_t i = 0; i < SPAN_RINGS; i++)
		for (size_t at = 0; at < SPAN_RING_SIZE; at += 64) {
			struct span_event_context *c = (void *)(arena->rings[i].data + at);

			c->head = (struct span_event){ now(), 64, SPAN_EVENT_CONTEXT, 0, 0 };
			memcpy(c->span, &at, sizeof(at));
		}
	begun();
	for (;;) {
		uint64_t time = now();

		for (size_t i = 0; i < SPAN_RINGS; i++) {
			struct span_ring *ring = &arena->rings[i];

			for (size_t at = 0; at < SPAN_RING_SIZE; at += 64)
				((struct span_event *)(ring->data + at))->time = time;
			__atomic_store_n(&ring->head, ring->tail + SPAN_RING_SIZE,
					 __ATOMIC_RELEASE);
		}
	}
}

static void claims(void)
{
	struct span_arena *arena = register_arena(64);
	struct span_event_context context = { 0 };

	begun();
	for (;;) {
		for (size_t i = 0; i < 64; i++) {
			struct span_ring *ring = &arena->rings[i];

			context.head = (struct span_event){ now(), sizeof(context),
							    SPAN_EVENT_CONTEXT, 0, 0 };
			put(ring, &context.head);
			ring->lost_first = 1;
			ring->lost_last = now();
			__atomic_store_n(&ring->lost, ring->lost_reported + (1ull << 62),
					 __ATOMIC_RELEASE);
		}
		__atomic_store_n(&arena->lost_without_ring, UINT64_MAX, __ATOMIC_RELAXED);
		usleep(500);
	}
}

static void arenas(void)
{
	begun();
	for (;;) {
		struct span_arena *arena = register_arena(1);

		usleep(200);
		munmap(arena, sizeof(*arena));
	}
}

static void occupy(void)
{
	for (int i = 0; i < SPAN_SOCKETS; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);
		int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (s < 0 || bind(s, (struct sockaddr *)&address, size) < 0 || listen(s, 1) < 0)
			perror("occupy");
	}
	begun();
	pause();
}

static void connect_forever(void)
{
	begun();
	for (;;)
		for (int i = 0; i < 2 * SPAN_SOCKETS; i++) {
			int s = connect_to(i / 2, i % 2);

			if (s >= 0)
				close(s);
		}
}

static void swarm(void)
{
	enum { PROCESSES = 400 };

	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			int fd = make_file();

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			seal(fd);
			map_arena(fd);
			for (;; sleep(1))
				offer(fd);
		}
	begun();
	pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} modes[] = { { "shrink", shrink },       { "names", names },
		      { "backwards", backwards }, { "flood", flood },
		      { "claims", claims },       { "arenas", arenas },
		      { "occupy", occupy },       { "connect", connect_forever },
		      { "swarm", swarm } };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc == 2 && strcmp(argv[1], modes[i].name) == 0)
			modes[i].act();
	return 2;
}
