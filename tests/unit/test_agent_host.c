/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile environments: no descriptors, no memory files, all memory locked, forbidden system
 * calls, constant signals, a socket of the recorder's name that no one reads.  Each test is a
 * child process in which the agent has not been used before.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "agent/sonde.h"
#include "agent_read.h"
#include "event/span_socket.h"

static const uint8_t trace_a[16] = { 1 }, span_a[8] = { 2 };

/* Call everything; the context must be right, whatever fails. */
static void use_all(void)
{
	struct sonde_span outer, inner;
	char text[SONDE_TRACEPARENT_SIZE];

	errno = 0;
	for (int i = 0; i < 3; i++) {
		sonde_agent_set_context(trace_a, span_a, 1);
		CHECK(otel_thread_ctx_v1 && !memcmp(otel_thread_ctx_v1->span, span_a, 8));
		SONDE_BEGIN(&outer, "outer");
		SONDE_BEGIN(&inner, "inner");
		CHECK(!memcmp(inner.parent, outer.id, 8) && !memcmp(inner.trace, trace_a, 16));
		sonde_set_string(&inner, "key", "value");
		CHECK_INT(strlen(sonde_traceparent(&inner, text)), 55);
		sonde_end(&inner);
		sonde_end(&outer);
		CHECK(otel_thread_ctx_v1 && !memcmp(otel_thread_ctx_v1->span, span_a, 8));
		sonde_agent_set_service("host");
		sonde_agent_is_recording();
		sonde_agent_clear_context();
		CHECK(!otel_thread_ctx_v1);
	}
	CHECK_INT(errno, 0);
}

static int count_maps(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return count;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void kind_host(void)
{
	int before = count_descriptors();

	use_all();
	CHECK_INT(count_descriptors(), before);
	CHECK_INT(count_maps("/memfd:sonde-agent"), 2); /* accessible rings, and the others */
	CHECK_INT(count_maps("/memfd:OTEL_CTX"), 1);
}

TEST(a_normal_host_has_two_memory_files_mapped)
{
	CHECK(in_child(kind_host));
}

static void no_descriptors(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_NOFILE, &none);
	use_all();
	CHECK(agent_arena != NULL); /* anonymous memory of the family */
	recorder_attach();
	use_all();
}

TEST(a_host_without_free_descriptors_gets_no_recording)
{
	CHECK(in_child(no_descriptors));
}

static void closed_descriptors(void)
{
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	close(0);
	use_all();
	recorder_attach();
	use_all();
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	use_all();
	CHECK(ring_of((uint32_t)gettid()) != NULL);
}

TEST(a_host_may_close_all_unknown_descriptors)
{
	CHECK(in_child(closed_descriptors));
}

/* Mapped address space in bytes; large under AddressSanitizer. */
static rlim_t mapped_size(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	CHECK(statm && fscanf(statm, "%lu", &pages) == 1);
	if (statm)
		fclose(statm);
	return pages * (rlim_t)getpagesize();
}

static void little_memory(void)
{
	rlim_t most = mapped_size() + (1 << 20); /* smaller than an arena */
	struct rlimit little = { most, most };

	CHECK_INT(setrlimit(RLIMIT_AS, &little), 0);
	use_all();
	CHECK(!agent_arena);
}

TEST(a_host_without_address_space_for_the_arena_gets_no_recording)
{
	CHECK(in_child(little_memory));
}

enum { MANY = 40 }; /* more threads than rings */

static void *take_ring(void *barrier)
{
	sonde_agent_set_context(trace_a, span_a, 1);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void use_many_rings(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[MANY];

	recorder_attach();
	pthread_barrier_init(&barrier, NULL, MANY + 1);
	for (int i = 0; i < MANY; i++)
		pthread_create(&threads[i], NULL, take_ring, &barrier);
	pthread_barrier_wait(&barrier);
	CHECK_INT(agent_arena->lost_without_ring, 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
}

static long shared_kb(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	long kb = -1;

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "RssShmem: %ld", &kb);
	fclose(status);
	return kb;
}

static void lock_then_use(void)
{
	CHECK_INT(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	use_all();
	use_many_rings();
	CHECK(shared_kb() >= 0 && shared_kb() < 1024);
}

static void use_then_lock(void)
{
	recorder_attach();
	use_all();
	CHECK_INT(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	CHECK(shared_kb() >= 0 && shared_kb() < 4096);
	use_many_rings();
	CHECK(shared_kb() < 4096);
	CHECK(in_child(use_many_rings));
}

/* All memory; other code may have locked some. */
static bool may_lock_memory(void)
{
	struct rlimit room;

	return getrlimit(RLIMIT_MEMLOCK, &room) == 0 &&
	       (geteuid() == 0 || room.rlim_cur == RLIM_INFINITY) && mlockall(MCL_FUTURE) == 0 &&
	       munlockall() == 0;
}

TEST(a_host_that_locks_its_memory_pays_for_used_rings_only)
{
	if (!may_lock_memory())
		SKIP("memory must not be locked here");
	CHECK(in_child(lock_then_use));
	CHECK(in_child(use_then_lock));
}

/* Make these system calls fail as on a kernel without them. */
static void forbid(const int *calls, size_t count)
{
	struct sock_filter code[32] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)) };
	size_t n = 1;

	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)calls[i], 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = (unsigned short)n, .filter = code };
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void forbidden_calls(void)
{
	static const int calls[] = { SYS_memfd_create, SYS_ftruncate, SYS_madvise, SYS_getrandom,
				     SYS_socket,       SYS_readlink,  SYS_tgkill };

	forbid(calls, sizeof(calls) / sizeof(calls[0]));
	use_all();
	recorder_attach();
	use_all();
	CHECK(ring_of((uint32_t)gettid()) != NULL);
}

TEST(a_host_that_forbids_system_calls_keeps_its_contexts)
{
	CHECK(in_child(forbidden_calls));
}

static void child_of_forbidden(void)
{
	struct span_ring *parents = ring_of((uint32_t)getppid());
	uint64_t head = parents->head;

	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK(parents->head == head && ring_of((uint32_t)gettid()) != NULL);
}

static void fork_without_wiping(void)
{
	static const int calls[] = { SYS_madvise };

	forbid(calls, 1);
	sonde_agent_set_context(trace_a, span_a, 1);
	recorder_attach();
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK(in_child(child_of_forbidden));
}

TEST(a_fork_is_detected_without_wipe_on_fork)
{
	CHECK(in_child(fork_without_wiping));
}

static volatile long handled;

static void handler(int number)
{
	sonde_agent_set_context(trace_a, trace_a, 1);
	sonde_agent_set_context(trace_a, span_a, 1); /* unchanged, as far as the handler can know */
	handled++;
}

static bool is_whole(const struct context_record *record)
{
	return record && record->valid && !memcmp(record->trace, trace_a, 16) &&
	       (!memcmp(record->span, span_a, 8) || !memcmp(record->span, trace_a, 8));
}

static void many_signals(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 50 }, { 0, 50 } };

	sigaction(SIGALRM, &action, NULL);
	sonde_agent_set_context(trace_a, span_a, 1);
	recorder_attach();
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; handled < 200 && i < 20000000; i++) {
		sonde_agent_set_context(trace_a, span_a, 1);
		own_ring_empty();
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	CHECK(handled > 0);
	CHECK(is_whole(otel_thread_ctx_v1));
	sonde_agent_set_context(trace_a, span_a, 1);

	struct span_ring *ring = own_ring_empty();
	sonde_agent_set_context(trace_a, span_a, 1);
	const struct span_event_context *event = ring_next(ring);
	CHECK(event && event->head.kind == SPAN_EVENT_CONTEXT && !memcmp(event->span, span_a, 8));
	CHECK(!agent_thread.busy);
}

TEST(signal_handlers_do_not_tear_a_context)
{
	CHECK(in_child(many_signals));
}

static int listen_as_recorder(void)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_name(SPAN_SOCKETS - 1, &address);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (bind(s, (struct sockaddr *)&address, size) < 0 || listen(s, 1) < 0) {
		close(s);
		return -1;
	}
	return s;
}

/* The file that a process registered, or -1. */
static int receive_file(int listener)
{
	int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC), fd = -1;
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(s, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	close(s);
	return fd;
}

TEST(the_arena_is_registered_with_a_running_recorder)
{
	int listener = listen_as_recorder();

	if (listener < 0)
		SKIP("there is a recorder");
	CHECK(in_child(use_all));
	int fd = receive_file(listener);
	struct span_arena *arena = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(arena != MAP_FAILED && !memcmp(arena->magic, SPAN_ARENA_MAGIC, 8));
	CHECK_INT(ftruncate(fd, 4096), -1); /* sealed */
	CHECK_INT(lseek(fd, 0, SEEK_END), sizeof(struct span_arena));
	munmap(arena, 4096);
	for (int i = 0; i < 20; i++) /* no one accepts connections, and the agent does not wait */
		CHECK(in_child(use_all));
	close(fd);
	close(listener);
}

static void without_stdin(void)
{
	close(STDIN_FILENO);
	use_all();
}

TEST(the_arena_can_have_any_descriptor_number)
{
	int listener = listen_as_recorder();

	if (listener < 0)
		SKIP("there is a recorder");
	CHECK(in_child(without_stdin));
	int fd = receive_file(listener);
	CHECK(fd >= 0);
	close(fd);
	close(listener);
}

static void *be_first(void *barrier)
{
	struct sonde_span span;

	pthread_barrier_wait(barrier);
	SONDE_BEGIN(&span, "first");
	sonde_end(&span);
	return NULL;
}

enum { FIRST = 8 };

static void all_first(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[FIRST];
	int events = 0;

	pthread_barrier_init(&barrier, NULL, FIRST);
	for (int i = 0; i < FIRST; i++)
		pthread_create(&threads[i], NULL, be_first, &barrier);
	for (int i = 0; i < FIRST; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SPAN_RINGS; i++)
		while (ring_next(&whole_arena()->rings[i]))
			events++;
	CHECK_INT(events, 4 * FIRST);
	CHECK_INT(count_maps("/memfd:sonde-agent"), 1);
	CHECK_INT(count_maps("/memfd:OTEL_CTX"), 1);
}

TEST(threads_that_are_first_at_once_lose_no_span)
{
	int listener = listen_as_recorder();

	if (listener < 0)
		SKIP("there is a recorder");
	for (int i = 0; i < 20; i++) {
		CHECK(in_child(all_first));
		close(receive_file(listener));
	}
	close(listener);
}

static void stranger_listens(void)
{
	if (setresuid(4711, 4711, 0) < 0)
		return;
	int listener = listen_as_recorder();

	if (listener < 0)
		return;
	seteuid(0);
	CHECK(in_child(use_all));
	CHECK_INT(receive_file(listener), -1);
	close(listener);
}

TEST(a_listener_of_another_user_gets_no_arena)
{
	if (getuid() != 0)
		SKIP("it takes root to be another");
	CHECK(in_child(stranger_listens));
}
