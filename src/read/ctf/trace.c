/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/trace.h"

#include <errno.h>
#include <string.h>

#include "read/ctf/bind.h"
#include "read/ctf/lexer.h"

enum {
	SMALL_ID = 4096, /* smaller ids index an array, larger ones a map */
	STREAMS = 256,   /* maximum number of streams */
};

/* Number of fields allowed, in addition to one per byte of metadata. */
enum { FIELDS = 4096 };

static void stream_type_done(struct ctf_stream_type *type)
{
	vec_done(&type->events);
	map_done(&type->large_ids);
}

void ctf_trace_free(struct ctf_trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->streams.count; i++)
		stream_type_done(&trace->streams.items[i]);
	vec_done(&trace->streams);
	vec_done(&trace->events);
	ctf_metadata_free(trace->meta);
	free(trace);
}

const struct ctf_stream_type *ctf_trace_stream(const struct ctf_trace *trace, uint64_t id)
{
	for (size_t i = 0; i < trace->streams.count; i++)
		if (trace->streams.items[i].id == id)
			return &trace->streams.items[i];
	return NULL;
}

static const struct ctf_clock *find_clock(const struct ctf_metadata *meta, const char *name)
{
	for (size_t i = 0; i < meta->clocks.count; i++)
		if (strcmp(meta->clocks.items[i].name, name) == 0)
			return &meta->clocks.items[i];
	return NULL;
}

static int add_header(struct ctf_trace *trace, struct ctf_layout *layout, struct err *err)
{
	ctf_selections selections = { 0 };

	trace->header.names[0] = "trace.packet.header";

	int code = ctf_layout_add(layout, &trace->header, 0, trace->meta->packet_header, err);

	if (code < 0)
		return code;
	ctf_bind_packet(&trace->header, &selections, &trace->has_cpu);
	code = ctf_program_compile(layout, &trace->header, &selections, &trace->read_header, err);
	vec_done(&selections);
	return code;
}

static int make_event_header(struct ctf_trace *trace, struct ctf_layout *layout,
			     struct ctf_stream_type *type, struct err *err)
{
	ctf_selections selections = { 0 };
	const char *clock;

	ctf_bind_header(&type->header, &selections, &clock);

	int code = ctf_program_compile(layout, &type->header, &selections, &type->read_header, err);

	vec_done(&selections);
	if (code < 0)
		return code;
	type->clock = clock ? find_clock(trace->meta, clock) : NULL;
	if (!type->clock)
		return err_set(err, -EBADMSG, "events have no timestamps");
	return 0;
}

static int add_stream(struct ctf_trace *trace, struct ctf_layout *layout,
		      const struct ctf_stream_class *class, struct err *err)
{
	struct ctf_stream_type *type = vec_push(&trace->streams);
	ctf_selections selections = { 0 };
	int code;

	*type = (struct ctf_stream_type){ .id = class->id };
	type->context.names[0] = "stream.packet.context";
	type->header.names[0] = "stream.event.header";
	code = ctf_layout_add(layout, &type->context, 0, class->packet_context, err);
	if (code < 0)
		return code;
	ctf_bind_packet(&type->context, &selections, &type->has_cpu);
	code = ctf_program_compile(layout, &type->context, &selections, &type->read_context, err);
	vec_done(&selections);
	if (code < 0)
		return code;
	code = ctf_layout_add(layout, &type->header, 0, class->event_header, err);
	return code < 0 ? code : make_event_header(trace, layout, type, err);
}

static void index_event(struct ctf_stream_type *type, uint64_t id, struct ctf_event *event)
{
	if (id >= SMALL_ID) {
		map_insert_ptr(&type->large_ids, id, event);
		return;
	}
	while (type->events.count <= id)
		*vec_push(&type->events) = NULL;
	type->events.items[id] = event;
}

static const struct ctf_type *stream_context(const struct ctf_metadata *meta, uint64_t id)
{
	for (size_t i = 0; i < meta->streams.count; i++)
		if (meta->streams.items[i].id == id)
			return meta->streams.items[i].event_context;
	return NULL;
}

static int lay_out_event(struct ctf_trace *trace, struct ctf_layout *layout,
			 const struct ctf_event_class *class, struct ctf_event *event,
			 struct err *err)
{
	const struct ctf_type *types[CTF_ROOTS] = { stream_context(trace->meta, class->stream_id),
						    class->context, class->fields };

	event->name = class->name;
	event->group = (struct ctf_group){ .names = { "stream.event.context", "event.context",
						      "event.fields" } };
	for (unsigned i = 0; i < CTF_ROOTS; i++) {
		int code = ctf_layout_add(layout, &event->group, i, types[i], err);

		if (code < 0)
			return code;
	}
	if (ctf_group_has_clock(&event->group))
		return err_set(err, -ENOTSUP, "event '%s' has a timestamp outside of its header",
			       class->name);
	return 0;
}

static int add_event(struct ctf_trace *trace, struct ctf_layout *layout,
		     const struct ctf_event_class *class, uint32_t type, struct err *err)
{
	const char *tracer = trace->meta->tracer ?: "";
	struct ctf_event *event = arena_new_of(layout->arena, struct ctf_event);
	ctf_selections selections = { 0 };
	struct ctf_stream_type *stream =
		(struct ctf_stream_type *)ctf_trace_stream(trace, class->stream_id);

	if (!stream)
		return err_set(err, -EBADMSG, "event '%s' belongs to an undeclared stream",
			       class->name);

	int code = lay_out_event(trace, layout, class, event, err);

	if (code < 0)
		return code;
	ctf_bind_event(event, strncmp(tracer, "lttng", 5) == 0 ? RAW_LTTNG : RAW_KERNEL,
		       &selections);
	event->blank.type = type;
	trace->kinds |= 1u << event->blank.kind;
	if (event->blank.kind == RAW_SWITCH)
		trace->missing_cpus = !event->has_cpu && !stream->has_cpu && !trace->has_cpu;
	code = ctf_program_compile(layout, &event->group, &selections, &event->program, err);
	vec_done(&selections);
	index_event(stream, class->id, event);
	*vec_push(&trace->events) = event;
	return code;
}

static int make_trace(struct ctf_trace *trace, size_t text_size, uint32_t first_type,
		      struct err *err)
{
	struct ctf_metadata *meta = trace->meta;
	struct ctf_layout layout = { meta, meta->arena, text_size + FIELDS };
	int code = add_header(trace, &layout, err);

	if (code == 0 && (meta->streams.count == 0 || meta->streams.count > STREAMS))
		return err_set(err, -EBADMSG, "the metadata declares no stream, or more than %d",
			       STREAMS);
	for (size_t i = 0; i < meta->streams.count && code == 0; i++)
		code = add_stream(trace, &layout, &meta->streams.items[i], err);
	for (size_t i = 0; i < meta->events.count && code == 0; i++)
		code = add_event(trace, &layout, &meta->events.items[i], first_type + i, err);
	return code;
}

int ctf_trace_new(const char *name, const void *metadata, size_t size, uint32_t first_type,
		  struct ctf_trace **ret, struct err *err)
{
	_cleanup_(ctf_trace_freep) struct ctf_trace *trace = must_alloc(sizeof(*trace));
	_cleanup_(freep) char *text = NULL;
	struct err why;
	size_t text_size;
	int code = ctf_metadata_text(name, metadata, size, &text, &text_size, err);

	if (code < 0)
		return code;
	code = ctf_metadata_parse(name, text ?: metadata, text_size, &trace->meta, err);
	if (code < 0)
		return code;
	code = make_trace(trace, text_size, first_type, &why);
	if (code < 0)
		return err_set(err, code, "'%s': %s", name, why.text);
	*ret = TAKE(trace);
	return 0;
}
