/* SPDX-License-Identifier: Apache-2.0 */
#include "report/phrase.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "event/syscall.h"
#include "event/socket_name.h"

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
	else if (!thread->comm.i)
		say(&p, "thread %u", thread->tid);
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

/* A function after these words, if it is known. */
static void say_function(struct phrase *p, const struct model *model, const char *words,
			 uint32_t stack)
{
	const char *function = model_stack_function(model, stack);

	if (function)
		say(p, "%s %s()", words, function);
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
		say(p, "waits in %s for a disk", call_name(cause));
	if (device && cause->object_kind != OBJECT_NONE)
		say(p, " on %s", device);
}

/* "waits", and in which call. */
static void say_waits(struct phrase *p, const struct cause *cause)
{
	say(p, "waits%s%s", *call_name(cause) ? " in " : "", call_name(cause));
}

static void say_network(struct phrase *p, const struct model *model, const struct cause *cause,
			thread_id ender)
{
	const struct socket *socket = cause->object_kind == OBJECT_INET
					      ? model_socket(model, cause->host, cause->object)
					      : NULL;
	bool has_peer = socket && socket->address.peer_port;

	say_waits(p, cause);
	if (ender.i)
		say(p, " for %s", phrase_thread(model, ender).s);
	if (has_peer) {
		struct socket_name name;

		socket_name_init(&name, &socket->address);
		say(p, " %s %s", ender.i ? "at" : "for", name.peer);
	} else if (socket) {
		say(p, " on port %u", socket->address.local_port);
	} else if (!ender.i) {
		say(p, " for the network");
	}
}

static void say_lock(struct phrase *p, const struct model *model, const struct cause *cause,
		     thread_id holder, bool shared)
{
	say(p, "waits");
	say_function(p, model, " in", cause->stack);
	say(p, " for a lock");
	if (cause->object_kind != OBJECT_FUTEX)
		say(p, " in the kernel");
	if (cause->object_kind != OBJECT_FUTEX && cause->syscall != SYSCALL_UNKNOWN)
		say(p, " (%s)", *call_name(cause) ? call_name(cause) : "page fault");
	if (cause->context != WAKE_TASK || !cause->waker.i)
		return;
	say(p, " that %s held%s", phrase_thread(model, holder.i ? holder : cause->waker).s,
	    shared ? " longest" : "");
	if (!shared && (!holder.i || holder.i == cause->waker.i))
		say_function(p, model, " until", cause->waker_stack);
}

static void say_process(struct phrase *p, const struct model *model, const struct cause *cause,
			thread_id ender)
{
	static const char *const things[] = {
		[OBJECT_PIPE] = "a pipe",        [OBJECT_UNIX] = "a unix socket",
		[OBJECT_EVENTFD] = "an eventfd", [OBJECT_SIGNALFD] = "a signalfd",
		[OBJECT_INOTIFY] = "an inotify",
	};
	const char *thing =
		cause->object_kind < ARRAY_LEN(things) ? things[cause->object_kind] : NULL;

	if (!ender.i && cause->context == WAKE_TASK)
		ender = cause->waker;
	say_waits(p, cause);
	if (thing)
		say(p, "%s%s", *call_name(cause) ? " of " : " on ", thing);
	if (ender.i)
		say(p, " for %s", phrase_thread(model, ender).s);
}

static void say_blocked(struct phrase *p, const struct model *model, const struct step *step,
			const struct cause *cause)
{
	const char *call = call_name(cause);

	switch (step->state) {
	case STATE_LOCK:
		return say_lock(p, model, cause, step->ender, false);
	case STATE_DISK:
		say_disk(p, model, cause);
		break;
	case STATE_NETWORK:
		say_network(p, model, cause, step->ender);
		break;
	case STATE_PROCESS:
		say_process(p, model, cause, step->ender);
		break;
	case STATE_TIMER:
		say(p, "sleeps%s%s", *call ? " in " : "", call);
		break;
	case STATE_USER:
		say(p, "waits for input at a terminal");
		break;
	default:
		say(p, "is blocked%s%s, by what is not known", *call ? " in " : "", call);
	}
	say_function(p, model, ", in", cause->stack);
}

static struct phrase phrase_step(const struct model *model, const struct step *step,
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
		say_blocked(&p, model, step, cause);
	else
		say(&p, "is blocked");
	return p;
}

/* "another span: shop GET /slow". */
static void say_other(struct phrase *p, const struct model *model, uint32_t number)
{
	const struct span_ref *ref = model_span_ref(model, number);
	const struct span *span = model_span(model, ref->span);

	if (ref->span.i)
		say(p, "another span: %s %s", model_string(model, span->service),
		    model_string(model, span->operation));
	else
		say(p, "a span of another trace that was not recorded");
}

struct phrase phrase_path_step(const struct model *model, const struct step *step,
			       const struct cause *cause)
{
	struct phrase p = phrase_step(model, step, cause);

	if (step->other && !step->parent) {
		say(&p, ", for ");
		say_other(&p, model, step->other);
	}
	return p;
}

/*
 * "contacts (4127)", or "process 4127" if it has no name; a thread of the node's own process by its
 * own name.  A node of several threads has the name of their process, as the main thread has.
 */
static void say_sharer(struct phrase *p, const struct model *model, const struct node *node,
		       const struct share *share)
{
	const struct thread *thread = model_thread(model, share->thread);

	if (share->thread.i && node->several && thread->tid == thread->pid)
		say(p, "its main thread");
	else if (share->thread.i)
		say(p, "%s", phrase_thread(model, share->thread).s);
	else if (share->name.i)
		say(p, "%s (%u)", model_string(model, share->name), share->pid);
	else
		say(p, "process %u", share->pid);
}

static void say_shares(struct phrase *p, const struct model *model, const struct account *account,
		       const struct node *node)
{
	enum { SHOWN = 3 };
	const struct share *shares = account->shares.items;

	if (!node->share_count)
		return;
	shares += node->shares;
	for (uint32_t i = 0; i < node->share_count && i < SHOWN; i++) {
		struct text time = format_time(shares[i].time);

		if (i > 0 && shares[i].time * 20 < node->time)
			break; /* not worth a word */
		if (node->state == STATE_RUNNING) {
			say(p, "%s %s() %s", i ? "," : ", in", model_string(model, shares[i].name),
			    time.s);
			continue;
		}
		say(p, "%s ",
		    i                            ? ","
		    : node->state == STATE_READY ? ", which ran"
						 : ", queue shared with");
		say_sharer(p, model, node, &shares[i]);
		if (node->state == STATE_READY)
			say(p, " for %s", time.s);
	}
}

struct phrase phrase_node(const struct span_set *spans, const struct account *account,
			  const struct node *node)
{
	const struct model *model = spans->model;
	struct phrase p = { "" };

	if (node->other) {
		say(&p, "its thread works for ");
		say_other(&p, model, node->other);
		return p;
	}
	if (!node->state && node->span.i) {
		const struct span *span = span_set_at(spans, node->span);

		say(&p, "%s  %s", span_set_string(spans, span->service),
		    span_set_string(spans, span->operation));
		return p;
	}
	if (node->holder.i && node->cause)
		say_lock(&p, model, node->cause, node->holder, node->held * 2 < node->time);
	else
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

/* The span under which a node stands, if it is not the one that is explained. */
static const struct span *span_above(const struct span_set *spans, const struct account *account,
				     const struct node *node)
{
	while (node->parent)
		node = &account->nodes.items[node->parent];
	return node->state || !node->span.i || node->span.i == account->span.i
		       ? NULL
		       : span_set_at(spans, node->span);
}

/* The other span that the time of a node went to, or 0. */
static uint32_t other_above(const struct account *account, const struct node *node)
{
	while (node->parent && !node->other)
		node = &account->nodes.items[node->parent];
	return node->other;
}

struct phrase phrase_cause(const struct span_set *spans, const struct account *account, uint32_t at)
{
	const struct model *model = spans->model;
	const struct node *node = &account->nodes.items[at];
	const struct node *above = &account->nodes.items[node->parent];
	const struct span *span = span_above(spans, account, node);
	uint32_t other = other_above(account, node);
	struct phrase p = { "" };

	if (node->thread.i)
		say(&p, "%s: ", phrase_who(model, node).s);
	say(&p, "%s", phrase_node(spans, account, node).s);
	if (node->state && span && !other)
		say(&p, ", for %s %s", span_set_string(spans, span->service),
		    span_set_string(spans, span->operation));
	if (node->parent && above->state)
		say(&p, ", while %s waits for %s", phrase_who(model, above).s,
		    above->state == STATE_LOCK      ? "the lock it holds"
		    : above->state == STATE_NETWORK ? "its answer"
						    : "it");
	if (other) {
		say(&p, ", for ");
		say_other(&p, model, other);
	}
	return p;
}
