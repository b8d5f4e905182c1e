/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - initialise the agent on first use.
 *
 * Before its first use, the agent has done nothing: no memory, no file, no name.  A
 * forked child is in that state again, except that it shares the arena of its family.
 * The kernel clears the page of `agent_process` in every child (MADV_WIPEONFORK), even if
 * the fork bypasses pthread_atfork() handlers; on a kernel without that feature, such a
 * handler clears it.
 *
 * Several threads can be first at once.  None waits for another, which may not get a
 * CPU: all of them initialise, with steps that can safely be repeated.  Only
 * publishing the process context is left to one thread.
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

enum { KEYS_PREALLOCATED = 32 }; /* for higher keys, glibc's pthread_setspecific() allocates */

__thread struct agent_thread agent_thread;
struct agent_process agent_process __attribute__((aligned(AGENT_PAGE)));
char agent_service[SPAN_SERVICE_MAX];

SONDE_AGENT_API extern __thread const struct context_record *otel_thread_ctx_v1;
__thread const struct context_record *otel_thread_ctx_v1;

static uint32_t generations; /* number of forks from the first process to this one */
static bool is_installed;
static pthread_key_t exit_key;
static bool has_exit_key;

static void clear_process(void)
{
	memset(&agent_process, 0, sizeof(agent_process));
}

/* Called again if the destructor of another key acquires a ring. */
static void thread_exits(void *thread)
{
	ring_release(thread);
}

__attribute__((destructor)) static void process_exits(void)
{
	ring_release(&agent_thread);
}

/* Once per family. */
static void install_handlers(void)
{
	if (__atomic_exchange_n(&is_installed, true, __ATOMIC_RELAXED))
		return;
	if (madvise(&agent_process, sizeof(agent_process), MADV_WIPEONFORK) < 0)
		pthread_atfork(NULL, NULL, clear_process);
	if (!pthread_key_create(&exit_key, thread_exits)) {
		has_exit_key = exit_key < KEYS_PREALLOCATED;
		if (!has_exit_key)
			pthread_key_delete(exit_key);
	}
}

void thread_release_ring_at_exit(struct agent_thread *t)
{
	if (has_exit_key)
		pthread_setspecific(exit_key, t);
}

/* The inode of our pid namespace, in which the pid and tids of this process are valid. */
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

/* The same rules as in the SDKs. */
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

	install_handlers();
	agent_process.pid = (uint32_t)getpid();
	agent_process.pid_ns = pid_namespace();
	if (!agent_service[0])
		service_from_environment();
	if (!agent_arena)
		arena_create();
	if (__atomic_compare_exchange_n(&agent_process.epoch, &none, epoch, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		generations = epoch_generation(epoch);
	if (is_first)
		process_context_publish();
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
		process_context_publish();
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
