/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - sonde.h: spans for programs without an SDK.
 *
 * The current span is the published context of the thread, no matter which library
 * published it; so spans of an SDK and of sonde.h nest in each other.  A span stores the
 * previous context, and restores it when it is detached or ends.  The library keeps no
 * list of open spans: the program owns them.
 *
 * A begin and an end also change the context, so each writes two events.
 */
#include "agent/sonde.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/attributes.h"
#include "agent/internal.h"
#include "agent/names.h"
#include "agent/traceparent.h"

/* sonde_span.state: of the span, and of the previous context. */
enum {
	SPAN_ATTACHED = 1, /* a thread works for the span */
	SPAN_FAILED = 2,
	BEFORE_NONE = 4,
	BEFORE_UNKNOWN = 8,
};

enum {
	COUNT_EXACTLY = 1024, /* spans of a name; beyond, count a sample of one in COUNT_EVERY */
	COUNT_EVERY = 64,
};

static struct span_name *site_name(struct sonde_site *site)
{
	return __atomic_load_n(&site->slot, __ATOMIC_RELAXED);
}

static struct span_name *resolve_name(struct sonde_site *site)
{
	struct span_name *name = names_find(site->name);

	if (agent_arena) /* otherwise another thread is creating it, or that failed */
		__atomic_store_n(&site->slot, name, __ATOMIC_RELAXED);
	return name;
}

static bool is_off(const struct span_name *name)
{
	return __atomic_load_n(&name->off, __ATOMIC_RELAXED);
}

/* Approximate: without a lock, and sampled so that threads do not contend for the counter. */
static void count(struct span_name *name, uint64_t random)
{
	uint64_t n = __atomic_load_n(&name->count, __ATOMIC_RELAXED);

	if (n < COUNT_EXACTLY)
		__atomic_store_n(&name->count, n + 1, __ATOMIC_RELAXED);
	else if (random % COUNT_EVERY == 0)
		__atomic_store_n(&name->count, n + COUNT_EVERY, __ATOMIC_RELAXED);
}

static struct sonde_agent_span describe(const struct sonde_span *span)
{
	struct sonde_agent_span event = {
		.name = span->site->name,
		.name_size = strlen(span->site->name),
		.start = span->start,
		.attributes = span->attributes,
		.attributes_size = span->attributes_size,
		.tid = span->start ? span->tid : 0,
		.kind = span->kind,
		.is_error = span->state & SPAN_FAILED,
	};

	memcpy(event.trace, span->trace, sizeof(event.trace));
	memcpy(event.span, span->id, sizeof(event.span));
	memcpy(event.parent, span->parent, sizeof(event.parent));
	return event;
}

/* Make the span the current one of the thread. */
static bool attach(struct agent_thread *t, struct sonde_span *span)
{
	const struct context_record *before = *t->context;

	span->state = SPAN_ATTACHED | (span->state & SPAN_FAILED);
	if (!before) {
		span->state |= BEFORE_NONE;
	} else if (!before->valid) {
		span->state |= BEFORE_UNKNOWN;
	} else {
		memcpy(span->before_trace, before->trace, sizeof(span->before_trace));
		memcpy(span->before_id, before->span, sizeof(span->before_id));
		span->before_flags = before->trace_flags;
	}
	context_set(t, span->trace, span->id, span->trace_flags);
	return true;
}

/* Restore the previous context, if the span is still the current one. */
static bool detach(struct agent_thread *t, struct sonde_span *span)
{
	const struct context_record *now = *t->context;
	bool is_ours = now && now->valid && !memcmp(now->span, span->id, sizeof(span->id));

	if (!(span->state & SPAN_ATTACHED) || !is_ours)
		return false;
	span->state &= ~SPAN_ATTACHED;
	if (span->state & (BEFORE_NONE | BEFORE_UNKNOWN))
		*(const struct context_record *volatile *)t->context =
			span->state & BEFORE_NONE ? NULL : &context_unknown;
	else
		context_set(t, span->before_trace, span->before_id, span->before_flags);
	return true;
}

static void make_root(struct agent_thread *t, struct sonde_span *span)
{
	uint64_t trace[2] = { random_next(t) | 1, random_next(t) };

	memcpy(span->trace, trace, sizeof(span->trace));
	memset(span->parent, 0, sizeof(span->parent));
	span->trace_flags = TRACE_SAMPLED;
}

/* Make the span a child of the current one. */
static void make_child(struct agent_thread *t, struct sonde_span *span)
{
	const struct context_record *current = *t->context;

	if (!current || !current->valid) {
		make_root(t, span);
		return;
	}
	memcpy(span->trace, current->trace, sizeof(span->trace));
	memcpy(span->parent, current->span, sizeof(span->parent));
	span->trace_flags = current->trace_flags;
}

static void set_start(struct sonde_span *span, uint64_t time)
{
	span->start = time;
	span->tid = (uint32_t)syscall(SYS_gettid);
}

/* requested_at: time of the call if initialisation delayed it, otherwise 0. */
static void begin(struct agent_thread *t, struct sonde_site *site, struct span_name *name,
		  uint64_t requested_at, struct sonde_span *span)
{
	uint64_t id = random_next(t);

	count(name, id);
	id += !id;
	memcpy(span->id, &id, sizeof(span->id));
	span->site = site;
	span->start = 0;
	span->attributes_size = span->dropped = 0;
	span->state = 0;
	attach(t, span);
	if (likely(!arena_is_recording())) {
		/* another thread may be initialising the agent: keep the start for the END event */
		if (unlikely(requested_at))
			set_start(span, requested_at);
		return;
	}
	uint64_t now = clock_now();
	struct sonde_agent_span event = describe(span);

	span->start = requested_at ? requested_at : now;
	event_begin(t, span->start, &event);
	event_context(t, now);
	span->tid = t->tid;
}

/* The name of the span, after agent_enter(); NULL if the span is off or cannot begin. */
static struct span_name *prepare_begin(struct agent_thread *t, struct sonde_site *site,
				       uint64_t *ret_requested_at, struct sonde_span *ret)
{
	struct span_name *name = site_name(site);

	*ret_requested_at = unlikely(!name || agent_is_first(t)) ? clock_now() : 0;
	ret->site = NULL;
	if (name && is_off(name))
		return NULL;
	if (unlikely(!agent_enter(t))) {
		ring_drop_nested(t);
		return NULL;
	}
	if (unlikely(!name)) {
		name = resolve_name(site);
		if (is_off(name)) {
			agent_exit(t);
			return NULL;
		}
	}
	return name;
}

void sonde_begin(struct sonde_site *site, struct sonde_span *ret)
{
	struct agent_thread *t = &agent_thread;
	uint64_t requested_at;
	struct span_name *name = prepare_begin(t, site, &requested_at, ret);

	if (!name)
		return;
	ret->kind = SPAN_INTERNAL;
	make_child(t, ret);
	begin(t, site, name, requested_at, ret);
	agent_exit(t);
}

void sonde_begin_remote(struct sonde_site *site, const char *traceparent, struct sonde_span *ret)
{
	struct agent_thread *t = &agent_thread;
	uint64_t requested_at;
	struct span_name *name = prepare_begin(t, site, &requested_at, ret);

	if (!name)
		return;
	ret->kind = SPAN_SERVER;
	if (!traceparent_read(traceparent, ret->trace, ret->parent, &ret->trace_flags))
		make_root(t, ret);
	begin(t, site, name, requested_at, ret);
	agent_exit(t);
}

void sonde_end(struct sonde_span *span)
{
	struct agent_thread *t = &agent_thread;

	if (!span->site)
		return;
	if (unlikely(!agent_enter(t))) {
		ring_drop_nested(t);
		return;
	}
	bool has_detached = detach(t, span);

	if (unlikely(arena_is_recording())) {
		attributes_close(span);
		struct sonde_agent_span event = describe(span);
		uint64_t now = event_end(t, &event);

		if (has_detached)
			event_context(t, now);
	}
	span->site = NULL;
	agent_exit(t);
}

static void switch_context(struct sonde_span *span,
			   bool (*how)(struct agent_thread *, struct sonde_span *))
{
	struct agent_thread *t = &agent_thread;

	if (!span->site)
		return;
	if (unlikely(!agent_enter(t))) {
		ring_drop_nested(t);
		return;
	}
	if (how(t, span) && unlikely(arena_is_recording()))
		event_context(t, clock_now());
	agent_exit(t);
}

void sonde_detach(struct sonde_span *span)
{
	switch_context(span, detach);
}

void sonde_attach(struct sonde_span *span)
{
	switch_context(span, attach);
}

void sonde_set_error(struct sonde_span *span)
{
	if (span->site)
		span->state |= SPAN_FAILED;
}

char *sonde_traceparent(const struct sonde_span *span, char text[SONDE_TRACEPARENT_SIZE])
{
	if (span->site)
		traceparent_write(span->trace, span->id, span->trace_flags, text);
	else
		text[0] = '\0';
	return text;
}
