/* SPDX-License-Identifier: Apache-2.0 */
#include "report/phrase.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "event/syscall.h"
#include "report/names.h"

/* Append to a phrase; what does not fit is left out. */
__attribute__((format(printf, 2, 3))) static void say(struct phrase *p, const char *fmt, ...)
{
	size_t used = strlen(p->s);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->s + used, sizeof(p->s) - used, fmt, ap);
	va_end(ap);
}

struct phrase phrase_thread(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	struct phrase p = { "" };

	if (!id.i)
		say(&p, "nobody");
	else if (thread->pid == thread->tid)
		say(&p, "%s (%u)", model_string(model, thread->comm), thread->tid);
	else
		say(&p, "%s (%u of %u)", model_string(model, thread->comm), thread->tid,
		    thread->pid);
	return p;
}

static const char *call_name(const struct cause *cause)
{
	const char *name = cause ? syscall_name(cause->syscall) : NULL;

	return name ? name : "";
}

static void say_function(struct phrase *p, const struct model *model, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	/* the first of the program that is not the library's own wrapper says most */
	for (size_t i = stack.kernel_count; i < stack.count; i++) {
		struct frame frame = model_frame(model, stack.frames[i]);
		const char *module = model_string(model, frame.module);

		if (!frame.symbol.i || strstr(module, "/libc.so") || strstr(module, "/libpthread"))
			continue;
		say(p, ", in %s()", model_string(model, frame.symbol));
		return;
	}
}

static void say_disk(struct phrase *p, const struct model *model, const struct cause *cause)
{
	const char *name = model_file(model, cause->host, cause->object);
	const char *device =
		model_device(model, cause->host,
			     cause->object_kind == OBJECT_BLOCK_DEVICE
				     ? cause->object
				     : model_file_device(model, cause->host, cause->object));
	bool is_file = cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY;

	if (cause->syscall == SYSCALL_NONE)
		say(p, "waits for a page from disk");
	else if (is_file && name)
		say(p, "%s of %s", call_name(cause), name);
	else
		say(p, "%s, waits for disk", call_name(cause));
	if (device && cause->object_kind != OBJECT_NONE)
		say(p, " on %s", device);
}

static void say_network(struct phrase *p, const struct model *model, const struct cause *cause)
{
	const struct socket *socket = cause->object_kind == OBJECT_INET
					      ? model_socket(model, cause->host, cause->object)
					      : NULL;

	if (socket && socket->address.peer_port) {
		struct socket_name name;

		socket_name_init(&name, &socket->address);
		say(p, "%s, waits for %s", call_name(cause), name.peer);
	} else if (socket) {
		say(p, "%s, waits on port %u", call_name(cause), socket->address.local_port);
	} else {
		say(p, "%s, waits for the network", call_name(cause));
	}
}

static void say_lock(struct phrase *p, const struct model *model, const struct cause *cause)
{
	if (cause->object_kind == OBJECT_FUTEX)
		say(p, "waits for a lock");
	else
		say(p, "waits for a lock in the kernel (%s)",
		    *call_name(cause) ? call_name(cause) : "page fault");
	if (cause->context == WAKE_TASK && cause->waker.i)
		say(p, " that %s held", phrase_thread(model, cause->waker).s);
	say_function(p, model, cause->stack);
}

static void say_process(struct phrase *p, const struct model *model, const struct cause *cause)
{
	static const char *const things[] = {
		[OBJECT_PIPE] = "a pipe",
		[OBJECT_UNIX] = "a unix socket",
		[OBJECT_EVENTFD] = "an eventfd",
		[OBJECT_SIGNALFD] = "a signal",
		[OBJECT_INOTIFY] = "a change of files",
	};
	const char *thing =
		cause->object_kind < ARRAY_LEN(things) ? things[cause->object_kind] : NULL;

	if (thing)
		say(p, "%s, waits for %s", call_name(cause), thing);
	else if (*call_name(cause))
		say(p, "waits in %s", call_name(cause));
	else
		say(p, "waits to be woken");
	if (cause->context == WAKE_TASK && cause->waker.i)
		say(p, " from %s", phrase_thread(model, cause->waker).s);
}

static void say_blocked(struct phrase *p, const struct model *model, uint8_t state,
			const struct cause *cause)
{
	switch (state) {
	case STATE_DISK:
		return say_disk(p, model, cause);
	case STATE_NETWORK:
		return say_network(p, model, cause);
	case STATE_LOCK:
		return say_lock(p, model, cause);
	case STATE_PROCESS:
		return say_process(p, model, cause);
	case STATE_TIMER:
		return say(p, "sleeps%s%s", *call_name(cause) ? " in " : "", call_name(cause));
	case STATE_USER:
		return say(p, "waits for input at a terminal");
	default:
		return say(p, "is blocked%s%s, by what is not known",
			   *call_name(cause) ? " in " : "", call_name(cause));
	}
}

struct phrase phrase_step(const struct model *model, const struct step *step,
			  const struct cause *cause)
{
	struct phrase p = { "" };

	if (step->flags & STEP_TRANSIT)
		say(&p, "a message is on its way");
	else if (step->flags & STEP_UNEXPLAINED || step->state == STATE_GAP)
		say(&p, "nothing was recorded");
	else if (step->state == STATE_RUNNING)
		say(&p, "runs");
	else if (step->state == STATE_THROTTLED)
		say(&p, "has used up its group's CPU quota");
	else if (step->state == STATE_READY)
		say(&p, "waits for CPU %u", step->cpu);
	else if (cause)
		say_blocked(&p, model, step->state, cause);
	else
		say(&p, "is blocked");
	return p;
}

static void say_shares(struct phrase *p, const struct model *model, const struct account *account,
		       const struct node *node)
{
	enum { SHOWN = 3 };
	const struct share *shares = account->shares.items + node->shares;

	for (uint32_t i = 0; i < node->share_count && i < SHOWN; i++) {
		const char *name = model_string(model, shares[i].name);

		if (i > 0 && shares[i].time * 20 < node->time)
			break; /* not worth a word */
		if (node->state == STATE_RUNNING)
			say(p, "%s %s() %s", i ? "," : ", in", name, format_time(shares[i].time).s);
		else if (node->state == STATE_READY)
			say(p, "%s %s (%u) for %s", i ? "," : ", which ran", name, shares[i].pid,
			    format_time(shares[i].time).s);
		else
			say(p, "%s %s (%u)", i ? "," : ", queue shared with", name, shares[i].pid);
	}
}

struct phrase phrase_node(const struct model *model, const struct account *account,
			  const struct node *node)
{
	struct phrase p = { "" };

	if (!node->state && node->span.i) {
		const struct span *span = model_span(model, node->span);

		say(&p, "%s  %s", model_string(model, span->service),
		    model_string(model, span->operation));
		return p;
	}
	p = phrase_step(model, &node->longest, node->cause);
	say_shares(&p, model, account, node);
	if (node->irq * 20 > node->time)
		say(&p, ", %s of it in interrupts", format_time(node->irq).s);
	return p;
}

struct phrase phrase_who(const struct model *model, const struct node *node)
{
	struct phrase p = { "" };

	if (!node->several)
		return phrase_thread(model, node->thread);
	say(&p, "%s (%u)", model_string(model, model_process_comm(model, node->thread)),
	    model_thread(model, node->thread)->pid);
	return p;
}

struct phrase phrase_cause(const struct model *model, const struct account *account, uint32_t at)
{
	const struct node *node = &account->nodes.items[at];
	const struct node *above = &account->nodes.items[node->parent];
	struct phrase p = { "" };

	if (node->thread.i)
		say(&p, "%s: ", phrase_who(model, node).s);
	say(&p, "%s", phrase_node(model, account, node).s);
	if (!node->state)
		say(&p, "; no thread is known that worked for it, so spans alone tell");
	if (node->parent && above->state)
		say(&p, ", while %s waits for %s", phrase_who(model, above).s,
		    above->state == STATE_LOCK      ? "the lock it holds"
		    : above->state == STATE_NETWORK ? "its answer"
						    : "it");
	return p;
}
