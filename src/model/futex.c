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

/* Facts in a map: two bits, and above them the time at which one of them was learned last. */
enum { FACT_BITS = 2, FACT_MASK = 3 };

static uint64_t learn(struct map *facts, uint64_t key, uint64_t fact, nsec_t now)
{
	uint64_t *known = map_insert(facts, key);
	nsec_t last = *known >> FACT_BITS;

	*known = (now > last ? now : last) << FACT_BITS | (*known & FACT_MASK) | fact;
	return *known & FACT_MASK;
}

/* Stores that a thread has waited or woken; returns what it has done so far. */
static uint64_t note_use(struct model *model, uint64_t futex, thread_id thread, uint64_t use,
			 nsec_t now)
{
	uint64_t key[] = { futex, thread.i };

	return learn(&model->futex_users, hash_bytes(key, sizeof(key)), use, now);
}

/* glibc never waits for the value 0 with FUTEX_WAIT, and seldom in epoll_pwait(). */
static void note_go(struct model *model, const struct thread *thread, const struct cause *cause,
		    nsec_t now)
{
	uint64_t key = process_hash(thread);

	if (cause->futex_op == (FUTEX_COMMAND_WAIT | FUTEX_PRIVATE) && !cause->futex_value)
		learn(&model->go_signs, key, PARKS, now);
	if (cause->syscall == NR_EPOLL_PWAIT)
		learn(&model->go_signs, key, POLLS, now);
}

bool futex_is_turn(const struct cause *cause, nsec_t woken)
{
	nsec_t waited = woken - cause->start;

	return cause->object_kind == OBJECT_FUTEX && cause->context == WAKE_HRTIMER &&
	       waited >= TURN_MIN && waited <= TURN_MAX;
}

void model_note_wait(struct model *model, thread_id id, const struct cause *cause, nsec_t woken)
{
	const struct thread *thread = thread_at(model, id), *waker = thread_at(model, cause->waker);

	if (thread->kernel)
		return;
	note_go(model, thread, cause, woken);
	if (cause->object_kind != OBJECT_FUTEX)
		return;

	uint64_t key = futex_key(thread, cause->object);
	struct futex *futex = indexed(&model->futexes, &model->futex_index, key);
	const uint64_t both = HAS_WAITED | HAS_WOKEN;

	futex->waits++;
	if (woken > futex->last)
		futex->last = woken;
	futex->upper |= cause->object & 4;
	futex->is_rwlock |= futex_is_rwlock(cause->futex_op, cause->futex_value);
	futex->mutual |= note_use(model, key, id, HAS_WAITED, woken) == both;
	if (cause->context == WAKE_TASK && process_hash(waker) == process_hash(thread))
		futex->mutual |= note_use(model, key, cause->waker, HAS_WOKEN, woken) == both;
	futex->turns += futex_is_turn(cause, woken);
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

	if (go_signs && (*go_signs & FACT_MASK) == (PARKS | POLLS))
		return RUNTIME_GO;
	if (is_program(comm, "python") || is_program(cmdline, "python"))
		return RUNTIME_PYTHON;
	if (is_program(comm, "java") || is_program(cmdline, "java"))
		return RUNTIME_JVM;
	return RUNTIME_UNKNOWN;
}

static bool is_learned_since(void *arg, uint64_t key, uint64_t *value)
{
	return *value >> FACT_BITS >= *(const nsec_t *)arg;
}

void model_sweep_futexes(struct model *model, nsec_t t)
{
	if (model->futexes.count > MODEL_FACTS_MAX)
		sweep_indexed(&model->futexes, &model->futex_index, futex, futex->last >= t);
	if (model->futex_users.count > MODEL_FACTS_MAX)
		map_sweep(&model->futex_users, is_learned_since, &t);
	if (model->go_signs.count > MODEL_FACTS_MAX)
		map_sweep(&model->go_signs, is_learned_since, &t);
}
