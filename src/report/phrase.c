/* SPDX-License-Identifier: Apache-2.0 */
#include "report/phrase.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyse/thread_class.h"
#include "base/text.h"
#include "event/syscall.h"
#include "event/socket_name.h"
#include "report/span_detail.h"
#include "report/lock_words.h"
#include "report/phrase_queueing.h"

/* Append to a phrase; text that does not fit is cut off. */
__attribute__((format(printf, 2, 3))) static void append(struct phrase *p, const char *fmt, ...)
{
	size_t used = strlen(p->s);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->s + used, sizeof(p->s) - used, fmt, ap);
	va_end(ap);
}

/* Whether a thread's name does not show its process: "GC Thread#0", but not "contacts/1". */
static bool hides_process(const struct model *model, thread_id id)
{
	const char *process = model_string(model, model_process_name(model, id));

	return strncmp(model_string(model, model_thread(model, id)->comm), process,
		       strlen(process)) != 0;
}

struct phrase phrase_thread(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	str_id process = model_process_name(model, id);
	struct phrase p = { "" };

	if (!id.i)
		append(&p, "unknown thread");
	else if (!thread->comm.i)
		append(&p, "thread %u", thread->tid);
	else if (thread->pid == thread->tid)
		append(&p, "%s (%u)", model_string(model, process), thread->tid);
	else if (thread->comm.i == model_process_comm(model, id).i)
		append(&p, "%s (%u of %u)", model_string(model, process), thread->tid, thread->pid);
	else if (!hides_process(model, id))
		append(&p, "%s (%u of %u)", model_string(model, thread->comm), thread->tid,
		       thread->pid);
	else
		append(&p, "%s (%u of %s %u)", model_string(model, thread->comm), thread->tid,
		       model_string(model, process), thread->pid);
	return p;
}

static const char *syscall_of(const struct cause *cause)
{
	const char *name = cause ? syscall_name(cause->syscall) : NULL;

	return name ? name : "";
}

/* Names of C++ functions already have their parameters. */
static const char *call_suffix(const char *function)
{
	return strchr(function, '(') ? "" : "()";
}

/* These words and the function of a stack, if it is known. */
static void append_function(struct phrase *p, const struct model *model, const char *words,
			    uint32_t stack)
{
	const char *function = model_stack_function(model, stack);

	if (function)
		append(p, "%s %s%s", words, function, call_suffix(function));
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
		append(p, "waits for a page of %s", name);
	else if (cause->syscall == SYSCALL_NONE)
		append(p, "waits for a page from disk");
	else if (is_file && name)
		append(p, "%s of %s", syscall_of(cause), name);
	else
		append(p, "waits in %s for disk I/O", syscall_of(cause));
	if (device && cause->object_kind != OBJECT_NONE)
		append(p, " on %s", device);
}

/* "its control group", or its name. */
static void append_group(struct phrase *p, const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);
	const char *name = process ? model_string(model, process->cgroup) : "";

	append(p, name[0] && name[1] ? "control group %s" : "its control group", name);
}

/* "waits for memory: its control group is at its memory limit". */
static void append_memory(struct phrase *p, const struct model *model, const struct step *step,
			  const struct cause *cause)
{
	append(p, step->state == STATE_DISK ? "; " : "waits for memory: ");
	if (cause->memory == MEMORY_SHORT) {
		append(p, "the host is short of memory");
		return;
	}
	append_group(p, model, step->thread);
	append(p, " is at its memory limit");
}

/* "waits in recvfrom" */
static void append_waits(struct phrase *p, const struct cause *cause)
{
	append(p, "waits%s%s", *syscall_of(cause) ? " in " : "", syscall_of(cause));
}

/* "contacts (4127) at 10.0.0.5:5432", "its client 10.0.0.7:39254", "the network". */
static void append_peer(struct phrase *p, const struct model *model, const struct socket *s,
			uint16_t host, thread_id ender)
{
	struct socket_name name;

	if (ender.i)
		append(p, " for %s", phrase_thread(model, ender).s);
	if (!s) {
		append(p, "%s", ender.i ? "" : " for the network");
	} else if (!s->address.peer_port) {
		append(p, " on port %u", s->address.local_port);
	} else {
		bool is_server = model_is_listening(model, host, s->netns, s->address.local_port);

		socket_name_init(&name, &s->address);
		append(p, " %s %s%s", ender.i ? "at" : "for",
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
		append(p, " to read: the send buffer is full");
	if (cause->context == WAKE_HRTIMER)
		append(p, " until a timeout");
}

/* What tells this lock from others of its kind: a file, a system call. */
static void append_lock_object(struct phrase *p, const struct model *model,
			       const struct cause *cause, enum lock_kind kind)
{
	const char *file = model_file(model, cause->host, cause->object);

	if (kind == LOCK_FILE)
		append(p, " on %s", file ? file : "a file");
	if (kind == LOCK_KERNEL && cause->syscall != SYSCALL_UNKNOWN)
		append(p, " (%s)", *syscall_of(cause) ? syscall_of(cause) : "page fault");
}

static void append_lock(struct phrase *p, const struct model *model, const struct step *step,
			const struct cause *cause, thread_id holder, bool shared)
{
	enum lock_kind kind = lock_kind_of(model, step->thread, step->state, cause);
	const struct lock_words *words = lock_words(kind);

	append(p, "%s", words->verb);
	append_function(p, model, " in", cause->stack);
	append(p, "%s", words->object);
	append_lock_object(p, model, cause, kind);
	if (cause->context != WAKE_TASK || !cause->waker.i || !words->link)
		return;
	append(p, "%s %s%s", words->link, shared ? "several threads, longest by " : "",
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
		append(p, " on %s", thing);
	if (ender.i)
		append(p, " for %s", phrase_thread(model, ender).s);
}

/* "is stopped (signal or debugger) until gdb (17) resumes it". */
static void append_stopped(struct phrase *p, const struct model *model, const struct cause *cause)
{
	append(p, "is stopped (signal or debugger)");
	if (cause->context == WAKE_TASK && cause->waker.i)
		append(p, " until %s resumes it", phrase_thread(model, cause->waker).s);
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
		return append_lock(p, model, step, cause, step->ender, false);
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
		append(p, "%s%s%s",
		       step->flags & STEP_POLLING ? "polls for something, sleeps" : "sleeps",
		       *call ? " in " : "", call);
		break;
	case STATE_USER:
		append(p, "waits for terminal input");
		break;
	default:
		append(p, "is blocked%s%s, cause unknown", *call ? " in " : "", call);
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
	append(&p, "%s", name.peer);
	return p;
}

static void append_remote(struct phrase *p, const struct model *model, const struct step *step)
{
	enum { PORT_DNS = 53 };
	const struct thread *thread = model_thread(model, step->thread);
	const struct socket *s = model_socket(model, thread->host, step->socket);
	struct phrase peer = phrase_peer(model, step);

	if (s && s->address.peer_port == PORT_DNS)
		append(p, "resolves a name at %s", peer.s);
	else
		append(p, "waits for a reply of %s",
		       peer.s[0] ? peer.s : "a peer that was not recorded");
}

/* "waits in the queue for a connection to 10.0.0.5:5432, which is used", for other requests. */
static void append_behind(struct phrase *p, const struct model *model, const struct step *step)
{
	struct phrase peer = phrase_peer(model, step);

	append(p, "waits in the queue for a connection%s%s, which is used", peer.s[0] ? " to " : "",
	       peer.s);
}

/* Of the time before the thread that released a lock can have held it. */
static void append_held_before(struct phrase *p, const struct model *model, const struct step *step,
			       const struct cause *cause)
{
	enum lock_kind kind = lock_kind_of(model, step->thread, step->state, cause);

	append(p, "waits%s that other %s held", lock_words(kind)->object,
	       kind == LOCK_SHARED ? "readers" : "threads");
}

static void append_throttled(struct phrase *p, const struct model *model, thread_id thread)
{
	append(p, "is throttled by the CPU quota of ");
	append_group(p, model, thread);
}

static struct phrase phrase_step(const struct model *model, const struct step *step,
				 const struct cause *cause)
{
	struct phrase p = { "" };

	if (step->flags & STEP_TRANSIT)
		append(&p, "message in transit");
	else if (step->flags & STEP_REMOTE)
		append_remote(&p, model, step);
	else if (step->flags & STEP_BEHIND && step->flags & STEP_QUEUEING)
		append(&p, "serves many other requests");
	else if (step->flags & STEP_BEHIND)
		append_behind(&p, model, step);
	else if (step->flags & STEP_HELD_BEFORE)
		append_held_before(&p, model, step, cause);
	else if (step->flags & STEP_PARKED)
		append(&p, "cause unknown: its task is parked, and the kernel does not show what "
			   "tasks of its runtime wait for");
	else if (step->flags & STEP_OWN_TIMER)
		append(&p, "waits for a timer in its event loop");
	else if (step->flags & STEP_UNEXPLAINED || step->state == STATE_GAP)
		append(&p, "no records");
	else if (step->state == STATE_RUNNING)
		append(&p, "runs");
	else if (step->state == STATE_THROTTLED)
		append_throttled(&p, model, step->thread);
	else if (step->state == STATE_READY)
		append(&p, "waits for a CPU");
	else if (cause)
		append_blocked(&p, model, step, cause);
	else
		append(&p, "is blocked");
	return p;
}

/* "another span: shop GET /slow". */
static void append_other_span(struct phrase *p, const struct model *model, uint32_t number)
{
	const struct span_ref *ref = model_span_ref(model, number);
	const struct span *span = model_span(model, ref->span);

	if (ref->span.i)
		append(p, "another span: %s %s", model_string(model, span->service),
		       model_string(model, span->operation));
	else
		append(p, "an unrecorded span of another trace");
}

struct phrase phrase_path_step(const struct span_set *spans, const struct step *step,
			       const struct cause *cause)
{
	struct phrase p = phrase_step(spans->model, step, cause);

	if (step->flags & STEP_SENDING)
		return phrase_sending(step);
	if (step->parent)
		return p;
	if (step->other) {
		append(&p, ", for ");
		append_other_span(&p, spans->model, step->other);
	}
	if (step->other_span.i)
		append(&p, " for %s", phrase_client(spans, step->other_span).s);
	if (step->flags & STEP_QUEUEING)
		append(&p, ", while the request is queued");
	return p;
}

/*
 * "contacts (4127)", or "process 4127" without a name.  A node of several threads is named
 * after their process, which is also the name of its main thread.
 */
static void append_sharer(struct phrase *p, const struct model *model, const struct node *node,
			  const struct share *share)
{
	const struct thread *thread = model_thread(model, share->thread);

	if (share->thread.i && node->several && thread->tid == thread->pid)
		append(p, "its main thread");
	else if (share->thread.i)
		append(p, "%s", phrase_thread(model, share->thread).s);
	else if (share->name.i)
		append(p, "%s (%u)", model_string(model, share->name), share->pid);
	else
		append(p, "process %u", share->pid);
}

static void append_shares(struct phrase *p, const struct model *model,
			  const struct account *account, const struct node *node)
{
	enum { SHOWN = 3 };
	const struct share *shares = account->shares.items;

	if (!node->share_count)
		return;
	shares += node->shares;
	for (uint32_t i = 0; i < node->share_count && i < SHOWN; i++) {
		struct text time = format_time(shares[i].time);

		if (i > 0 && shares[i].time * 20 < node->time)
			break; /* too short to mention */
		if (node->state == STATE_RUNNING) {
			append(p, "%s %s%s %s", i ? "," : ", in",
			       model_string(model, shares[i].name),
			       call_suffix(model_string(model, shares[i].name)), time.s);
			continue;
		}
		append(p, "%s ",
		       i                            ? ","
		       : node->state == STATE_READY ? ";"
						    : ", queue shared with");
		append_sharer(p, model, node, &shares[i]);
		if (node->state == STATE_READY)
			append(p, " ran for %s", time.s);
	}
}

/* Equal spans on one path are one after another. */
static void append_each(struct phrase *p, const struct node *node)
{
	if (node->span_count > 1)
		append(p, ", one after another, %s each",
		       format_time(node->time / node->span_count).s);
}

struct phrase phrase_node(const struct span_set *spans, const struct account *account,
			  const struct node *node)
{
	const struct model *model = spans->model;
	struct phrase p = { "" };

	if (node->other) {
		append(&p, "its thread works for ");
		append_other_span(&p, model, node->other);
		return p;
	}
	if (!node->state && node->flags & STEP_QUEUEING)
		return phrase_queueing_node(spans, node);
	if (node->flags & STEP_SENDING)
		return phrase_sending(&node->longest);
	if (!node->state && node->span.i) {
		const struct span *span = span_set_at(spans, node->span);

		if (node->span_count > 1)
			append(&p, "%s × ", format_count(node->span_count).s);
		append(&p, "%s  %s", span_set_string(spans, span->service),
		       span_set_string(spans, span->operation));
		append(&p, "%s", span_detail(spans, node->span).s);
		append_each(&p, node);
		return p;
	}
	if (node->holder.i && node->cause)
		append_lock(&p, model, &node->longest, node->cause, node->holder,
			    node->held * 2 < node->time);
	else
		p = phrase_step(model, &node->longest, node->cause);
	if (node->state == STATE_READY)
		append(&p, " (run-queue latency)");
	if (node->flags & STEP_POLLING)
		append(&p, " %u times, %s on average", node->count,
		       format_time(node->time / node->count).s);
	if (others_above(account, node) == node)
		append(&p, "%s", phrase_others(spans, node).s);
	append_shares(&p, model, account, node);
	if (node->irq * 20 > node->time)
		append(&p, ", including %s in interrupts", format_time(node->irq).s);
	return p;
}

struct phrase phrase_node_thread(const struct model *model, const struct node *node)
{
	struct phrase p = { "" };

	if (!node->several)
		return phrase_thread(model, node->thread);
	if (thread_class(model, node->thread))
		append(&p, "threads such as %s of ",
		       model_string(model, model_thread(model, node->thread)->comm));
	append(&p, "%s (%u%s)", model_string(model, model_process_name(model, node->thread)),
	       model_thread(model, node->thread)->pid,
	       node->several_processes ? " and others" : "");
	return p;
}

/* The node of the span that a node is below; NULL if it is that of the explained span. */
static const struct node *span_node_above(const struct account *account, const struct node *node)
{
	while (node->parent)
		node = &account->nodes.items[node->parent];
	return node->state || !node->span.i || node->span.i == account->span.i ? NULL : node;
}

/* ", for 153 × shop SELECT, one after another, 1.2 ms each" */
static void append_span_above(struct phrase *p, const struct span_set *spans,
			      const struct node *above)
{
	const struct span *span = span_set_at(spans, above->span);

	/* the work of a pool's thread and a call are for the explained request */
	if (span->source == SPAN_INFERRED && span->kind != SPAN_SERVER &&
	    above->span_count < NODE_MANY_SPANS)
		return;
	append(p, ", for ");
	if (above->span_count >= NODE_MANY_SPANS)
		append(p, "%s × ", format_count(above->span_count).s);
	append(p, "%s %s", span_set_string(spans, span->service),
	       span_set_string(spans, span->operation));
	if (above->span_count >= NODE_MANY_SPANS)
		append_each(p, above);
}

/* Many calls one after another, each of them short. */
static struct phrase phrase_pattern(const struct span_set *spans, const struct node *node)
{
	const struct span *span = span_set_at(spans, node->span);
	struct phrase p = { "" };

	append(&p, "%s calls %s ", format_count(node->span_count).s,
	       span->source == SPAN_INFERRED ? "to" : "of");
	if (span->kind != SPAN_CLIENT)
		append(&p, "%s ", span_set_string(spans, span->service));
	append(&p, "%s", span_set_string(spans, span->operation));
	append(&p, " one after another, %s each (N+1 pattern)",
	       format_time(node->time / node->span_count).s);
	return p;
}

/* The other span that the thread worked for during a node, or 0. */
static uint32_t other_above(const struct account *account, const struct node *node)
{
	while (node->parent && !node->other)
		node = &account->nodes.items[node->parent];
	return node->other;
}

/* ", while worker (12) waits for its reply, while ..." of a wait that something else explains. */
static void append_while(struct phrase *p, const struct model *model, const struct account *account,
			 const struct node *node)
{
	enum { LEVELS = 3 };

	for (int i = 0; i < LEVELS && node->state;
	     i++, node = &account->nodes.items[node->parent]) {
		enum lock_kind kind =
			lock_kind_of(model, node->longest.thread, node->state, node->cause);

		append(p, ", while %s %s", phrase_node_thread(model, node).s,
		       kind                           ? lock_words(kind)->while_
		       : node->state == STATE_NETWORK ? "waits for its reply"
						      : "waits for it");
	}
}

struct phrase phrase_cause(const struct span_set *spans, const struct account *account, uint32_t at)
{
	const struct model *model = spans->model;
	const struct node *node = &account->nodes.items[at];
	const struct node *above = &account->nodes.items[node->parent];
	const struct node *span = span_node_above(account, node);
	const struct node *others = others_above(account, node);
	uint32_t other = other_above(account, node);
	struct phrase queueing = phrase_queueing(spans, account, node), p = { "" };

	if (!node->is_leaf && !node->state)
		return phrase_pattern(spans, node);
	if (node->thread.i)
		append(&p, "%s: ", phrase_node_thread(model, node).s);
	append(&p, "%s", phrase_node(spans, account, node).s);
	if (node->parent && above->state && node->flags & STEP_HELD_BEFORE)
		append_while(&p, model, account, &account->nodes.items[above->parent]);
	else if (node->parent && above->state)
		append_while(&p, model, account, above);
	if (node->state && span && !other && !others && !queueing.s[0])
		append_span_above(&p, spans, span);
	if (other) {
		append(&p, ", for ");
		append_other_span(&p, model, other);
	}
	if (others && others != node)
		append(&p, "%s", phrase_others(spans, others).s);
	append(&p, "%s", queueing.s);
	return p;
}
