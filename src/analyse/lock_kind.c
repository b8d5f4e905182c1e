/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/lock_kind.h"

#include <string.h>

#include "event/futex.h"
#include "event/thread_state.h"
#include "model/futex.h"

/* A thread that found the lock taken twice in a row waited for two whole turns. */
enum { TURNS_OF_GIL = 2 };

static bool stack_has(const struct model *model, uint32_t number, const char *function)
{
	struct stack stack = model_stack(model, number);

	for (size_t i = stack.kernel_count; i < stack.count; i++)
		if (strcmp(model_string(model, model_frame(model, stack.frames[i]).symbol),
			   function) == 0)
			return true;
	return false;
}

static enum lock_kind kind_in_jvm(const struct model *model, const struct cause *cause)
{
	const struct thread *waker = model_thread(model, cause->waker);

	/* the VM Thread only runs operations for which all other threads are stopped */
	if (cause->context == WAKE_TASK && !strcmp(model_string(model, waker->comm), "VM Thread"))
		return LOCK_SAFEPOINT;
	return LOCK_ANY; /* each thread is parked on a futex of its own */
}

static enum lock_kind kind_by_use(const struct futex *futex, const struct cause *cause)
{
	if (futex && futex->is_rwlock && futex_is_lock(cause->futex_op, cause->futex_value))
		return LOCK_SHARED;
	if (!(cause->flags & INTERVAL_CONDVAR))
		return LOCK_PLAIN;
	if (cause->futex_value > 3)
		return LOCK_RESULT; /* std::future, or the exit of a thread */
	if (!futex || futex->upper)
		return futex && !futex->mutual ? LOCK_RESULT : LOCK_ANY;
	return futex->mutual ? LOCK_SEMAPHORE : LOCK_ANY;
}

static enum lock_kind kind_of_futex(const struct model *model, thread_id id,
				    const struct cause *cause)
{
	const struct futex *futex = model_futex(model, id, cause->object);

	switch (model_runtime(model, id)) {
	case RUNTIME_GO:
		return LOCK_GO;
	case RUNTIME_JVM:
		return kind_in_jvm(model, cause);
	case RUNTIME_PYTHON:
		if ((futex && futex->turns >= TURNS_OF_GIL) ||
		    stack_has(model, cause->stack, "take_gil"))
			return LOCK_GIL;
		break;
	default:
		break;
	}
	if (cause->context == WAKE_TASK &&
	    model_thread(model, cause->waker)->pid != model_thread(model, id)->pid)
		return cause->flags & INTERVAL_CONDVAR ? LOCK_ANY : LOCK_PLAIN;
	return kind_by_use(futex, cause);
}

static bool is_postgres(const struct model *model, thread_id id)
{
	const char *comm = model_string(model, model_process_comm(model, id));

	return strcmp(comm, "postgres") == 0 || strcmp(comm, "postmaster") == 0;
}

/*
 * A backend of PostgreSQL waits in epoll for a lock, until the backend that releases the lock
 * sends it a signal.  Only backends have clients; parallel workers and background processes,
 * which send signals too, have none.
 */
static bool is_backend_lock(const struct model *model, thread_id id, const struct cause *cause)
{
	return cause->context == WAKE_TASK && syscall_class_of(cause->syscall) == SYSCALL_POLL &&
	       model_thread(model, cause->waker)->pid != model_thread(model, id)->pid &&
	       is_postgres(model, id) && is_postgres(model, cause->waker) &&
	       model_thread(model, cause->waker)->timelines[TIMELINE_MESSAGES];
}

enum lock_kind lock_kind_of(const struct model *model, thread_id thread, uint8_t state,
			    const struct cause *cause)
{
	if (!cause)
		return LOCK_NONE;
	if (is_backend_lock(model, thread, cause))
		return LOCK_BACKEND;
	if (state != STATE_LOCK)
		return LOCK_NONE;
	if (cause->object_kind == OBJECT_FUTEX)
		return kind_of_futex(model, thread, cause);
	return cause->object_kind == OBJECT_FILE ? LOCK_FILE : LOCK_KERNEL;
}

const char *lock_kind_name(enum lock_kind kind)
{
	static const char *const names[] = {
		[LOCK_PLAIN] = "lock",           [LOCK_SHARED] = "rwlock",
		[LOCK_SEMAPHORE] = "semaphore",  [LOCK_GIL] = "gil",
		[LOCK_RESULT] = "result",        [LOCK_ANY] = "lock or result",
		[LOCK_SAFEPOINT] = "safepoint",  [LOCK_GO] = "go scheduler",
		[LOCK_FILE] = "file lock",       [LOCK_KERNEL] = "kernel lock",
		[LOCK_BACKEND] = "backend lock",
	};

	return kind < ARRAY_LEN(names) ? names[kind] : NULL;
}
