/* SPDX-License-Identifier: Apache-2.0 */
#include "report/phrase.h"

#include <stdio.h>
#include <string.h>

#include "analyse/thread_class.h"
#include "base/text.h"
#include "report/lock_words.h"
#include "report/phrase_queueing.h"
#include "report/phrase_step.h"
#include "report/span_detail.h"

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
		phrase_append(&p, "unknown thread");
	else if (!thread->comm.i)
		phrase_append(&p, "thread %u", thread->tid);
	else if (thread->pid == thread->tid)
		phrase_append(&p, "%s (%u)", model_string(model, process), thread->tid);
	else if (thread->comm.i == model_process_comm(model, id).i)
		phrase_append(&p, "%s (%u of %u)", model_string(model, process), thread->tid,
			      thread->pid);
	else if (!hides_process(model, id))
		phrase_append(&p, "%s (%u of %u)", model_string(model, thread->comm), thread->tid,
			      thread->pid);
	else
		phrase_append(&p, "%s (%u of %s %u)", model_string(model, thread->comm),
			      thread->tid, model_string(model, process), thread->pid);
	return p;
}

/* "another span: shop GET /slow". */
static void append_other_span(struct phrase *p, const struct model *model, uint32_t number)
{
	const struct span_ref *ref = model_span_ref(model, number);
	const struct span *span = model_span(model, ref->span);

	if (ref->span.i)
		phrase_append(p, "another span: %s %s", model_string(model, span->service),
			      model_string(model, span->operation));
	else
		phrase_append(p, "an unrecorded span of another trace");
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
		phrase_append(&p, ", for ");
		append_other_span(&p, spans->model, step->other);
	}
	if (step->other_span.i)
		phrase_append(&p, " for %s", phrase_client(spans, step->other_span).s);
	if (step->flags & STEP_QUEUEING)
		phrase_append(&p, ", while the request is queued");
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
		phrase_append(p, "its main thread");
	else if (share->thread.i)
		phrase_append(p, "%s", phrase_thread(model, share->thread).s);
	else if (share->name.i)
		phrase_append(p, "%s (%u)", model_string(model, share->name), share->pid);
	else
		phrase_append(p, "process %u", share->pid);
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
			phrase_append(p, "%s %s%s %s", i ? "," : ", in",
				      model_string(model, shares[i].name),
				      phrase_call_suffix(model_string(model, shares[i].name)),
				      time.s);
			continue;
		}
		phrase_append(p, "%s ",
			      i                            ? ","
			      : node->state == STATE_READY ? ";"
							   : ", queue shared with");
		append_sharer(p, model, node, &shares[i]);
		if (node->state == STATE_READY)
			phrase_append(p, " ran for %s", time.s);
	}
}

/* Equal spans on one path are one after another. */
static void append_each(struct phrase *p, const struct node *node)
{
	if (node->span_count > 1)
		phrase_append(p, ", one after another, %s each",
			      format_time(node->time / node->span_count).s);
}

struct phrase phrase_node(const struct span_set *spans, const struct account *account,
			  const struct node *node)
{
	const struct model *model = spans->model;
	struct phrase p = { "" };

	if (node->other) {
		phrase_append(&p, "its thread works for ");
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
			phrase_append(&p, "%s × ", format_count(node->span_count).s);
		phrase_append(&p, "%s  %s", span_set_string(spans, span->service),
			      span_set_string(spans, span->operation));
		phrase_append(&p, "%s", span_detail(spans, node->span).s);
		append_each(&p, node);
		return p;
	}
	if (node->holder.i && node->cause)
		phrase_append_lock(&p, model, &node->longest, node->cause, node->holder,
				   node->held * 2 < node->time);
	else
		p = phrase_step(model, &node->longest, node->cause);
	if (node->state == STATE_READY)
		phrase_append(&p, " (run-queue latency)");
	if (node->flags & STEP_POLLING)
		phrase_append(&p, " %u times, %s on average", node->count,
			      format_time(node->time / node->count).s);
	if (others_above(account, node) == node)
		phrase_append(&p, "%s", phrase_others(spans, node).s);
	append_shares(&p, model, account, node);
	if (node->irq * 20 > node->time)
		phrase_append(&p, ", including %s in interrupts", format_time(node->irq).s);
	return p;
}

struct phrase phrase_node_thread(const struct model *model, const struct node *node)
{
	struct phrase p = { "" };

	if (!node->several)
		return phrase_thread(model, node->thread);
	if (thread_class(model, node->thread))
		phrase_append(&p, "threads such as %s of ",
			      model_string(model, model_thread(model, node->thread)->comm));
	phrase_append(&p, "%s (%u%s)", model_string(model, model_process_name(model, node->thread)),
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
	phrase_append(p, ", for ");
	if (above->span_count >= NODE_MANY_SPANS)
		phrase_append(p, "%s × ", format_count(above->span_count).s);
	phrase_append(p, "%s %s", span_set_string(spans, span->service),
		      span_set_string(spans, span->operation));
	if (above->span_count >= NODE_MANY_SPANS)
		append_each(p, above);
}

/* Many calls one after another, each of them short. */
static struct phrase phrase_pattern(const struct span_set *spans, const struct node *node)
{
	const struct span *span = span_set_at(spans, node->span);
	struct phrase p = { "" };

	phrase_append(&p, "%s calls %s ", format_count(node->span_count).s,
		      span->source == SPAN_INFERRED ? "to" : "of");
	if (span->kind != SPAN_CLIENT)
		phrase_append(&p, "%s ", span_set_string(spans, span->service));
	phrase_append(&p, "%s", span_set_string(spans, span->operation));
	phrase_append(&p, " one after another, %s each (N+1 pattern)",
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

		phrase_append(p, ", while %s %s", phrase_node_thread(model, node).s,
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
		phrase_append(&p, "%s: ", phrase_node_thread(model, node).s);
	phrase_append(&p, "%s", phrase_node(spans, account, node).s);
	if (node->parent && above->state && node->flags & STEP_HELD_BEFORE)
		append_while(&p, model, account, &account->nodes.items[above->parent]);
	else if (node->parent && above->state)
		append_while(&p, model, account, above);
	if (node->state && span && !other && !others && !queueing.s[0])
		append_span_above(&p, spans, span);
	if (other) {
		phrase_append(&p, ", for ");
		append_other_span(&p, model, other);
	}
	if (others && others != node)
		phrase_append(&p, "%s", phrase_others(spans, others).s);
	phrase_append(&p, "%s", queueing.s);
	return p;
}
