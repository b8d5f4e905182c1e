/* SPDX-License-Identifier: Apache-2.0 */
/* Collects how threads use futexes, while waits are added to the model. */
#include "model/futex.h"

#include "event/futex.h"
#include "model/model_internal.h"

enum { HAS_WAITED = 1, HAS_WOKEN = 2 };

/* Python's threads wait for the global interpreter lock in turns of this length, ns. */
#define TURN_MIN 4800000
#define TURN_MAX 5600000

/* Signs of the Go runtime: how an idle thread waits, and how its network poller does. */
enum { PARKS = 1, POLLS = 2 };
enum { NR_EPOLL_PWAIT = 281 };

static uint64_t process_hash(const struct thread *thread)
{
	return (uint64_t)thread->host << 32 | thread->pid;
}

static uint64_t futex_key(const struct thread *thread, uint64_t address)
{
	uint64_t key[] = { process_hash(thread), address >> 3 };

	return hash_bytes(key, sizeof(key));
}

/* Stores that a thread has waited or woken; returns what it has done so far. */
static uint64_t note_use(struct model *model, uint64_t futex, thread_id thread, uint64_t use)
{
	uint64_t key[] = { futex, thread.i };

	return *map_insert(&model->futex_users, hash_bytes(key, sizeof(key))) |= use;
}

/* glibc never waits for the value 0 with FUTEX_WAIT, and seldom in epoll_pwait(). */
static void note_go(struct model *model, const struct thread *thread, const struct cause *cause)
{
	uint64_t key = process_hash(thread);

	if (cause->futex_op == (FUTEX_COMMAND_WAIT | FUTEX_PRIVATE) && !cause->futex_value)
		*map_insert(&model->go_signs, key) |= PARKS;
	if (cause->syscall == NR_EPOLL_PWAIT)
		*map_insert(&model->go_signs, key) |= POLLS;
}

void model_note_wait(struct model *model, thread_id id, const struct cause *cause, nsec_t woken)
{
	const struct thread *thread = thread_at(model, id), *waker = thread_at(model, cause->waker);
	nsec_t waited = woken - cause->start;

	if (thread->kernel)
		return;
	note_go(model, thread, cause);
	if (cause->object_kind != OBJECT_FUTEX)
		return;

	uint64_t key = futex_key(thread, cause->object);
	struct futex *futex = indexed(&model->futexes, &model->futex_index, key);
	const uint64_t both = HAS_WAITED | HAS_WOKEN;

	futex->waits++;
	futex->upper |= cause->object & 4;
	futex->is_rwlock |= futex_is_rwlock(cause->futex_op, cause->futex_value);
	futex->mutual |= note_use(model, key, id, HAS_WAITED) == both;
	if (cause->context == WAKE_TASK && process_hash(waker) == process_hash(thread))
		futex->mutual |= note_use(model, key, cause->waker, HAS_WOKEN) == both;
	if (cause->context == WAKE_HRTIMER && waited >= TURN_MIN && waited <= TURN_MAX)
		futex->turns++;
}

const struct futex *model_futex(const struct model *model, thread_id id, uint64_t address)
{
	return find_indexed(&model->futexes, &model->futex_index,
			    futex_key(model_thread(model, id), address));
}

/* Whether the program of a command line, or a comm, has a word in its file name. */
static bool is_program(const char *cmdline, const char *word)
{
	size_t size = strcspn(cmdline, " ");
	const char *name = memrchr(cmdline, '/', size);

	name = name ? name + 1 : cmdline;
	return memmem(name, cmdline + size - name, word, strlen(word));
}

enum runtime model_runtime(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);
	const uint64_t *go_signs = map_find(&model->go_signs, process_hash(thread));
	const char *comm = model_string(model, model_process_comm(model, id));
	const char *cmdline = process ? model_string(model, process->cmdline) : "";

	if (go_signs && *go_signs == (PARKS | POLLS))
		return RUNTIME_GO;
	if (is_program(comm, "python") || is_program(cmdline, "python"))
		return RUNTIME_PYTHON;
	if (is_program(comm, "java") || is_program(cmdline, "java"))
		return RUNTIME_JVM;
	return RUNTIME_UNKNOWN;
}
