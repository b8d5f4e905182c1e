/* SPDX-License-Identifier: Apache-2.0 */
#include "model_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct writer {
	const struct model *model;
	nsec_t from, to;
	VEC(char *) lines;
};

__attribute__((format(printf, 2, 3))) static void line(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(vec_push(&w->lines), format, args) < 0)
		abort();
	va_end(args);
}

struct thread_name {
	char s[32];
};

static struct thread_name name_of(const struct writer *w, thread_id id)
{
	const struct thread *thread = model_thread(w->model, id);
	struct thread_name name;

	snprintf(name.s, sizeof(name.s), "%u/%u", thread->host, thread->tid);
	return name;
}

static nsec_t clip(const struct writer *w, nsec_t t)
{
	return t < w->from ? w->from : t;
}

static const char *function_of(const struct writer *w, uint32_t stack)
{
	return model_stack_function(w->model, stack) ?: "-";
}

static void write_cause(struct writer *w, thread_id id, const struct interval *interval)
{
	const struct cause *cause = model_cause(w->model, id, interval);

	if (!cause)
		return;
	line(w, "%s cause %" PRIu64 " by %s object %d:%" PRIx64 " %s %s %s", name_of(w, id).s,
	     cause->start, name_of(w, cause->waker).s, cause->object_kind, cause->object,
	     function_of(w, cause->stack), function_of(w, cause->waker_stack),
	     model_file(w->model, cause->host, cause->object) ?: "-");
}

static void write_intervals(struct writer *w, thread_id id)
{
	struct stretch s;
	bool more = model_stretch_at(w->model, id, w->from, &s);

	if (!more) {
		timeline_pos pos;

		more = timeline_from(&model_thread(w->model, id)->intervals, w->from, &pos) &&
		       model_stretch_at(
			       w->model, id,
			       *(nsec_t *)timeline_at(&model_thread(w->model, id)->intervals, pos),
			       &s);
	}
	for (; more && s.interval.start < w->to; more = model_stretch_next(w->model, id, &s)) {
		line(w, "%s %c %" PRIu64 "-%" PRIu64 " cpu %u irq %u", name_of(w, id).s,
		     s.interval.state, s.interval.start, s.end, s.interval.cpu, s.interval.irq);
		if (state_is_blocked(s.interval.state))
			write_cause(w, id, &s.interval);
	}
}

static void write_messages(struct writer *w, thread_id id)
{
	const struct thread *thread = model_thread(w->model, id);

	TIMELINE_EACH_BETWEEN(struct message, m, thread->timelines[TIMELINE_MESSAGES], w->from,
			      w->to)
	{
		const struct socket *socket = model_socket(w->model, thread->host, m->object);
		const struct message *sent = model_sent_message(w->model, m);

		line(w,
		     "%s message %" PRIu64 " %d:%" PRIx64 " %u at %u with %s %" PRIu64
		     " wire %" PRIu64 " held %d sent %" PRIu64 " port %d of %d",
		     name_of(w, id).s, m->time, m->direction, m->object, m->bytes, m->position,
		     name_of(w, m->other).s, m->other_time, m->wire_time, m->held,
		     sent && m->direction == MESSAGE_RECEIVE ? sent->time : 0,
		     socket ? socket->address.local_port : -1,
		     socket ? socket->address.peer_port : -1);
	}
}

static void write_events(struct writer *w, thread_id id)
{
	const struct thread *thread = model_thread(w->model, id);
	struct timeline *const *timelines = thread->timelines;
	struct thread_name name = name_of(w, id);

	TIMELINE_EACH_BETWEEN(struct syscall, s, timelines[TIMELINE_SYSCALLS], w->from, w->to)
	line(w, "%s syscall %d %" PRIu64 "-%" PRIu64, name.s, s->nr, s->start, s->end);
	TIMELINE_EACH_BETWEEN(struct block_io, b, timelines[TIMELINE_BLOCK_IO], w->from, w->to)
	line(w, "%s block_io %" PRIu64 "-%" PRIu64 " on %s", name.s, b->start, b->end,
	     model_device(w->model, thread->host, b->device) ?: "-");
	TIMELINE_EACH_BETWEEN(struct probe_event, p, timelines[TIMELINE_PROBE_EVENTS], w->from,
			      w->to)
	line(w, "%s probe %" PRIu64 " %s", name.s, p->time,
	     model_probe_name(w->model, p->type) ?: "-");
	TIMELINE_EACH_BETWEEN(struct sample, s, timelines[TIMELINE_SAMPLES], w->from, w->to)
	line(w, "%s sample %" PRIu64 " %s", name.s, s->time, function_of(w, s->stack));
	TIMELINE_EACH_BETWEEN(struct connect, c, timelines[TIMELINE_CONNECTS], w->from, w->to)
	line(w, "%s connect %" PRIu64 " %" PRIx64, name.s, c->time, c->object);
}

static void write_contexts(struct writer *w, thread_id id)
{
	struct context_stretch c;

	for (bool more = model_context_from(w->model, id, w->from, &c);
	     more && c.context.start < w->to; more = model_context_next(w->model, id, &c)) {
		const struct span_ref *ref = model_span_ref(w->model, c.context.ref);

		if (c.end > w->from)
			line(w, "%s context %" PRIu64 "-%" PRIu64 " %u.%u flags %d",
			     name_of(w, id).s, clip(w, c.context.start), c.end,
			     *(const uint32_t *)ref->trace, ref->id[0], c.context.flags);
	}
}

static void write_thread(struct writer *w, thread_id id)
{
	const struct thread *thread = model_thread(w->model, id);

	if (thread->forgotten || thread->end < w->from)
		return;
	line(w, "%s in %u is %s of %s%s%s", name_of(w, id).s, thread->pid,
	     model_string(w->model, thread->comm),
	     model_string(w->model, model_process_name(w->model, id)),
	     thread->out_of_scope ? " out of scope" : "", thread->exited ? " exited" : "");
	write_intervals(w, id);
	write_messages(w, id);
	write_events(w, id);
	write_contexts(w, id);
}

static void write_slices(struct writer *w, uint16_t cpu)
{
	TIMELINE_EACH_BETWEEN(struct slice, s, model_slices(w->model, 0, cpu), w->from, w->to)
	line(w, "cpu %u %" PRIu64 " %u of %s", cpu, s->start, s->length, name_of(w, s->thread).s);
}

static void write_residencies(struct writer *w, const struct span *span)
{
	uint32_t at = model_span_ref(w->model, span->ref)->first_residency;

	for (; at; at = model_residency(w->model, at)->next) {
		const struct residency *r = model_residency(w->model, at);

		if (r->last > w->from)
			line(w, "span %u.%u residency of %s %" PRIu64 "-%" PRIu64,
			     *(const uint32_t *)span->trace, span->id[0], name_of(w, r->thread).s,
			     clip(w, r->first), r->last);
	}
}

static void write_span(struct writer *w, span_id id)
{
	const struct span *span = model_span(w->model, id);
	const struct span *parent = model_span(w->model, span->parent);
	struct attributes attributes = model_span_attributes(w->model, id);
	unsigned children = 0;

	if (span->end < w->from || span->end >= w->to)
		return;
	for (span_id c = span->first_child; c.i; c = model_span(w->model, c)->next)
		if (model_span(w->model, c)->end >= w->from)
			children = 31 * children + model_span(w->model, c)->id[0];
	line(w, "span %u.%u %" PRIu64 "-%" PRIu64 " %s %s by %s in %u children %u within %d",
	     *(const uint32_t *)span->trace, span->id[0], span->start, span->end,
	     model_string(w->model, span->service), model_string(w->model, span->operation),
	     name_of(w, span->thread).s, parent->end >= w->from ? parent->id[0] : 0, children,
	     model_span_is_within(w->model, id, span->parent));
	for (size_t i = 0; i < attributes.count; i++)
		line(w, "span %u.%u attribute %zu %s %s", *(const uint32_t *)span->trace,
		     span->id[0], i, model_string(w->model, attributes.items[i].key),
		     attributes.items[i].type == ATTRIBUTE_STRING
			     ? model_string(w->model, (str_id){ attributes.items[i].value })
			     : "");
	write_residencies(w, span);
}

static void write_losses(struct writer *w)
{
	struct lost all = model_lost(w->model, w->from, w->to);
	struct lost host = model_lost_on_host(w->model, 0, w->from, w->to);

	line(w, "lost %" PRIu64 " in %" PRIu64 ", on host %" PRIu64 " in %" PRIu64, all.records,
	     all.losses, host.records, host.losses);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join(struct writer *w)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	qsort(w->lines.items, w->lines.count, sizeof(char *), by_text);
	for (size_t i = 0; i < w->lines.count; i++) {
		fprintf(file, "%s\n", w->lines.items[i]);
		free(w->lines.items[i]);
	}
	fclose(file);
	vec_done(&w->lines);
	return text;
}

char *model_text(const struct model *model, nsec_t from, nsec_t to)
{
	struct writer w = { .model = model, .from = from, .to = to };

	for (uint32_t i = 1; i < model_thread_count(model); i++)
		write_thread(&w, (thread_id){ i });
	for (uint32_t cpu = 0; cpu < 256; cpu++)
		write_slices(&w, cpu);
	for (uint32_t i = 1; i < model_span_count(model); i++)
		write_span(&w, (span_id){ i });
	write_losses(&w);
	return join(&w);
}
