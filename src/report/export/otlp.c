/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/lost.h"
#include "analyse/requests/spans.h"
#include "analyse/use_sums.h"
#include "analyse/requests/sum.h"
#include "base/map.h"
#include "otlp/trace.h"
#include "report/export/otlp_latency.h"
#include "report/export/otlp_put.h"

/* Collectors reject more than 4 MiB over gRPC and 20 MiB over HTTP; spans are not split. */
enum { REQUEST_LIMIT = 2 << 20 };

struct otlp_exporter {
	const struct otlp_export *e;
	struct map rebuilt; /* span ID: index in requests->spans */
	VEC(struct use_sums) sums;
	struct map sum_index; /* thread: index in sums + 1 */
	struct otlp_writer w;
	struct otlp_exported done;
	struct otlp_put put;
	FILE *file;
	struct out *out; /* for JSON */
	span_id last;    /* last span of the open resource; 0 if none is open */
	struct err *err;
	int failure; /* of sending; 0 if none */
};

static struct view plain(const char *s)
{
	return (struct view){ s, strlen(s) };
}

/* Attributes for the status of a span, which OTLP has fields for. */
static const char status_code[] = "otel.status_code";
static const char status_description[] = "otel.status_description";

static struct otlp_value own_value(struct otlp_exporter *x, const struct attribute *own)
{
	struct otlp_value value = { OTLP_INT, .number = own->value };

	if (own->type == ATTRIBUTE_STRING) {
		const char *text = model_string(x->e->spans->model, (str_id){ own->value });

		value = (struct otlp_value){ OTLP_STRING, .text = clean_text(&x->put.value, text) };
	} else if (own->type == ATTRIBUTE_BOOL) {
		value = (struct otlp_value){ OTLP_BOOL, .boolean = own->value };
	} else if (own->type == ATTRIBUTE_DOUBLE) {
		value.type = OTLP_DOUBLE;
		memcpy(&value.real, &own->value, sizeof(value.real));
	}
	return value;
}

static void put_own(struct otlp_exporter *x)
{
	for (size_t i = 0; i < x->put.own.count; i++) {
		const char *key = model_string(x->e->spans->model, x->put.own.items[i].key);
		struct otlp_value value = own_value(x, &x->put.own.items[i]);

		if (strcmp(key, status_code) != 0 && strcmp(key, status_description) != 0)
			otlp_put_attribute(&x->w, clean_text(&x->put.key, key), &value);
	}
}

/* "" if the attribute is missing or not a string. */
static const char *own_text(const struct otlp_exporter *x, const char *key)
{
	const struct attribute *own = otlp_put_find_own(&x->put, key);

	return own && own->type == ATTRIBUTE_STRING
		       ? model_string(x->e->spans->model, (str_id){ own->value })
		       : "";
}

/* Attributes of a rebuilt span only. */
static void put_rebuilt(struct otlp_exporter *x, uint32_t number)
{
	const struct request_span *span = &x->e->requests->spans.items[number];
	struct request_address address = request_address(x->e->spans->model, span);
	struct request_use use = { 0 };

	otlp_put_text(&x->put, "sonde.kind", request_kind_name(span->kind));
	otlp_put_real(&x->put, "sonde.confidence", span->confidence);
	if (strcmp(address.local, "unix") == 0)
		otlp_put_text(&x->put, "network.transport", "unix");
	otlp_put_address(&x->put, "local", address.local);
	otlp_put_address(&x->put, "peer", address.peer);
	request_use_add(x->e->spans->model, x->e->requests, number, &use);
	otlp_put_use(&x->put, &use);
	request_use_done(&use);
}

static void put_thread(struct otlp_exporter *x, const struct span *span)
{
	const struct thread *thread = model_thread(x->e->spans->model, span->thread);

	if (span->tid) {
		otlp_put_int(&x->put, "thread.id", span->tid);
		otlp_put_int(&x->put, "sonde.tid", span->tid);
	}
	if (span->thread.i)
		otlp_put_text(&x->put, "thread.name",
			      model_string(x->e->spans->model, thread->comm));
}

static const struct use_sums *sums_of(struct otlp_exporter *x, thread_id thread)
{
	uint64_t *at = map_insert(&x->sum_index, thread.i);

	if (!*at) {
		use_sums_init(vec_push(&x->sums), x->e->spans->model, thread);
		*at = x->sums.count;
	}
	return &x->sums.items[*at - 1];
}

static void put_facts(struct otlp_exporter *x, const struct span *span, uint32_t rebuilt)
{
	struct request_use use = { 0 };

	struct lost lost = lost_of_span(x->e->spans->model, span);

	put_thread(x, span);
	otlp_put_queueing(&x->put, span);
	if (lost.losses)
		otlp_put_int(&x->put, "sonde.lost", lost.records);
	if (span->flags & SPAN_OPEN)
		otlp_put_true(&x->put, "sonde.unfinished");
	if (span->flags & SPAN_FOLLOWS)
		otlp_put_true(&x->put, "sonde.follows_from");
	if (span->shift)
		otlp_put_int(&x->put, "sonde.clock_shift", span->shift);
	if (rebuilt) {
		put_rebuilt(x, rebuilt);
		return;
	}
	if (span->thread.i)
		use_sums_add(sums_of(x, span->thread), x->e->spans->model, span->start, span->end,
			     &use);
	otlp_put_use(&x->put, &use);
	request_use_done(&use);
}

/* The number of a rebuilt span; 0 for other spans. */
static uint32_t request_number(const struct otlp_exporter *x, const struct span *span)
{
	uint64_t key;
	const uint64_t *number;

	memcpy(&key, span->id, sizeof(key));
	number = span->source == SPAN_INFERRED ? map_find(&x->rebuilt, key) : NULL;
	return number ? *number : 0;
}

static uint32_t kind_of(const struct otlp_exporter *x, const struct span *span, uint32_t rebuilt)
{
	if (span->kind || !rebuilt)
		return span->kind;
	return x->e->requests->spans.items[rebuilt].kind == REQUEST_NETWORK ? OTLP_KIND_SERVER
									    : OTLP_KIND_INTERNAL;
}

static uint32_t status_of(const struct otlp_exporter *x, const struct span *span)
{
	if (span->flags & SPAN_ERROR)
		return OTLP_STATUS_ERROR;
	return strcmp(own_text(x, status_code), "OK") == 0 ? OTLP_STATUS_OK : OTLP_STATUS_UNSET;
}

static const struct span *own_times(const struct otlp_exporter *x, span_id id)
{
	return id.i < model_span_count(x->e->spans->model) ? model_span(x->e->spans->model, id)
							   : span_set_at(x->e->spans, id);
}

static void put_span(struct otlp_exporter *x, span_id id)
{
	const struct span *span = span_set_at(x->e->spans, id);
	uint32_t rebuilt = request_number(x, span);
	/* a join extends the times of a recorded span in the set only */
	const struct span *timed = span->source == SPAN_INFERRED ? span : own_times(x, id);
	static const uint8_t none[8];
	bool is_root = memcmp(span->parent_id, none, sizeof(none)) == 0;
	struct otlp_latency latency;

	x->put.own = model_span_attributes(x->e->spans->model, id);

	struct otlp_span s = {
		.trace_id = { (const char *)span->trace, sizeof(span->trace) },
		.span_id = { (const char *)span->id, sizeof(span->id) },
		.parent_span_id = { (const char *)span->parent_id, is_root ? 0 : sizeof(none) },
		.name = clean_text(&x->put.key, span_set_string(x->e->spans, span->operation)),
		.start = timed->start + (uint64_t)x->e->realtime,
		.end = timed->end + (uint64_t)x->e->realtime,
		.kind = kind_of(x, span, rebuilt),
		.status = status_of(x, span),
		.status_message = clean_text(&x->put.value, own_text(x, status_description)),
	};

	otlp_begin_span(&x->w, &s);
	put_own(x);
	put_facts(x, span, rebuilt);
	if (!span->parent.i && otlp_latency_find(x->e->spans, id, &latency))
		otlp_latency_put(&latency, &x->put);
	x->done.spans++;
}

static void put_resource(struct otlp_exporter *x, const struct span *span)
{
	const struct model *model = x->e->spans->model;
	const struct process *process = model_process(model, span->host, span->pid);
	bool rebuilt = span->source == SPAN_INFERRED;

	x->put.own = (struct attributes){ 0 };
	otlp_begin_resource(&x->w, &(struct otlp_resource){ 0 });
	otlp_put_text(&x->put, "service.name", span_set_string(x->e->spans, span->service));
	otlp_put_text(&x->put, "host.name", x->e->host_name(x->e->arg, span->host));
	if (rebuilt)
		otlp_put_true(&x->put, "sonde.inferred");
	if (span->pid)
		otlp_put_int(&x->put, "process.pid", span->pid);
	if (process && span->pid) {
		otlp_put_text(&x->put, "process.command_line",
			      model_string(model, process->cmdline));
		otlp_put_text(&x->put, "container.name", model_string(model, process->container));
	}
	otlp_begin_scope(&x->w,
			 &(struct otlp_scope){ .name = plain(rebuilt ? "sonde" : ""),
					       .version = plain(rebuilt ? SONDE_VERSION : "") });
}

#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))

/* Compare what identifies a resource and a scope. */
static int compare_owners(const struct span *a, const struct span *b)
{
	return COMPARE(a->host, b->host) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->service.i, b->service.i) ?: COMPARE(a->source, b->source);
}

static int in_order(const void *a, const void *b, void *arg)
{
	const span_id *p = a, *q = b;
	const struct span *x = span_set_at(arg, *p), *y = span_set_at(arg, *q);

	return compare_owners(x, y) ?: COMPARE(x->start, y->start) ?: COMPARE(p->i, q->i);
}

/* Write one request, preceded by its length if framed. */
static void write_request(struct otlp_exporter *x, bool framed)
{
	struct view request = otlp_end(&x->w);
	struct json j;

	if (x->e->send) {
		x->failure = x->e->send(x->e->send_arg, request, x->done.spans, x->err);
	} else if (x->e->json) {
		json_init(&j, x->out);
		otlp_json(&j, request);
		json_newline(&j);
	} else {
		uint32_t length = __builtin_bswap32(request.len);

		if (framed)
			fwrite(&length, sizeof(length), 1, x->file);
		fwrite(request.s, 1, request.len, x->file);
	}
	x->done.requests++;
	x->last = (span_id){ 0 };
	otlp_writer_done(&x->w);
}

static void write_all(struct otlp_exporter *x, const span_id *order, size_t count)
{
	const struct span_set *spans = x->e->spans;
	size_t limit = x->e->limit ? x->e->limit : REQUEST_LIMIT;

	for (size_t i = 0; i < count && !x->failure; i++) {
		const struct span *span = span_set_at(spans, order[i]);

		if (x->w.out.size >= limit)
			write_request(x, true);
		if (!x->last.i || compare_owners(span, span_set_at(spans, x->last)) != 0)
			put_resource(x, span);
		x->last = order[i];
		put_span(x, order[i]);
	}
	if (count && !x->failure)
		write_request(x, x->done.requests > 0);
}

static void find_rebuilt(struct otlp_exporter *x)
{
	const struct requests *requests = x->e->requests;

	for (size_t i = 1; i < requests->spans.count; i++) {
		uint64_t key;

		memcpy(&key, requests->spans.items[i].id, sizeof(key));
		*map_insert(&x->rebuilt, key) = i;
	}
}

static void otlp_exporter_done(struct otlp_exporter *x)
{
	for (size_t i = 0; i < x->sums.count; i++)
		use_sums_done(&x->sums.items[i]);
	vec_done(&x->sums);
	map_done(&x->sum_index);
	map_done(&x->rebuilt);
	otlp_put_done(&x->put);
}

int export_otlp(const struct otlp_export *e, FILE *file, struct otlp_exported *ret, struct err *err)
{
	size_t count = e->only ? e->only_count : span_set_count(e->spans) - 1;
	_cleanup_(freep) span_id *order = must_alloc((count + 1) * sizeof(*order));
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct otlp_exporter x = { .e = e, .file = file, .out = out, .err = err };
	int r;

	x.put = (struct otlp_put){ .w = &x.w, .model = e->spans->model };

	out_init(out, file);
	find_rebuilt(&x);
	for (size_t i = 0; i < count; i++)
		order[i] = e->only ? e->only[i] : (span_id){ i + 1 };
	qsort_r(order, count, sizeof(*order), in_order, (void *)e->spans);
	write_all(&x, order, count);
	otlp_exporter_done(&x);
	if (x.failure || e->send) {
		*ret = x.done;
		return x.failure;
	}
	r = out_flush(out);
	if (r == 0 && (fflush(file) != 0 || ferror(file)))
		return err_errno(err, "cannot write the spans");
	if (r < 0)
		return err_set(err, r, "cannot write the spans: %s", strerror(-r));
	*ret = x.done;
	return 0;
}
