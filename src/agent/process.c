/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - a process introduces itself when it first has something to say.
 *
 * Until then nothing has been done: no memory, no file, no name.  A forked child
 * is such a process again, but that it has its family's arena.  The kernel
 * clears the page of `agent_process` in every child (MADV_WIPEONFORK), also in one
 * that no handler of pthread_atfork() hears of; where the kernel does not know
 * that, such a handler must do.
 *
 * Several threads may be first at once, and none waits for another, which may have no
 * CPU: all of them do it, each step so that it can be done twice.  Only to publish
 * is for one alone.
 */
#include "agent/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { KEYS_IN_PLACE = 32 }; /* for more, glibc's pthread_setspecific() allocates */

__thread struct agent_thread agent_thread;
struct agent_process agent_process __attribute__((aligned(AGENT_PAGE)));
char agent_service[SPAN_SERVICE_MAX];

SONDE_AGENT_API extern __thread const struct context_record *otel_thread_ctx_v1;
__thread const struct context_record *otel_thread_ctx_v1;

static uint32_t generations; /* in this family's line, up to this process */
static bool is_guarded;
static pthread_key_t leaving;
static bool has_leaving;

static void forget(void)
{
	memset(&agent_process, 0, sizeof(agent_process));
}

/* In the thread that ends. Is called again if others' handlers make it take another ring. */
static void thread_ends(void *thread)
{
	ring_leave(thread);
}

__attribute__((destructor)) static void process_ends(void)
{
	ring_leave(&agent_thread);
}

/* Once in a family. */
static void guard(void)
{
	if (__atomic_exchange_n(&is_guarded, true, __ATOMIC_RELAXED))
		return;
	if (madvise(&agent_process, sizeof(agent_process), MADV_WIPEONFORK) < 0)
		pthread_atfork(NULL, NULL, forget);
	if (!pthread_key_create(&leaving, thread_ends)) {
		has_leaving = leaving < KEYS_IN_PLACE;
		if (!has_leaving)
			pthread_key_delete(leaving);
	}
}

void thread_note_ring(struct agent_thread *t)
{
	if (has_leaving)
		pthread_setspecific(leaving, t);
}

/* Of two processes with the same numbers, only those in one namespace mean the same. */
static uint32_t pid_namespace(void)
{
	char text[64] = "";

	if (readlink("/proc/self/ns/pid", text, sizeof(text) - 1) < 0 || strncmp(text, "pid:[", 5))
		return 0;
	return (uint32_t)strtoul(text + 5, NULL, 10);
}

static void copy_service(const char *name, size_t size)
{
	size = size < sizeof(agent_service) ? size : sizeof(agent_service) - 1;
	memcpy(agent_service, name, size);
	agent_service[size] = '\0';
}

/* As the SDKs have it: the one variable, or a part of the other. */
static void service_from_environment(void)
{
	const char *name = getenv("OTEL_SERVICE_NAME");
	const char *pair = getenv("OTEL_RESOURCE_ATTRIBUTES");
	static const char key[] = "service.name=";

	if (name && *name) {
		copy_service(name, strlen(name));
		return;
	}
	for (; pair; pair = strchr(pair, ',')) {
		pair += strspn(pair, ", ");
		if (!strncmp(pair, key, sizeof(key) - 1)) {
			pair += sizeof(key) - 1;
			copy_service(pair, strcspn(pair, ","));
			return;
		}
	}
}

void agent_start(void)
{
	int saved = errno;
	bool is_first = !__atomic_exchange_n(&agent_process.starting, 1, __ATOMIC_ACQUIRE);
	uint64_t none = 0, epoch = (uint64_t)(generations + 1) << 16;

	guard();
	agent_process.pid = (uint32_t)getpid();
	agent_process.pid_ns = pid_namespace();
	if (!agent_service[0])
		service_from_environment();
	if (!agent_arena)
		arena_make();
	if (__atomic_compare_exchange_n(&agent_process.epoch, &none, epoch, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		generations = epoch_generation(epoch);
	if (is_first)
		process_publish();
	errno = saved;
}

void agent_thread_init(struct agent_thread *t)
{
	t->context = &otel_thread_ctx_v1;
}

void sonde_agent_set_service(const char *name)
{
	struct agent_thread *t = &agent_thread;

	if (!name || !agent_enter(t))
		return;
	int saved = errno;
	if (!__atomic_exchange_n(&agent_process.publishing, 1, __ATOMIC_ACQUIRE)) {
		copy_service(name, strlen(name));
		process_publish();
		__atomic_add_fetch(&agent_process.epoch, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&agent_process.publishing, 0, __ATOMIC_RELEASE);
	}
	errno = saved;
	agent_exit(t);
}

bool sonde_agent_is_recording(void)
{
	if (unlikely(!agent_process.epoch) && agent_enter(&agent_thread))
		agent_exit(&agent_thread);
	return arena_is_recording();
}
