/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_read - the recorder's side of an arena, for tests with the agent in their own
 * process.
 */
#ifndef SONDE_TESTS_AGENT_READ_H
#define SONDE_TESTS_AGENT_READ_H

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/internal.h"
#include "test.h"

/* A running recorder would get our arena: leave its network, and hide the directory of its socket.
 */
__attribute__((constructor)) static void hide_from_recorders(void)
{
	bool is_alone = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;

	is_alone = is_alone && unshare(CLONE_NEWNS) == 0 &&
		   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		   mount("run", "/run", "tmpfs", 0, NULL) == 0;
	if (!is_alone)
		printf("# a running recorder can disturb this test\n");
}

/*
 * Attach a recorder; initialises the agent if necessary.  The heartbeat is in the future, so that a
 * test that waits for a CPU for seconds does not find its recorder dead.
 */
static inline void recorder_attach(void)
{
	sonde_agent_is_recording();
	agent_arena->heartbeat = clock_now() + 1000 * SPAN_HEARTBEAT_MAX;
	agent_arena->recording = 1;
}

static inline void recorder_detach(void)
{
	agent_arena->recording = 0;
}

/* The next event of a ring, or NULL.  Valid until the thread writes more. */
static inline const void *ring_next(struct span_ring *ring)
{
	const struct span_event *event = (void *)(ring->data + ring->tail % SPAN_RING_SIZE);

	if (ring->tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE))
		return NULL;
	ring->tail += event->size;
	return event;
}

/* Make the whole arena accessible, as it is for the recorder. */
static inline struct span_arena *whole_arena(void)
{
	CHECK_INT(mprotect(agent_arena, sizeof(*agent_arena), PROT_READ | PROT_WRITE), 0);
	return agent_arena;
}

/* The ring of a thread; NULL if it has none. */
static inline struct span_ring *ring_of(uint32_t tid)
{
	whole_arena();
	for (int i = 0; i < SPAN_RINGS; i++)
		if (agent_arena->taken[i / 64] & 1ull << (i % 64) &&
		    agent_arena->rings[i].tid == tid &&
		    (agent_arena->rings[i].state & SPAN_RING_STATE) == SPAN_RING_TAKEN)
			return &agent_arena->rings[i];
	return NULL;
}

static inline int rings_taken(void)
{
	int count = 0;

	whole_arena();
	for (int i = 0; i < SPAN_RINGS; i++)
		count += (agent_arena->rings[i].state & SPAN_RING_STATE) != SPAN_RING_FREE;
	return count;
}

/* Discard all events in the ring of the calling thread. */
static inline struct span_ring *own_ring_empty(void)
{
	struct span_ring *ring = ring_of((uint32_t)gettid());

	if (ring)
		ring->tail = ring->head;
	return ring;
}

/* Run a function in a child process; whether it succeeded. */
static inline bool in_child(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		fflush(stdout);
		_exit(test_failures);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

extern __thread const struct context_record *otel_thread_ctx_v1;

#endif
