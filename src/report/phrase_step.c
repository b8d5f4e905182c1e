/* SPDX-License-Identifier: Apache-2.0 */
#include "report/phrase_step.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "event/socket_name.h"
#include "event/syscall.h"
#include "report/lock_words.h"
#include "report/phrase_queueing.h"

void phrase_append(struct phrase *p, const char *fmt, ...)
{
	size_t used = strlen(p->s);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->s + used, sizeof(p->s) - used, fmt, ap);
	va_end(ap);
}

static const char *syscall_of(const struct cause *cause)
{
	const char *name = cause ? syscall_name(cause->syscall) : NULL;

	return name ? name : "";
}

const char *phrase_call_suffix(const char *function)
{
	return strchr(function, '(') ? "" : "()";
}

/* These words and the function of a stack, if it is known. */
static void append_function(struct phrase *p, const struct model *model, const char *words,
			    uint32_t stack)
{
	const char *function = model_stack_function(model, stack);

	if (function)
		phrase_append(p, "%s %s%s", words, function, phrase_call_suffix(function));
}

static void append_disk(struct phrase *p, const struct model *model, const struct cause *cause)
{
	const char *name = model_file(model, cause->host, cause->object);
	const char *device =
		model_device(model, cause->host,
			     cause->object_kind == OBJECT_BLOCK_DEVICE
				     ? cause->object
				     : model_file_device(model, cause->host, cause->object));
	bool is_file = cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY;

	if (cause->syscall == SYSCALL_NONE && is_file && name)
		phrase_append(p, "waits for a page of %s", name);
	else if (cause->syscall == SYSCALL_NONE)
		phrase_append(p, "waits for a page from disk");
	else if (is_file && name)
		phrase_append(p, "%s of %s", syscall_of(cause), name);
	else
		phrase_append(p, "waits in %s for disk I/O", syscall_of(cause));
	if (device && cause->object_kind != OBJECT_NONE)
		phrase_append(p, " on %s", device);
}

/* "its control group", or its name. */
static void append_group(struct phrase *p, const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);
	const char *name = process ? model_string(model, process->cgroup) : "";

	phrase_append(p, name[0] && name[1] ? "control group %s" : "its control group", name);
}

/* "waits for memory: its control group is at its memory limit". */
static void append_memory(struct phrase *p, const struct model *model, const struct step *step,
			  const struct cause *cause)
{
	phrase_append(p, step->state == STATE_DISK ? "; " : "waits for memory: ");
	if (cause->memory == MEMORY_SHORT) {
		phrase_append(p, "the host is short of memory");
		return;
	}
	append_group(p, model, step->thread);
	phrase_append(p, " is at its memory limit");
}

/* "waits in recvfrom" */
static void append_waits(struct phrase *p, const struct cause *cause)
{
	phrase_append(p, "waits%s%s", *syscall_of(cause) ? " in " : "", syscall_of(cause));
}

/* "contacts (4127) at 10.0.0.5:5432", "its client 10.0.0.7:39254", "the network". */
static void append_peer(struct phrase *p, const struct model *model, const struct socket *s,
			uint16_t host, thread_id ender)
{
	struct socket_name name;

	if (ender.i)
		phrase_append(p, " for %s", phrase_thread(model, ender).s);
	if (!s) {
		phrase_append(p, "%s", ender.i ? "" : " for the network");
	} else if (!s->address.peer_port) {
		phrase_append(p, " on port %u", s->address.local_port);
	} else {
		bool is_server = model_is_listening(model, host, s->netns, s->address.local_port);

		socket_name_init(&name, &s->address);
		phrase_append(p, " %s %s%s", ender.i ? "at" : "for",
			      is_server && !ender.i ? "its client " : "", name.peer);
	}
}

/* Whether a thread waits for room in a send buffer. */
static bool sends(const struct cause *cause)
{
	static const char *const calls[] = { "write", "send", "splice" };
	const char *name = syscall_of(cause);

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (strncmp(name, calls[i], strlen(calls[i])) == 0)
			return true;
	return false;
}

static void append_network(struct phrase *p, const struct model *model, const struct step *step,
			   const struct cause *cause)
{
	uint64_t object = cause->object_kind == OBJECT_INET ? cause->object : step->socket;

	append_waits(p, cause);
	append_peer(p, model, object ? model_socket(model, cause->host, object) : NULL, cause->host,
		    step->ender);
	if (sends(cause))
		phrase_append(p, " to read: the send buffer is full");
	if (cause->context == WAKE_HRTIMER)
		phrase_append(p, " until a timeout");
}

/* What tells this lock from others of its kind: a file, a system call. */
static void append_lock_object(struct phrase *p, const struct model *model,
			       const struct cause *cause, enum lock_kind kind)
{
	const char *file = model_file(model, cause->host, cause->object);

	if (kind == LOCK_FILE)
		phrase_append(p, " on %s", file ? file : "a file");
	if (kind == LOCK_KERNEL && cause->syscall != SYSCALL_UNKNOWN)
		phrase_append(p, " (%s)", *syscall_of(cause) ? syscall_of(cause) : "page fault");
}

void phrase_append_lock(struct phrase *p, const struct model *model, const struct step *step,
			const struct cause *cause, thread_id holder, bool shared)
{
	enum lock_kind kind = lock_kind_of(model, step->thread, step->state, cause);
	const struct lock_words *words = lock_words(kind);

	phrase_append(p, "%s", words->verb);
	append_function(p, model, " in", cause->stack);
	phrase_append(p, "%s", words->object);
	append_lock_object(p, model, cause, kind);
	if (cause->context != WAKE_TASK || !cause->waker.i || !words->link)
		return;
	phrase_append(p, "%s %s%s", words->link, shared ? "several threads, longest by " : "",
		      phrase_thread(model, holder.i ? holder : cause->waker).s);
	if (!shared && (!holder.i || holder.i == cause->waker.i))
		append_function(p, model, " until", cause->waker_stack);
}

static void append_process(struct phrase *p, const struct model *model, const struct cause *cause,
			   thread_id ender)
{
	static const char *const things[] = {
		[OBJECT_PIPE] = "a pipe",
		[OBJECT_UNIX] = "a unix socket",
		[OBJECT_EVENTFD] = "an eventfd",
		[OBJECT_SIGNALFD] = "a signalfd",
		[OBJECT_INOTIFY] = "an inotify instance",
	};
	const char *thing =
		cause->object_kind < ARRAY_LEN(things) ? things[cause->object_kind] : NULL;

	if (!ender.i && cause->context == WAKE_TASK)
		ender = cause->waker;
	append_waits(p, cause);
	if (thing)
		phrase_append(p, " on %s", thing);
	if (ender.i)
		phrase_append(p, " for %s", phrase_thread(model, ender).s);
}

/* "is stopped (signal or debugger) until gdb (17) resumes it". */
static void append_stopped(struct phrase *p, const struct model *model, const struct cause *cause)
{
	phrase_append(p, "is stopped (signal or debugger)");
	if (cause->context == WAKE_TASK && cause->waker.i)
		phrase_append(p, " until %s resumes it", phrase_thread(model, cause->waker).s);
}

static void append_blocked(struct phrase *p, const struct model *model, const struct step *step,
			   const struct cause *cause)
{
	const char *call = syscall_of(cause);

	if (cause->flags & INTERVAL_STOPPED)
		return append_stopped(p, model, cause);
	if (cause->memory && step->state != STATE_DISK)
		return append_memory(p, model, step, cause);
	switch (step->state) {
	case STATE_LOCK:
		return phrase_append_lock(p, model, step, cause, step->ender, false);
	case STATE_DISK:
		append_disk(p, model, cause);
		if (cause->memory)
			append_memory(p, model, step, cause);
		break;
	case STATE_NETWORK:
		append_network(p, model, step, cause);
		break;
	case STATE_PROCESS:
		append_process(p, model, cause, step->ender);
		break;
	case STATE_TIMER:
		phrase_append(p, "%s%s%s",
			      step->flags & STEP_POLLING ? "polls for something, sleeps" : "sleeps",
			      *call ? " in " : "", call);
		break;
	case STATE_USER:
		phrase_append(p, "waits for terminal input");
		break;
	default:
		phrase_append(p, "is blocked%s%s, cause unknown", *call ? " in " : "", call);
	}
	append_function(p, model, ", in", cause->stack);
}

/* "10.0.0.5:5432", the peer of the connection that a step waits for; "" if unknown. */
static struct phrase phrase_peer(const struct model *model, const struct step *step)
{
	const struct thread *thread = model_thread(model, step->thread);
	const struct socket *s = model_socket(model, thread->host, step->socket);
	struct socket_name name = { "", "" };
	struct phrase p = { "" };

	if (s)
		socket_name_init(&name, &s->address);
	phrase_append(&p, "%s", name.peer);
	return p;
}

static void append_remote(struct phrase *p, const struct model *model, const struct step *step)
{
	enum { PORT_DNS = 53 };
	const struct thread *thread = model_thread(model, step->thread);
	const struct socket *s = model_socket(model, thread->host, step->socket);
	struct phrase peer = phrase_peer(model, step);

	if (s && s->address.peer_port == PORT_DNS)
		phrase_append(p, "resolves a name at %s", peer.s);
	else
		phrase_append(p, "waits for a reply of %s",
			      peer.s[0] ? peer.s : "a peer that was not recorded");
}

/* "waits in the queue for a connection to 10.0.0.5:5432, which is used", for other requests. */
static void append_behind(struct phrase *p, const struct model *model, const struct step *step)
{
	struct phrase peer = phrase_peer(model, step);

	phrase_append(p, "waits in the queue for a connection%s%s, which is used",
		      peer.s[0] ? " to " : "", peer.s);
}

/* Of the time before the thread that released a lock can have held it. */
static void append_held_before(struct phrase *p, const struct model *model, const struct step *step,
			       const struct cause *cause)
{
	enum lock_kind kind = lock_kind_of(model, step->thread, step->state, cause);

	phrase_append(p, "waits%s that other %s held", lock_words(kind)->object,
		      kind == LOCK_SHARED ? "readers" : "threads");
}

static void append_throttled(struct phrase *p, const struct model *model, thread_id thread)
{
	phrase_append(p, "is throttled by the CPU quota of ");
	append_group(p, model, thread);
}

struct phrase phrase_step(const struct model *model, const struct step *step,
			  const struct cause *cause)
{
	struct phrase p = { "" };

	if (step->flags & STEP_TRANSIT)
		phrase_append(&p, "message in transit");
	else if (step->flags & STEP_REMOTE)
		append_remote(&p, model, step);
	else if (step->flags & STEP_BEHIND && step->flags & STEP_QUEUEING)
		phrase_append(&p, "serves many other requests");
	else if (step->flags & STEP_BEHIND)
		append_behind(&p, model, step);
	else if (step->flags & STEP_HELD_BEFORE)
		append_held_before(&p, model, step, cause);
	else if (step->flags & STEP_PARKED)
		phrase_append(
			&p, "cause unknown: its task is parked, and the kernel does not show what "
			    "tasks of its runtime wait for");
	else if (step->flags & STEP_OWN_TIMER)
		phrase_append(&p, "waits for a timer in its event loop");
	else if (step->flags & STEP_UNEXPLAINED || step->state == STATE_GAP)
		phrase_append(&p, "no records");
	else if (step->state == STATE_RUNNING)
		phrase_append(&p, "runs");
	else if (step->state == STATE_THROTTLED)
		append_throttled(&p, model, step->thread);
	else if (step->state == STATE_READY)
		phrase_append(&p, "waits for a CPU");
	else if (cause)
		append_blocked(&p, model, step, cause);
	else
		phrase_append(&p, "is blocked");
	return p;
}
