/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/ctf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "read/ctf/lexer.h"
#include "read/ctf/stream.h"
#include "read/ctf/visit.h"
#include "read/raw/input.h"

/* An entry of the heap of streams, ordered by the time of their next items. */
struct queued_stream {
	nsec_t time;
	size_t order; /* index of the stream, for items of the same time */
	struct ctf_stream *stream;
};

struct ctf {
	struct raw_source source;
	char *name;
	struct file_set files;
	VEC(struct ctf_trace *) traces;
	VEC(struct ctf_stream *) streams;
	VEC(struct queued_stream) queue;
	struct ctf_damage damage;
	uint32_t type_count;

	/* The last event. */
	const struct ctf_event *event; /* NULL after a loss */
	const struct ctf_stream_type *stream_type;
	struct ctf_bits event_at, context_at;
};

/* Fields of a packet's context that describe the packet, not its events. */
static const char packet_fields[] = "timestamp_begin timestamp_end content_size packet_size "
				    "packet_seq_num events_discarded";

static void ctf_free(struct raw_source *source)
{
	struct ctf *c = (struct ctf *)source;

	for (size_t i = 0; i < c->streams.count; i++) {
		vec_done(&c->streams.items[i]->files);
		free(c->streams.items[i]);
	}
	for (size_t i = 0; i < c->traces.count; i++)
		ctf_trace_free(c->traces.items[i]);
	vec_done(&c->streams);
	vec_done(&c->traces);
	vec_done(&c->queue);
	file_set_done(&c->files);
	free(c->source.warning);
	free(c->name);
	free(c);
}

static inline bool is_before(const struct queued_stream *a, const struct queued_stream *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* Warns of damage, after the last event. */
static void report_damage(struct ctf *c)
{
	if (!c->damage.count || c->source.warning)
		return;
	c->source.warning =
		must_printf("'%s' is damaged (%" PRIu64 " error%s), first in %s", c->name,
			    c->damage.count, c->damage.count == 1 ? "" : "s", c->damage.first);
}

static void set_last_event(struct ctf *c, const struct ctf_stream *stream)
{
	c->event = stream->item == CTF_EVENT ? stream->event : NULL;
	c->stream_type = stream->type;
	c->event_at = stream->in;
	c->context_at = stream->in;
	c->context_at.at = stream->context_at;
}

static int ctf_next(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct ctf *c = (struct ctf *)source;

	while (c->queue.count) {
		struct queued_stream *first = &c->queue.items[0];

		set_last_event(c, first->stream);

		bool is_good = ctf_stream_pop(first->stream, ret);

		first->time = first->stream->time;
		if (first->stream->item == CTF_NO_ITEM)
			*first = c->queue.items[--c->queue.count];
		heap_sift_down(c->queue.items, c->queue.count, 0, is_before);
		if (is_good)
			return 1;
	}
	report_damage(c);
	return 0;
}

static const char *ctf_name(struct raw_source *source)
{
	const struct ctf *c = (const struct ctf *)source;

	return c->event ? c->event->name : "";
}

static void ctf_fields(struct raw_source *source, const struct raw_visitor *visitor, void *arg)
{
	struct ctf *c = (struct ctf *)source;
	struct ctf_bits context = c->context_at, event = c->event_at;

	if (!c->event)
		return;
	ctf_visit(&c->stream_type->context, packet_fields, &context, visitor, arg);
	ctf_visit(&c->event->group, "", &event, visitor, arg);
}

static const char *ctf_type_name(struct raw_source *source, uint32_t type)
{
	const struct ctf *c = (const struct ctf *)source;

	for (size_t i = 0; i < c->traces.count; i++) {
		if (type < c->traces.items[i]->events.count)
			return c->traces.items[i]->events.items[type]->name;
		type -= c->traces.items[i]->events.count;
	}
	return "";
}

/* The length of the directory part of a file's name. */
static size_t directory_of(const struct trace_file *file)
{
	const char *slash = strrchr(file->name, '/');

	return slash ? slash + 1 - file->name : 0;
}

static bool is_metadata(const struct trace_file *file)
{
	return strcmp(file->name + directory_of(file), "metadata") == 0 &&
	       ctf_is_metadata(file->data, file->size);
}

static bool same_directory(const struct trace_file *a, const struct trace_file *b)
{
	size_t len = directory_of(a);

	return a != b && len == directory_of(b) && memcmp(a->name, b->name, len) == 0;
}

bool ctf_has_trace(const struct file_set *files)
{
	for (size_t i = 0; i < files->items.count; i++)
		if (is_metadata(&files->items.items[i]))
			return true;
	return false;
}

/* A file of a stream, before the files are grouped into streams. */
struct stream_file {
	struct ctf_file file;
	const struct ctf_trace *trace;
	size_t trace_number, number;
	uint64_t stream, instance;
};

typedef VEC(struct stream_file) stream_file_list;

#define COMPARE(a, b) \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int compare_streams(const struct stream_file *x, const struct stream_file *y)
{
	COMPARE(x->trace_number, y->trace_number);
	COMPARE(x->stream, y->stream);
	COMPARE(x->instance, y->instance);
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct stream_file *x = a, *y = b;
	int order = compare_streams(x, y);

	if (order)
		return order;
	COMPARE(x->file.begin, y->file.begin);
	COMPARE(x->number, y->number);
	return 0;
}

static void find_files(struct ctf *c, const struct trace_file *metadata, stream_file_list *list)
{
	const struct ctf_trace *trace = c->traces.items[c->traces.count - 1];

	for (size_t i = 0; i < c->files.items.count; i++) {
		const struct trace_file *f = &c->files.items.items[i];
		struct stream_file found = { .file = { f->name, f->data, f->size, 0 },
					     .trace = trace,
					     .trace_number = c->traces.count,
					     .number = i };
		struct ctf_packet packet;
		struct err err;

		if (!same_directory(metadata, f))
			continue;
		if (ctf_stream_identify(trace, &found.file, &packet, &err) < 0) {
			if (!c->damage.count++)
				memcpy(c->damage.first, err.text, sizeof(c->damage.first) - 1);
			continue;
		}
		found.stream = packet.stream;
		found.instance = packet.instance != CTF_UNKNOWN ? packet.instance
				 : packet.cpu != CTF_UNKNOWN    ? packet.cpu
								: i;
		*vec_push(list) = found;
	}
}

static void make_streams(struct ctf *c, stream_file_list *list)
{
	struct ctf_stream *stream = NULL;

	if (list->count)
		qsort(list->items, list->count, sizeof(list->items[0]), compare_files);
	for (size_t i = 0; i < list->count; i++) {
		const struct stream_file *found = &list->items[i];

		if (!stream || compare_streams(found, found - 1) != 0) {
			stream = must_alloc(sizeof(*stream));
			stream->trace = found->trace;
			stream->type = ctf_trace_stream(found->trace, found->stream);
			stream->damage = &c->damage;
			*vec_push(&c->streams) = stream;
		}
		*vec_push(&stream->files) = found->file;
	}
}

static void begin_streams(struct ctf *c)
{
	for (size_t i = 0; i < c->streams.count; i++) {
		struct ctf_stream *s = c->streams.items[i];

		ctf_stream_begin(s);
		if (s->item != CTF_NO_ITEM)
			*vec_push(&c->queue) = (struct queued_stream){ s->time, i, s };
	}
	for (size_t i = c->queue.count / 2; i-- > 0;)
		heap_sift_down(c->queue.items, c->queue.count, i, is_before);
}

/* The origin of a clock, in ns since 1970; 0 if it does not fit into 64 bits. */
static int64_t epoch_of(const struct ctf_clock *clock)
{
	__int128 ns = (__int128)clock->offset_s * NSEC_PER_SEC +
		      (__int128)clock->offset * NSEC_PER_SEC / clock->frequency;

	return ns > INT64_MIN && ns < INT64_MAX ? (int64_t)ns : 0;
}

/*
 * All times are converted to the first clock.  Clocks with the same uuid are the same
 * clock; their offsets differ slightly only because each trace of a session measures
 * the offset when it starts.
 */
static void align_clocks(struct ctf *c)
{
	const struct ctf_clock *base = c->traces.items[0]->streams.items[0].clock;

	for (size_t i = 0; i < c->traces.count; i++)
		for (size_t j = 0; j < c->traces.items[i]->streams.count; j++) {
			struct ctf_stream_type *type = &c->traces.items[i]->streams.items[j];
			bool is_same = base->uuid && type->clock->uuid &&
				       strcmp(base->uuid, type->clock->uuid) == 0;

			type->shift = is_same ? 0
					      : (int64_t)((uint64_t)epoch_of(type->clock) -
							  (uint64_t)epoch_of(base));
		}
	c->source.realtime_offset = epoch_of(base);
	c->source.has_realtime = c->source.realtime_offset != 0;
	c->source.is_monotonic = strcmp(base->name, "monotonic") == 0;
}

/* Traces exported by sonde use the numbering of Linux 4.14, whatever kernel they are from. */
static struct raw_states states_of(const struct ctf_trace *trace)
{
	bool is_ours = trace->kinds & 1u << RAW_WAIT;
	const char *release = trace->meta->kernel, *tracer = trace->meta->tracer ?: "";
	struct raw_states states = raw_states_of_release(is_ours ? "4.14" : release);

	states.shifted = !is_ours && strcmp(tracer, "perf") == 0 && raw_states_are_shifted(release);
	return states;
}

static int add_trace(struct ctf *c, const struct trace_file *metadata, struct err *err)
{
	struct ctf_trace *trace = NULL;
	int code = ctf_trace_new(metadata->name, metadata->data, metadata->size, c->type_count,
				 &trace, err);

	if (code < 0)
		return code;
	*vec_push(&c->traces) = trace;
	c->type_count += trace->events.count;
	c->source.kinds |= trace->kinds;
	c->source.missing_cpus |= trace->missing_cpus;
	if (trace->kinds & 1u << RAW_SWITCH)
		c->source.states = states_of(trace);
	if (c->source.host && trace->meta->host && strcmp(c->source.host, trace->meta->host) != 0)
		return err_set(
			err, -EINVAL,
			"'%s' contains traces of two hosts, '%s' and '%s'; pass their directories "
			"separately",
			c->name, c->source.host, trace->meta->host);
	if (!c->source.host)
		c->source.host = trace->meta->host;
	return 0;
}

static int add_traces(struct ctf *c, struct err *err)
{
	stream_file_list list = { 0 };
	int code = 0;

	file_set_sort(&c->files);
	for (size_t i = 0; i < c->files.items.count && code == 0; i++)
		if (is_metadata(&c->files.items.items[i])) {
			code = add_trace(c, &c->files.items.items[i], err);
			if (code == 0)
				find_files(c, &c->files.items.items[i], &list);
		}
	if (code == 0 && !c->traces.count)
		code = err_set(err, -EBADMSG, "'%s' is not a CTF trace: no valid file 'metadata'",
			       c->name);
	if (code == 0)
		make_streams(c, &list);
	vec_done(&list);
	return code;
}

int ctf_source_new(const char *name, struct file_set *files, struct raw_source **ret,
		   struct err *err)
{
	struct ctf *c = must_alloc(sizeof(*c));

	c->source = (struct raw_source){
		.next = ctf_next,
		.name = ctf_name,
		.fields = ctf_fields,
		.type_name = ctf_type_name,
		.free = ctf_free,
		.has_kinds = true,
	};
	c->name = must_strdup(name);
	c->files = *files;
	*files = (struct file_set){ 0 };

	int code = add_traces(c, err);

	if (code < 0) {
		ctf_free(&c->source);
		return code;
	}
	align_clocks(c);
	begin_streams(c);
	*ret = &c->source;
	return 0;
}

void ctf_source_meta(const struct raw_source *source, struct input_meta *ret)
{
	const struct ctf *c = (const struct ctf *)source;
	const struct ctf_metadata *meta = c->traces.items[0]->meta;

	for (size_t i = 0; i < c->traces.count && !meta->kernel; i++)
		meta = c->traces.items[i]->meta;
	ret->kernel = meta->kernel;
	ret->tool = meta->tracer;
}
