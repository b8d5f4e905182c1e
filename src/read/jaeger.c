/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaeger - spans as Jaeger's interface and its export give them: JSON.
 *
 *	{"data": [{"traceID": "7f3a", "processes": {"p1": {"serviceName": "front", "tags": []}},
 *		"spans": [{"traceID": "7f3a", "spanID": "51c0", "operationName": "GET /",
 *			"references": [{"refType": "CHILD_OF", "traceID": "7f3a", "spanID": "1"}],
 *			"startTime": 1700000000000000, "duration": 212400,
 *			"processID": "p1", "tags": [{"key": "error", "value": true}]}]}]}
 *
 * Also one trace alone, and an array of traces.  Times are microseconds since
 * 1970.  The file is read as a whole and its spans sorted by their ends, since
 * that is the order of records.  A span without what a span needs is left out
 * and counted; the notice says how many, and what was wrong with the first.
 *
 * A span's thread is taken from a tag only if that means the system's number:
 * thread.native_id (as .NET writes it) or our own sonde.tid.  What thread.id
 * means depends on the language.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "read/input_parts.h"
#include "read/json_value.h"

struct jaeger_span {
	struct record_span record;
	str_id host;
	uint64_t order; /* in the file */
};

struct jaeger {
	struct input input;
	struct strtab *strings;
	VEC(struct jaeger_span) spans;
	size_t at;
};

/* What the spans of a process have in common. */
struct service {
	str_id name, host;
	uint32_t pid;
};

/* The trace that is being taken apart. */
struct reading {
	struct jaeger *jaeger;
	yyjson_val *trace_id;
	VEC(struct service) services;
	struct map service_index; /* hash of its name in the file -> place + 1 */
	uint64_t traces, spans;   /* seen so far, these of the trace */
	uint64_t seen, skipped;   /* spans of all traces */
	char first_skipped[128];  /* why */
};

static yyjson_val *field(yyjson_val *object, const char *name)
{
	return yyjson_obj_get(object, name); /* NULL, if it is no object */
}

static str_id take_string(struct jaeger *j, yyjson_val *value)
{
	struct json_text text = json_text(value);

	return text.s ? strtab_add_n(j->strings, text.s, text.len) : (str_id){ 0 };
}

static void skip(struct reading *r, const char *why)
{
	if (!r->skipped++)
		snprintf(r->first_skipped, sizeof(r->first_skipped),
			 "span %" PRIu64 " of trace %" PRIu64 " %s", r->spans, r->traces, why);
}

static uint64_t hash_of(yyjson_val *key)
{
	struct json_text text = json_text(key);

	return XXH3_64bits(text.s, text.len);
}

static struct service read_service(struct reading *r, yyjson_val *process)
{
	struct service service = { .name = take_string(r->jaeger, field(process, "serviceName")) };
	yyjson_arr_iter iter = yyjson_arr_iter_with(field(process, "tags"));

	for (yyjson_val *tag; (tag = yyjson_arr_iter_next(&iter));) {
		struct json_text key = json_text(field(tag, "key"));
		yyjson_val *value = field(tag, "value");

		if (json_text_is(key, "process.pid") || json_text_is(key, "pid"))
			json_u32(value, &service.pid);
		else if (json_text_is(key, "hostname") || json_text_is(key, "host.name"))
			service.host = take_string(r->jaeger, value);
	}
	return service;
}

static void read_services(struct reading *r, yyjson_val *processes)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(processes);

	map_done(&r->service_index);
	r->services.count = 0;
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
		*vec_push(&r->services) = read_service(r, yyjson_obj_iter_get_val(key));
		*map_insert(&r->service_index, hash_of(key)) = r->services.count;
	}
}

static struct service service_of(struct reading *r, yyjson_val *span)
{
	yyjson_val *id = field(span, "processID");
	const uint64_t *found = json_text(id).s ? map_find(&r->service_index, hash_of(id)) : NULL;

	/* some exports put the process into each span */
	return found ? r->services.items[*found - 1] : read_service(r, field(span, "process"));
}

/* Tools do not agree on the type of this tag, and a word in it is what went wrong. */
static bool is_true(yyjson_val *value)
{
	struct json_text text = json_text(value);

	return yyjson_is_true(value) ||
	       (text.len && !json_text_is(text, "false") && !json_text_is(text, "0"));
}

static void read_tags(struct record_span *span, yyjson_val *tags)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(tags);

	for (yyjson_val *tag; (tag = yyjson_arr_iter_next(&iter));) {
		struct json_text key = json_text(field(tag, "key"));
		yyjson_val *value = field(tag, "value");

		if (json_text_is(key, "thread.native_id") || json_text_is(key, "sonde.tid"))
			json_u32(value, &span->head.tid);
		else if ((json_text_is(key, "error") && is_true(value)) ||
			 (json_text_is(key, "otel.status_code") &&
			  json_text_is(json_text(value), "ERROR")))
			span->flags |= SPAN_ERROR;
	}
}

/* The first it is a child of, or else the first that it follows, in its own trace. */
static void read_references(struct record_span *span, yyjson_val *references)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(references);
	bool found = false;

	for (yyjson_val *ref; (ref = yyjson_arr_iter_next(&iter));) {
		struct json_text type = json_text(field(ref, "refType"));
		bool follows = json_text_is(type, "FOLLOWS_FROM");
		uint8_t trace[16], parent[8];

		if ((found && follows) || (!follows && !json_text_is(type, "CHILD_OF")) ||
		    !json_id(field(ref, "spanID"), parent, sizeof(parent)))
			continue;
		if (json_id(field(ref, "traceID"), trace, sizeof(trace)) &&
		    memcmp(trace, span->trace, sizeof(trace)) != 0)
			continue;
		memcpy(span->parent, parent, sizeof(parent));
		span->flags = follows ? span->flags | SPAN_FOLLOWS : span->flags & ~SPAN_FOLLOWS;
		found = true;
		if (!follows)
			break;
	}
}

/* As Jaeger wrote it before there were references: nothing but zeros is no parent. */
static void read_parent(struct record_span *span, yyjson_val *value)
{
	struct json_text text = json_text(value);
	size_t zeros = 0;

	while (zeros < text.len && text.s[zeros] == '0')
		zeros++;
	if (zeros < text.len)
		json_id(value, span->parent, sizeof(span->parent));
}

/* NULL, or what the span lacks. */
static const char *read_times(struct record_span *span, yyjson_val *value)
{
	int64_t start, duration, end;

	if (!json_scaled(field(value, "startTime"), 3, &start) || start < 0)
		return "has no startTime that is one";
	if (!json_scaled(field(value, "duration"), 3, &duration) || duration < 0)
		return "has no duration that is one";
	if (__builtin_add_overflow(start, duration, &end))
		return "never ends";
	span->start = start;
	span->head.time = end;
	return NULL;
}

static const char *read_ids(const struct reading *r, struct record_span *span, yyjson_val *value)
{
	if (!json_id(field(value, "spanID"), span->span, sizeof(span->span)))
		return "has no spanID";
	if (!json_id(field(value, "traceID"), span->trace, sizeof(span->trace)) &&
	    !json_id(r->trace_id, span->trace, sizeof(span->trace)))
		return "has no traceID";
	return NULL;
}

static void read_span(struct reading *r, yyjson_val *value)
{
	struct record_span span = { .head = { .kind = RECORD_SPAN, .words = sizeof(span) / 8 },
				    .source = SPAN_SDK };
	const char *lack = read_ids(r, &span, value) ?: read_times(&span, value);

	r->seen++;
	r->spans++;
	if (lack) {
		skip(r, lack);
		return;
	}

	struct service service = service_of(r, value);

	span.service = service.name.i;
	span.pid = service.pid;
	span.operation = take_string(r->jaeger, field(value, "operationName")).i;
	read_parent(&span, field(value, "parentSpanID"));
	read_references(&span, field(value, "references"));
	read_tags(&span, field(value, "tags"));
	*vec_push(&r->jaeger->spans) = (struct jaeger_span){ span, service.host, r->seen };
}

/* Whether this is a trace at all. */
static bool read_trace(struct reading *r, yyjson_val *trace)
{
	yyjson_val *spans = field(trace, "spans");
	yyjson_arr_iter iter = yyjson_arr_iter_with(spans);

	r->traces++;
	r->spans = 0;
	if (!yyjson_is_arr(spans))
		return false;
	r->trace_id = field(trace, "traceID");
	read_services(r, field(trace, "processes"));
	for (yyjson_val *span; (span = yyjson_arr_iter_next(&iter));)
		read_span(r, span);
	return true;
}

static int read_traces(struct reading *r, const char *name, yyjson_val *root, struct err *err)
{
	yyjson_val *traces = field(root, "data") ?: root;
	yyjson_arr_iter iter = yyjson_arr_iter_with(traces);
	bool all = yyjson_is_arr(traces) || read_trace(r, traces);

	for (yyjson_val *trace; (trace = yyjson_arr_iter_next(&iter));)
		all = read_trace(r, trace) && all;
	if (all)
		return 0;
	return err_set(err, -EBADMSG, "'%s' is no Jaeger trace: %s", name,
		       yyjson_is_arr(traces) ? "one of its traces has no array \"spans\""
					     : "expected an array \"data\" or \"spans\"");
}

static int compare_ends(const void *a, const void *b)
{
	const struct jaeger_span *x = a, *y = b;

	if (x->record.head.time != y->record.head.time)
		return x->record.head.time < y->record.head.time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int read_doc(const char *name, yyjson_doc *doc, struct input **ret, struct err *err)
{
	struct jaeger *j = must_alloc(sizeof(*j));
	_cleanup_(input_freep) struct input *input = &j->input;
	struct reading r = { .jaeger = j };

	j->input.format = &jaeger_format;
	j->input.has_realtime = true;
	j->strings = strtab_new();

	int code = read_traces(&r, name, yyjson_doc_get_root(doc), err);

	vec_done(&r.services);
	map_done(&r.service_index);
	if (code < 0)
		return code;
	if (j->spans.count)
		qsort(j->spans.items, j->spans.count, sizeof(j->spans.items[0]), compare_ends);
	if (r.skipped)
		j->input.notice = must_printf("'%s': left out %" PRIu64 " of %" PRIu64 " spans; %s",
					      name, r.skipped, r.seen, r.first_skipped);
	*ret = TAKE(input);
	return 0;
}

int jaeger_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err)
{
	_cleanup_(yyjson_doc_freep) yyjson_doc *doc = NULL;
	int r = json_parse(name, data, size, &doc, err);

	return r < 0 ? r : read_doc(name, doc, ret, err);
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	_cleanup_(yyjson_doc_freep) yyjson_doc *doc = NULL;
	int r = json_load(path, &doc, err);

	return r < 0 ? r : read_doc(path, doc, ret, err);
}

static bool is_jaeger(const char *head, size_t size)
{
	static const char *const keys[] = { "\"traceID\"", "\"spans\"", "\"data\"" };
	size_t at = 0;

	while (at < size && memchr(" \t\r\n", head[at], 4))
		at++;
	if (at == size || (head[at] != '{' && head[at] != '['))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (memmem(head, size, keys[i], strlen(keys[i])))
			return true;
	return false;
}

static int next_record(struct input *input, const struct record **ret, struct err *err)
{
	struct jaeger *j = (struct jaeger *)input;

	if (j->at == j->spans.count)
		return 0;

	const struct jaeger_span *span = &j->spans.items[j->at++];

	input->record_host = strtab_get(j->strings, span->host);
	*ret = &span->record.head;
	return 1;
}

static const char *get_string(const struct input *input, uint32_t id)
{
	return strtab_get(((const struct jaeger *)input)->strings, (str_id){ id });
}

static void free_input(struct input *input)
{
	struct jaeger *j = (struct jaeger *)input;

	strtab_free(j->strings);
	vec_done(&j->spans);
	free(j);
}

const struct input_format jaeger_format = {
	.name = "jaeger",
	.is_one = is_jaeger,
	.open = open_file,
	.next = next_record,
	.string = get_string,
	.free = free_input,
};
