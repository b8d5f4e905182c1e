/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotation.h"

#include <stdio.h>

#include "analyse/account.h"
#include "analyse/lost.h"
#include "analyse/span_work.h"
#include "annotate/call_span.h"
#include "annotate/child_id.h"
#include "annotate/threshold_stack.h"
#include "annotate/waits.h"
#include "annotate/wakeup_attributes.h"
#include "base/text.h"
#include "event/kind.h"
#include "event/socket_name.h"
#include "event/syscall.h"
#include "report/export/otlp_latency.h"
#include "report/phrase.h"

enum { NAME_SIZE = 64 }; /* of a child span: longer than all names of system calls */

void annotation_done(struct annotation *annotation)
{
	otlp_writer_done(&annotation->attributes);
	otlp_writer_done(&annotation->children);
	annotation->span_count = 0;
}

/* What the threads that worked for the span did meanwhile, child spans included. */
static void add_use(const struct span_set *spans, span_id id, nsec_t from, struct request_use *ret,
		    struct wakeup_latency *ret_wakeups)
{
	const struct span *span = span_set_at(spans, id);
	_cleanup_(span_work_done) struct span_work work = { 0 };

	span_work_find(spans, id, from, span->end, &work);
	for (size_t i = 0; i < work.items.count; i++) {
		const struct span_part *part = &work.items.items[i];

		nsec_t begin = model_thread(spans->model, part->thread)->begin;

		if (!part->thread.i || part->other || part->other_span.i || part->end <= begin)
			continue;
		request_use_work(spans->model,
				 &(struct request_work){ .thread = part->thread,
							 .from = part->start > begin ? part->start
										     : begin,
							 .to = part->end },
				 ret);
		wakeup_latency_add(spans->model, part->thread, part->start, part->end, ret_wakeups);
	}
}

static void put_thread(struct otlp_put *put, thread_id id)
{
	const struct thread *thread = model_thread(put->model, id);

	if (!id.i)
		return;
	otlp_put_int(put, "thread.id", thread->tid);
	otlp_put_text(put, "thread.name", model_string(put->model, thread->comm));
}

/*
 * A span that began before the window: adds what its thread did before.  Returns from when on the
 * window has the rest.
 */
static nsec_t past_put(struct otlp_put *put, const struct span *span, nsec_t states[128])
{
	nsec_t begin = model_window_begin(put->model);
	struct span_past past;

	if (span->start >= begin)
		return span->start;
	otlp_put_int(put, "sonde.details_from", begin - span->start);
	if (!model_span_past(put->model, span, &past) || past.until > span->end) {
		otlp_put_true(put, "sonde.partial");
		return span->start;
	}
	for (size_t i = 0; i < ARRAY_LEN(past.states); i++)
		states[i] += past.states[i];
	return past.until;
}

static void put_reduced(const bool reduced[DETAIL_COUNT], struct otlp_put *put)
{
	static const char *const names[DETAIL_COUNT] = { [DETAIL_STACKS] = "stacks",
							 [DETAIL_SYSCALLS] = "syscalls",
							 [DETAIL_OTHER_TASKS] = "other_tasks" };
	char text[64] = "";
	size_t n = 0;

	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++)
		if (reduced[d])
			n += snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "", names[d]);
	if (n)
		otlp_put_text(put, "sonde.reduced", text);
}

/* A joined span ends before the reply of its request, and the critical path is that of the request.
 */
static void put_after_span(const struct span *span, const struct annotation_options *options,
			   struct otlp_put *put)
{
	nsec_t end = span->end + (uint64_t)options->realtime;

	if (span->join_confidence > 0 && options->end && end > options->end)
		otlp_put_int(put, "sonde.after_span", end - options->end);
}

static void put_attributes(const struct span_set *spans, span_id id,
			   const struct annotation_options *options,
			   const struct otlp_latency *latency, const struct waits *waits,
			   struct otlp_writer *w)
{
	const struct span *span = span_set_at(spans, id);
	struct otlp_put put = { .w = w, .model = spans->model };
	struct lost lost = lost_of_span(spans->model, span);
	struct request_use use = { 0 };
	struct wakeup_latency wakeups = { 0 };

	otlp_begin_attributes(w);
	otlp_latency_put(latency, &put);
	add_use(spans, id, past_put(&put, span, use.states), &use, &wakeups);
	otlp_put_use(&put, &use);
	wakeup_attributes_put(&put, &wakeups);
	threshold_stack_put(&put, spans, id, options->limit);
	otlp_put_queueing(&put, span);
	put_after_span(span, options, &put);
	if (span->tid)
		otlp_put_int(&put, "sonde.tid", span->tid);
	if (lost.losses)
		otlp_put_int(&put, "sonde.lost", lost.records);
	if (waits->omitted)
		otlp_put_int(&put, "sonde.waits_omitted", waits->omitted);
	if (waits->calls_omitted)
		otlp_put_int(&put, "sonde.syscalls_omitted", waits->calls_omitted);
	put_reduced(options->reduced, &put);
	request_use_done(&use);
	otlp_put_done(&put);
}

/* The name of a wait: its system call, or what the thread waits for without one. */
static const char *name_of(const struct wait *wait, const struct cause *cause)
{
	const char *call = cause ? syscall_name(cause->syscall) : NULL;

	if (call)
		return call;
	if (wait->longest.state == STATE_READY)
		return "run queue";
	if (wait->longest.state == STATE_THROTTLED)
		return "CPU quota";
	if (cause && cause->syscall == SYSCALL_NONE && wait->longest.state == STATE_DISK)
		return "page fault";
	return state_words(wait->longest.state) ?: "wait";
}

/*
 * Several waits in one child last from the first to the last, which is longer than all of them
 * together.  So the child has another name, but one without numbers: names are what people group
 * spans by, and how long a single wait takes stays true for the other name.
 */
static void put_name(char *ret, size_t size, const struct wait *wait, const struct cause *cause)
{
	snprintf(ret, size, "%s%s", name_of(wait, cause), wait->count > 1 ? " (several)" : "");
}

/* The file or the peer that the thread waited for. */
static void put_object(struct otlp_put *put, const struct step *step, const struct cause *cause)
{
	const struct model *model = put->model;
	uint64_t object = step->socket;
	const struct socket *socket;
	struct socket_name name;

	if (cause && (cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY))
		otlp_put_text(put, "file.path",
			      model_file(model, cause->host, cause->object) ?: "");
	if (cause && cause->object_kind == OBJECT_INET)
		object = cause->object;
	socket = object ? model_socket(model, model_thread(model, step->thread)->host, object)
			: NULL;
	if (!socket)
		return;
	socket_name_init(&name, &socket->address);
	otlp_put_address(put, "peer", name.peer);
}

static void put_stack(struct otlp_put *put, const char *key, uint32_t stack)
{
	_cleanup_(freep) char *text = model_stack_text(put->model, stack, "\n", true);

	otlp_put_text(put, key, text);
}

static void put_description(struct otlp_put *put, const struct wait *wait, const char *words)
{
	_cleanup_(freep) char *several = NULL;

	if (wait->count > 1)
		several =
			must_printf("%s waits, %s in total; the longest: %s",
				    format_count(wait->count).s, format_time(wait->time).s, words);
	otlp_put_text(put, "sonde.description", several ?: words);
}

/* The longest wait can begin before the span. */
static nsec_t longest_of(const struct wait *wait)
{
	nsec_t longest = wait->longest.end - wait->longest.start;

	return longest < wait->time ? longest : wait->time;
}

/* What the thread waited for; in a system call, if it waited. */
static void put_longest(const struct span_set *spans, const struct wait *wait,
			const struct cause *cause, struct otlp_put *put)
{
	struct phrase words = phrase_path_step(spans, &wait->longest, cause);

	otlp_put_text(put, "sonde.state", (char[]){ wait->longest.state, '\0' });
	put_description(put, wait, words.s);
	put_object(put, &wait->longest, cause);
	if (cause) {
		put_stack(put, "code.stacktrace", cause->stack);
		put_stack(put, "sonde.waker_stacktrace", cause->waker_stack);
	}
}

static void put_wait(const struct span_set *spans, const struct wait *wait, struct otlp_put *put)
{
	const struct cause *cause =
		wait->longest.state ? account_step_cause(spans->model, &wait->longest) : NULL;

	if (wait->longest.state)
		put_longest(spans, wait, cause, put);
	put_thread(put, wait->longest.thread);
	if (wait->call.count) {
		call_span_put(wait, cause && cause->object_kind, put);
	} else if (wait->count > 1) {
		otlp_put_int(put, "sonde.count", wait->count);
		otlp_put_int(put, "sonde.wait_time", wait->time);
		otlp_put_int(put, "sonde.wait_max", longest_of(wait));
	}
}

static struct view id_view(const void *id, size_t size)
{
	return (struct view){ id, size };
}

/* The time of a wait within the bounds of its span: whether any is left. */
static bool clip(const struct wait *wait, const struct annotation_options *options,
		 nsec_t *ret_start, nsec_t *ret_end)
{
	nsec_t start = wait->start + (uint64_t)options->realtime;
	nsec_t end = wait->end + (uint64_t)options->realtime;

	if (options->end) {
		start = start > options->start ? start : options->start;
		end = end < options->end ? end : options->end;
	}
	*ret_start = start;
	*ret_end = end;
	return start < end;
}

/* Returns the number of spans.  A wait out of bounds has nothing below it that is not. */
static size_t put_children(const struct span_set *spans, span_id id, const struct waits *waits,
			   const struct annotation_options *options, struct otlp_writer *w)
{
	const struct span *span = span_set_at(spans, id);
	struct otlp_put put = { .w = w, .model = spans->model };
	VEC(struct child_id) ids = { 0 };
	size_t count = 0;

	otlp_begin_spans(w);
	for (size_t i = 0; i < waits->items.count; i++) {
		const struct wait *wait = &waits->items.items[i];
		const struct cause *cause = account_step_cause(spans->model, &wait->longest);
		uint64_t tid = model_thread(spans->model, wait->longest.thread)->tid;
		nsec_t start, end;
		char number[24];

		/* a wait can begin when its call does */
		tid |= wait->call.count ? (wait->call.nr + 1ull) << 32 : 0;
		*vec_push(&ids) = child_id_of(span->trace, span->id, tid, wait->start);
		if (!clip(wait, options, &start, &end))
			continue;

		const void *parent = wait->parent ? ids.items[wait->parent - 1].bytes : span->id;
		char name[NAME_SIZE];

		if (wait->call.count)
			snprintf(name, sizeof(name), "%s", call_span_name(&wait->call, number));
		else
			put_name(name, sizeof(name), wait, cause);

		otlp_begin_span(w, &(struct otlp_span){
					   .trace_id = id_view(span->trace, sizeof(span->trace)),
					   .span_id = id_view(ids.items[i].bytes, 8),
					   .parent_span_id = id_view(parent, 8),
					   .name = { name, strlen(name) },
					   .start = start,
					   .end = end,
					   .kind = OTLP_KIND_INTERNAL });
		put_wait(spans, wait, &put);
		count++;
	}
	otlp_put_done(&put);
	vec_done(&ids);
	return count;
}

bool annotation_find(const struct span_set *spans, span_id span,
		     const struct annotation_options *options, struct annotation *ret)
{
	_cleanup_(waits_done) struct waits waits = { 0 };
	_cleanup_(calls_done) struct calls calls = { 0 };
	struct otlp_latency latency;

	*ret = (struct annotation){ 0 };
	if (!otlp_latency_find(spans, span, &latency))
		return false;
	calls_find(spans, span, &calls);
	waits_find(spans, span, &calls, options->spans_max, &waits);
	put_attributes(spans, span, options, &latency, &waits, &ret->attributes);
	ret->span_count = put_children(spans, span, &waits, options, &ret->children);
	return true;
}

void annotation_put_late(struct annotation *annotation, const struct otlp_span *span,
			 struct otlp_writer *request)
{
	static const char name[] = "sonde";
	struct child_id id = child_id_of(span->trace_id.s, span->span_id.s, 0, 0);

	otlp_begin_span(request, &(struct otlp_span){ .trace_id = span->trace_id,
						      .span_id = id_view(id.bytes, sizeof(id)),
						      .parent_span_id = span->span_id,
						      .name = { name, strlen(name) },
						      .start = span->start,
						      .end = span->end,
						      .kind = OTLP_KIND_INTERNAL });
	otlp_put_attributes(request, otlp_end(&annotation->attributes));
	otlp_put_spans(request, otlp_end(&annotation->children));
}
