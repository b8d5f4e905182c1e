/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain - parties that wait for each other in a chain; the last one does work.
 *
 *	chain OPERATION DIRECTORY [COUNT [MILLISECONDS [LINK]...]]
 *
 * Party A waits for B by the first LINK, B for C by the second, and so on.  With
 * a mutex, the next party is another thread of the process; with a shared mutex,
 * a TCP or unix socket or a pipe, it is another process.  The last party performs
 * the operation OPERATION: it sleeps, computes, competes with the process PID for its
 * CPU (compete=PID), reads from a disk (direct) or flushes to it (fsync).
 *
 * In each round, each party waits until the previous one is blocked, rests for 3 ms,
 * waits for the next party or does its work, and releases the previous party.  So
 * each wait lies within the wait of the previous party, and its parts are known.
 * Each part is a track, named after the party: B.rest, B.wait or B.operation, B.release.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

#define PARTY_MAX 6
#define COUNT_MAX 512
#define PIECE (32u << 20) /* part of a file, bytes */
#define REST (3 * MSEC)

struct link;

/* A way to wait for another party. */
struct kind {
	const char *name;
	bool forks; /* whether the next party is another process */
	void (*make)(struct link *);
	void (*take)(struct link *); /* next party: start of a round */
	void (*ask)(struct link *);  /* previous party: before its wait */
	void (*wait)(struct link *); /* previous party: blocks until its release */
	void (*leave)(struct link *);
	void (*serve)(struct link *); /* next party: accept the call */
	void (*release)(struct link *);
};

struct party {
	pid_t pid, tid;
	_Atomic unsigned long waits; /* number of the round of the next wait */
};

/* Between two parties: the previous one waits, the next one holds the lock or serves. */
struct link {
	const struct kind *kind;
	pthread_mutex_t mutex;
	struct {
		int in, out;
	} before, next;
};

/* Shared by all processes. */
struct shared {
	struct party parties[PARTY_MAX];
	struct link links[PARTY_MAX - 1];
	pthread_barrier_t barrier;
	int64_t rival[COUNT_MAX]; /* its CPU time during each operation, ns */
};

static struct shared *shared;
static unsigned long link_count, count, span;
static const struct operation *operation;
static clockid_t rival;
static pid_t rival_pid;
static int file = -1;
static char *buffer;

/* Links that are locks. */

static void make_mutex(struct link *link)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (link->kind->forks)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&link->mutex, &attr);
}

static void lock_mutex(struct link *link)
{
	pthread_mutex_lock(&link->mutex);
	__asm__ volatile(""); /* no tail call: the unwinder needs this frame */
}

static void unlock_mutex(struct link *link)
{
	pthread_mutex_unlock(&link->mutex);
	__asm__ volatile("");
}

static void nothing(struct link *link)
{
}

/* Links with a request and a reply of eight bytes each. */

static void make_pipes(struct link *link)
{
	int there[2], back[2];

	must(pipe(there), "pipe");
	must(pipe(back), "pipe");
	link->before.in = back[0];
	link->before.out = there[1];
	link->next.in = there[0];
	link->next.out = back[1];
}

static void make_unix(struct link *link)
{
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	link->before.in = link->before.out = ends[0];
	link->next.in = link->next.out = ends[1];
}

static void make_tcp(struct link *link)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	char name[16];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(listener, (struct sockaddr *)&at, size), "bind");
	must(listen(listener, 1), "listen");
	must(getsockname(listener, (struct sockaddr *)&at, &size), "getsockname");
	link->before.in = link->before.out = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(connect(link->before.in, (struct sockaddr *)&at, size), "connect");
	link->next.in = link->next.out = (int)must(accept(listener, NULL, NULL), "accept");
	close(listener);
	snprintf(name, sizeof(name), "%c.port", 'B' + (int)(link - shared->links));
	truth_add(name, "%d", ntohs(at.sin_port));
}

static void put(int fd)
{
	uint64_t value = 1;

	must(write(fd, &value, sizeof(value)), "write");
}

static void get(int fd)
{
	uint64_t value;

	must(read(fd, &value, sizeof(value)), "read");
}

static void ask(struct link *link)
{
	put(link->before.out);
}

static void get_answer(struct link *link)
{
	get(link->before.in);
}

static void get_request(struct link *link)
{
	get(link->next.in);
}

static void answer(struct link *link)
{
	put(link->next.out);
}

static const struct kind kinds[] = {
	{ "mutex", false, make_mutex, lock_mutex, nothing, lock_mutex, unlock_mutex, nothing,
	  unlock_mutex },
	{ "shared", true, make_mutex, lock_mutex, nothing, lock_mutex, unlock_mutex, nothing,
	  unlock_mutex },
	{ "tcp", true, make_tcp, nothing, ask, get_answer, nothing, get_request, answer },
	{ "unix", true, make_unix, nothing, ask, get_answer, nothing, get_request, answer },
	{ "pipe", true, make_pipes, nothing, ask, get_answer, nothing, get_request, answer },
};

/* Operations. */

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void do_sleep(void)
{
	sleep_until(now() + span);
}

static void do_compute(void)
{
	uint64_t begin = clock_of(CLOCK_THREAD_CPUTIME_ID);

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) - begin < span)
		;
}

static void do_direct(void)
{
	must(pread(file, buffer, PIECE, 0), "read");
}

static void do_fsync(void)
{
	must(fsync(file), "fsync");
}

static void prepare_fsync(void)
{
	must(pwrite(file, buffer, PIECE, 0), "write");
}

static const struct operation {
	const char *name;
	int flags; /* to open its file with, if it has one */
	void (*prepare)(void);
	void (*act)(void);
} operations[] = {
	{ "sleep", 0, NULL, do_sleep },
	{ "compute", 0, NULL, do_compute },
	{ "compete", 0, NULL, do_compute },
	{ "direct", O_RDWR | O_DIRECT, NULL, do_direct },
	{ "fsync", O_RDWR, prepare_fsync, do_fsync },
};

/* Functions that stacks must contain, so they are not inlined. */

__attribute__((noinline)) static void wait_for_next(struct link *link)
{
	link->kind->wait(link);
	__asm__ volatile("");
}

__attribute__((noinline)) static void release_before(struct link *link)
{
	link->kind->release(link);
	__asm__ volatile("");
}

__attribute__((noinline)) static void do_operation(void)
{
	operation->act();
	__asm__ volatile("");
}

/* Parties. */

static bool is_blocked(const struct party *p)
{
	char name[64], line[256] = "";
	const char *end;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", p->pid, p->tid);

	int fd = (int)must(open(name, O_RDONLY), name);

	must(read(fd, line, sizeof(line) - 1), name);
	close(fd);
	end = strrchr(line, ')');
	return end && (end[2] == 'S' || end[2] == 'D');
}

static void see_blocked(const struct party *p, unsigned long round)
{
	while (atomic_load(&p->waits) != round || !is_blocked(p))
		sleep_until(now() + MSEC / 5);
}

struct tracks {
	struct track *rest, *core, *release;
};

static struct track *track_of(unsigned long number, const char *what)
{
	char role[24];

	snprintf(role, sizeof(role), "%c.%s", 'A' + (int)number, what);
	return track_new(role);
}

static void act(struct track *t, unsigned long round)
{
	if (operation->prepare)
		operation->prepare();

	uint64_t before = clock_of(rival);

	call_begin(t);
	do_operation();
	call_end(t);
	shared->rival[round - 1] = (int64_t)(clock_of(rival) - before);
}

static void play(unsigned long number, const struct tracks *t, unsigned long round)
{
	struct party *me = &shared->parties[number];
	struct link *before = number > 0 ? &shared->links[number - 1] : NULL;
	struct link *next = number < link_count ? &shared->links[number] : NULL;

	if (before)
		before->kind->take(before);
	pthread_barrier_wait(&shared->barrier);
	if (before) {
		before->kind->serve(before);
		see_blocked(me - 1, round);
		call_begin(t->rest);
		sleep_until(now() + REST);
		call_end(t->rest);
	}
	if (next) {
		next->kind->ask(next);
		atomic_store(&me->waits, round);
		call_begin(t->core);
		wait_for_next(next);
		call_end(t->core);
		next->kind->leave(next);
	} else {
		act(t->core, round);
	}
	if (before) {
		call_begin(t->release);
		release_before(before);
		call_end(t->release);
	}
	pthread_barrier_wait(&shared->barrier);
}

/* Move to the CPU of the rival. */
static void meet_rival(void)
{
	cpu_set_t cpus;

	if (!rival_pid)
		return;
	must(sched_getaffinity(rival_pid, sizeof(cpus), &cpus), "affinity of the rival");
	must(sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
}

static void *take_part(void *arg);

/* Returns what finish_next() needs. */
static long start_next(unsigned long number)
{
	pthread_t thread;
	pid_t child;

	if (!shared->links[number - 1].kind->forks) {
		must(-pthread_create(&thread, NULL, take_part, (void *)number), "pthread_create");
		return (long)thread;
	}
	child = (pid_t)must(fork(), "fork");
	if (child)
		return child;
	take_part((void *)number);
	_exit(0);
}

static void finish_next(unsigned long number, long which)
{
	if (shared->links[number - 1].kind->forks)
		waitpid((pid_t)which, NULL, 0);
	else
		pthread_join((pthread_t)which, NULL);
}

static void *take_part(void *arg)
{
	unsigned long number = (unsigned long)arg;
	bool last = number == link_count;
	char name[16];

	snprintf(name, sizeof(name), "party %c", 'A' + (int)number);
	prctl(PR_SET_NAME, name);
	shared->parties[number].pid = getpid();
	shared->parties[number].tid = gettid();

	struct tracks t = {
		.rest = number ? track_of(number, "rest") : NULL,
		.core = track_of(number, last ? "operation" : "wait"),
		.release = number ? track_of(number, "release") : NULL,
	};
	long next = last ? 0 : start_next(number + 1);

	if (last)
		meet_rival();
	for (unsigned long round = 1; round <= count; round++)
		play(number, &t, round);
	if (!last)
		finish_next(number + 1, next);
	return NULL;
}

static void refuse(const char *word)
{
	fprintf(stderr, "chain: OPERATION DIRECTORY [COUNT [MILLISECONDS [LINK]...]], not %s\n",
		word);
	_exit(1);
}

static void make_links(int argc, char **argv)
{
	for (int i = 5; i < argc && link_count < PARTY_MAX - 1; i++) {
		struct link *link = &shared->links[link_count++];

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (strcmp(kinds[k].name, argv[i]) == 0)
				link->kind = &kinds[k];
		if (!link->kind)
			refuse(argv[i]);
		link->kind->make(link);
	}
}

static void make_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		must(-1, "mmap");
}

/* The start and end of each round. */
static void make_barrier(void)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, (unsigned)link_count + 1);
}

/* Create the file of the operation, with its blocks on disk. */
static void make_file(const char *directory, char path[PATH_MAX])
{
	if (posix_memalign((void **)&buffer, 4096, PIECE) != 0)
		must(-1, "posix_memalign");
	memset(buffer, 1, PIECE);
	snprintf(path, PATH_MAX, "%s/chain.%d", directory, getpid());
	file = (int)must(open(path, operation->flags | O_CREAT | O_TRUNC, 0600), "create");
	prepare_fsync();
	do_fsync();
	truth_add("path", "\"%s\"", path);
}

static void find_operation(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strncmp(operations[i].name, word, length) == 0 && !operations[i].name[length])
			operation = &operations[i];
	if (!operation)
		refuse(word);
	rival = CLOCK_THREAD_CPUTIME_ID;
	if (!word[length])
		return;
	rival_pid = atoi(word + length + 1);
	must(-clock_getcpuclockid(rival_pid, &rival), "clock of the rival");
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];

	if (argc < 3)
		refuse("nothing");
	make_shared();
	truth_init("chain");
	find_operation(argv[1]);
	count = number_arg(argc, argv, 3, 11);
	span = number_arg(argc, argv, 4, 10) * MSEC;
	if (count > COUNT_MAX)
		refuse(argv[3]);
	make_links(argc, argv);
	make_barrier();
	if (operation->flags)
		make_file(argv[2], path);
	truth_gate();
	take_part((void *)0);
	if (rival_pid)
		truth_add_list("rival", shared->rival, count);
	if (operation->flags)
		unlink(path);
	truth_print();
	return 0;
}
