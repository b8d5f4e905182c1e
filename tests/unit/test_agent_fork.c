/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent/sonde.h"
#include "agent_read.h"

static const uint8_t trace_a[16] = { 1 }, span_a[8] = { 2 }, span_b[8] = { 3 };

/* Results of the children. */
static struct shared {
	uint8_t ids[64][8];
	uint32_t count;
} *shared;

__attribute__((constructor)) static void map_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
}

static struct span_ring *elders; /* of the thread with the copied thread-local memory */

static void child_takes_its_own(void)
{
	uint64_t head = elders->head;

	CHECK_INT((intmax_t)agent_process.epoch, 0); /* cleared by the kernel */
	CHECK(agent_thread.ring == elders);
	sonde_agent_set_context(trace_a, span_b, 1);
	CHECK_INT(elders->head - head, 0);

	struct span_ring *own = ring_of((uint32_t)gettid());
	CHECK(own && own != elders && own->pid == (uint32_t)getpid());
	const struct span_event_context *event = own ? ring_next(own) : NULL;
	CHECK(event && !memcmp(event->span, span_b, 8));
}

TEST(a_child_acquires_its_own_ring)
{
	recorder_attach();
	sonde_agent_set_context(trace_a, span_a, 1);
	elders = ring_of((uint32_t)gettid());
	CHECK(in_child(child_takes_its_own));
	CHECK(ring_of((uint32_t)gettid()) == elders);
}

/* A fork by raw system call, which runs no handlers of libc. */
TEST(a_child_of_a_raw_fork_acquires_its_own_ring)
{
	int status;
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		child_takes_its_own();
		_exit(test_failures);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void child_that_forks(void)
{
	CHECK(in_child(child_takes_its_own)); /* this child has not used the agent yet */
	sonde_agent_set_context(trace_a, span_b, 1);
	elders = ring_of((uint32_t)gettid());
	CHECK(in_child(child_takes_its_own));
}

TEST(a_grandchild_acquires_its_own_ring)
{
	sonde_agent_set_context(trace_a, span_a, 1);
	CHECK(in_child(child_that_forks));
}

static void give_id(void)
{
	struct sonde_span span;

	SONDE_BEGIN(&span, "id");
	memcpy(shared->ids[shared->count++], span.id, 8);
	sonde_end(&span);
}

TEST(every_child_generates_new_ids)
{
	give_id();
	for (int i = 0; i < 30; i++) {
		CHECK(in_child(give_id));
		give_id();
	}
	CHECK_INT(shared->count, 61);
	for (uint32_t i = 0; i < shared->count; i++)
		for (uint32_t j = 0; j < i; j++)
			CHECK(memcmp(shared->ids[i], shared->ids[j], 8) != 0);
}

static pid_t start_by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		sonde_agent_set_context(trace_a, span_b, 1);
		_exit(0);
	}
	return pid;
}

TEST(a_vfork_child_uses_the_ring_of_its_parents_thread)
{
	struct span_ring *ring = own_ring_empty();
	int status;
	pid_t pid = start_by_vfork();

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	const struct span_event_context *event = ring_next(ring);
	CHECK(event && !memcmp(event->span, span_b, 8));
}

static void child_without_a_recorder(void)
{
	recorder_detach();
	sonde_agent_set_context(trace_a, span_b, 1);
	CHECK(!ring_of((uint32_t)gettid()));
	recorder_attach();
	sonde_agent_set_context(trace_a, span_b, 1);
	CHECK(ring_of((uint32_t)gettid()) != NULL);
}

TEST(a_child_notices_that_a_recording_began)
{
	CHECK(in_child(child_without_a_recorder));
	recorder_detach();
}
