/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotation.h"

#include <xxhash.h>

#include "analyse/account.h"
#include "analyse/lost.h"
#include "analyse/span_work.h"
#include "annotate/waits.h"
#include "event/kind.h"
#include "event/socket_name.h"
#include "event/syscall.h"
#include "report/export/otlp_latency.h"
#include "report/phrase.h"

struct child_id {
	uint8_t bytes[8];
};

void annotation_done(struct annotation *annotation)
{
	otlp_writer_done(&annotation->attributes);
	otlp_writer_done(&annotation->children);
	annotation->span_count = 0;
}

/* The same in each run: an annotation that is sent again adds nothing. */
static struct child_id id_of(const void *trace, const void *id, uint32_t tid, nsec_t start)
{
	struct {
		uint8_t trace[16], id[8];
		uint64_t tid, start;
	} key = { .tid = tid, .start = start };
	struct child_id ret;
	uint64_t hash;

	memcpy(key.trace, trace, sizeof(key.trace));
	memcpy(key.id, id, sizeof(key.id));
	hash = XXH3_64bits(&key, sizeof(key)) ?: 1; /* an id of zeros is invalid */
	memcpy(ret.bytes, &hash, sizeof(hash));
	return ret;
}

/* What the threads that worked for the span did meanwhile, child spans included. */
static void add_use(const struct span_set *spans, span_id id, struct request_use *ret)
{
	const struct span *span = span_set_at(spans, id);
	_cleanup_(span_work_done) struct span_work work = { 0 };

	span_work_find(spans, id, span->start, span->end, &work);
	for (size_t i = 0; i < work.items.count; i++) {
		const struct span_part *part = &work.items.items[i];

		if (part->thread.i && !part->other && !part->other_span.i)
			request_use_work(spans->model,
					 &(struct request_work){ .thread = part->thread,
								 .from = part->start,
								 .to = part->end },
					 ret);
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

static void put_attributes(const struct span_set *spans, span_id id,
			   const struct otlp_latency *latency, uint64_t omitted,
			   struct otlp_writer *w)
{
	const struct span *span = span_set_at(spans, id);
	struct otlp_put put = { .w = w, .model = spans->model };
	struct lost lost = lost_of_span(spans->model, span);
	struct request_use use = { 0 };

	otlp_begin_attributes(w);
	otlp_latency_put(latency, &put);
	add_use(spans, id, &use);
	otlp_put_use(&put, &use);
	otlp_put_queueing(&put, span);
	if (span->tid)
		otlp_put_int(&put, "sonde.tid", span->tid);
	if (lost.losses)
		otlp_put_int(&put, "sonde.lost", lost.records);
	if (omitted)
		otlp_put_int(&put, "sonde.waits_omitted", omitted);
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

static void put_wait(const struct span_set *spans, const struct wait *wait, struct otlp_put *put)
{
	const struct cause *cause = account_step_cause(spans->model, &wait->longest);
	struct phrase words = phrase_path_step(spans, &wait->longest, cause);

	otlp_put_text(put, "sonde.state", (char[]){ wait->longest.state, '\0' });
	otlp_put_text(put, "sonde.description", words.s);
	put_thread(put, wait->longest.thread);
	put_object(put, &wait->longest, cause);
	if (cause) {
		put_stack(put, "code.stacktrace", cause->stack);
		put_stack(put, "sonde.waker_stacktrace", cause->waker_stack);
	}
	if (wait->count > 1) {
		otlp_put_int(put, "sonde.count", wait->count);
		otlp_put_int(put, "sonde.wait_time", wait->time);
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
		uint32_t tid = model_thread(spans->model, wait->longest.thread)->tid;
		nsec_t start, end;

		*vec_push(&ids) = id_of(span->trace, span->id, tid, wait->start);
		if (!clip(wait, options, &start, &end))
			continue;

		const void *parent = wait->parent ? ids.items[wait->parent - 1].bytes : span->id;
		const char *name = name_of(wait, cause);

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
	struct otlp_latency latency;

	*ret = (struct annotation){ 0 };
	if (!otlp_latency_find(spans, span, &latency))
		return false;
	waits_find(spans, span, options->spans_max, &waits);
	put_attributes(spans, span, &latency, waits.omitted, &ret->attributes);
	ret->span_count = put_children(spans, span, &waits, options, &ret->children);
	return true;
}

void annotation_put_late(struct annotation *annotation, const struct otlp_span *span,
			 struct otlp_writer *request)
{
	static const char name[] = "sonde";
	struct child_id id = id_of(span->trace_id.s, span->span_id.s, 0, 0);

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
