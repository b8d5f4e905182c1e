/* SPDX-License-Identifier: Apache-2.0 */
/* Export spans as OTLP and read them back. */
#include "report/export/otlp.h"

#include <string.h>
#include <unistd.h>

#include "analyse/requests/spans.h"
#include "otlp/trace.h"
#include "read/input.h"
#include "story.h"
#include "test.h"

enum { REQUESTS = 7, REALTIME = 1000000 };

/* Thread 1 receives requests, and calls thread 2 for each. */
static struct model *served(struct requests *ret)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= 2; tid++) {
		story_add(&s,
			  REC(TASK, task, 0, tid, .pid = tid, .comm = tid, .event = TASK_EXISTING));
		story_run(&s, tid, 0, 1000);
	}
	story_connect(&s, 100);
	story_connect(&s, 200);
	for (unsigned i = 0; i < REQUESTS; i++) {
		nsec_t t = 10 + 100 * i;

		story_receive(&s, 1, t, 101, 11 + 10 * i, 10);
		story_send(&s, 1, t + 10, 200, 11 + 10 * i, 10);
		story_receive(&s, 2, t + 20, 201, 11 + 10 * i, 10);
		story_send(&s, 2, t + 40, 201, 6 + 5 * i, 5);
		story_receive(&s, 1, t + 45, 200, 6 + 5 * i, 5);
		story_send(&s, 1, t + 50, 101, 21 + 20 * i, 20);
	}

	struct model *model = story_model(&s);

	requests_find(model, ret);
	story_done(&s);
	return model;
}

static const char *host_name(const void *arg, uint16_t host)
{
	(void)host;
	return arg;
}

/* Returns the path of the file. The caller removes the file. */
static struct otlp_exported write_file(const struct span_set *spans,
				       const struct requests *requests, size_t limit, bool json,
				       char path[32])
{
	struct otlp_export e = { .spans = spans,
				 .requests = requests,
				 .host_name = host_name,
				 .arg = "h\xff",
				 .realtime = REALTIME,
				 .limit = limit,
				 .json = json };
	struct otlp_exported done = { 0 };
	struct err err;

	strcpy(path, "/tmp/sonde-test-XXXXXX");

	FILE *file = fdopen(mkstemp(path), "w");

	CHECK_INT(export_otlp(&e, file, &done, &err), 0);
	fclose(file);
	return done;
}

/* Whether a span read back equals one of the model. */
static bool is_same(const struct span_set *spans, const struct input *input,
		    const struct record_span *r)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });

		if (memcmp(span->id, r->span, sizeof(span->id)) == 0)
			return memcmp(span->trace, r->trace, sizeof(span->trace)) == 0 &&
			       memcmp(span->parent_id, r->parent, sizeof(r->parent)) == 0 &&
			       span->start + REALTIME == r->start &&
			       span->end + REALTIME == r->head.time && span->tid == r->head.tid &&
			       span->pid == r->pid && span->flags == r->flags &&
			       span->source == r->source &&
			       strcmp(span_set_string(spans, span->service),
				      input_string(input, r->service)) == 0 &&
			       strcmp(span_set_string(spans, span->operation),
				      input_string(input, r->operation)) == 0;
	}
	return false;
}

/* Check that the file contains each span once; returns the number of requests in it. */
static size_t check_file(size_t limit, bool json)
{
	_cleanup_(requests_done) struct requests requests = { 0 };
	_cleanup_(model_freep) struct model *model = served(&requests);
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	_cleanup_(input_freep) struct input *input = NULL;
	char path[32];
	const struct record *record;
	struct err err = { "" };
	size_t count = 0;

	request_spans_add(&requests, NULL, &spans);

	struct otlp_exported done = write_file(&spans, &requests, limit, json, path);

	CHECK_INT(done.spans, 2 * REQUESTS);
	CHECK_INT(input_open(path, NULL, &input, &err), 0);
	CHECK_STR(err.text, "");
	while (input_next(input, &record, &err) > 0) {
		if (record->kind == RECORD_ATTRIBUTE)
			continue;
		CHECK(is_same(&spans, input, (const void *)record));
		CHECK_STR(input_record_host(input), "h\xef\xbf\xbd");
		count++;
	}
	CHECK_INT(count, 2 * REQUESTS);
	unlink(path);
	return done.requests;
}

TEST(spans_in_one_request_survive_a_round_trip)
{
	CHECK_INT(check_file(0, false), 1);
}

TEST(spans_in_many_requests_survive_a_round_trip)
{
	CHECK_INT(check_file(1, false), 2 * REQUESTS);
}

TEST(spans_in_json_survive_a_round_trip)
{
	CHECK_INT(check_file(0, true), 1);
}

TEST(spans_in_json_lines_survive_a_round_trip)
{
	CHECK_INT(check_file(1, true), 2 * REQUESTS);
}

TEST(a_model_without_spans_has_no_requests)
{
	struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests requests = { 0 };
	char path[32];
	struct otlp_exported done =
		write_file(&(struct span_set){ .model = model }, &requests, 0, false, path);

	CHECK_INT(done.requests, 0);
	CHECK_INT(done.spans, 0);
	unlink(path);
	story_done(&s);
}

static const char *get_string(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

static struct model *model_of(struct input *input)
{
	struct source source = { .get_string = get_string, .arg = input };
	struct model *model = model_new();
	const struct record *record;
	struct err err;

	while (input_next(input, &record, &err) > 0)
		model_add(model, &source, record);
	model_finish(model);
	return model;
}

static void put_all(struct otlp_writer *w)
{
	static const struct {
		const char *key;
		struct otlp_value value;
	} attributes[] = {
		{ "http.request.method", { OTLP_STRING, .text = { "GET", 3 } } },
		{ "empty", { OTLP_STRING, .text = { "", 0 } } },
		{ "least", { OTLP_INT, .number = INT64_MIN } },
		{ "thread.id", { OTLP_INT, .number = 0x7f0000001000 } },
		{ "half", { OTLP_DOUBLE, .real = 0.5 } },
		{ "endless", { OTLP_DOUBLE, .real = -1.0 / 0.0 } },
		{ "no", { OTLP_BOOL, .boolean = false } },
		{ "thread.native_id", { OTLP_INT, .number = 77 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
		otlp_put_attribute(w, (struct view){ attributes[i].key, strlen(attributes[i].key) },
				   &attributes[i].value);
}

static struct view written(struct otlp_writer *w, uint32_t kind, uint32_t status)
{
	const char *message = status == OTLP_STATUS_ERROR ? "no \xc3\xbc" : "";

	otlp_begin_resource(w, &(struct otlp_resource){ 0 });
	otlp_begin_scope(w, &(struct otlp_scope){ 0 });
	otlp_begin_span(w, &(struct otlp_span){ .trace_id = { "0123456789abcdef", 16 },
						.span_id = { "01234567", 8 },
						.name = { "x", 1 },
						.start = 1 + REALTIME,
						.end = 3 + REALTIME,
						.kind = kind,
						.status = status,
						.status_message = { message, strlen(message) } });
	put_all(w);
	return otlp_end(w);
}

/* The only span of a request. */
static struct otlp_span only_span(struct view request)
{
	struct otlp_reader reader;
	struct otlp_span span = { 0 };

	otlp_reader_init(&reader, request);
	CHECK_INT(otlp_next_span(&reader, &span), 1);
	return span;
}

static bool is_view(struct view a, struct view b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* The second list starts with all of the first, followed by each added attribute once. */
static void check_lists(struct otlp_list first, struct otlp_list other)
{
	struct otlp_attribute a, b;

	while (otlp_attribute_next(&first, &a) > 0) {
		CHECK_INT(otlp_attribute_next(&other, &b), 1);
		CHECK(is_view(a.key, b.key) && is_view(a.value, b.value));
	}
	while (otlp_attribute_next(&other, &b) > 0)
		CHECK(is_view(b.key, (struct view){ "sonde.tid", 9 }));
}

static char *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	char *text = must_alloc(1 << 16);

	*ret_size = fread(text, 1, 1 << 16, file);
	fclose(file);
	return text;
}

/* Import and export a span, in either encoding: its own attributes are kept and not repeated. */
static void check_kept(uint32_t kind, uint32_t status, bool json)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	struct view request = written(&w, kind, status);
	_cleanup_(input_freep) struct input *input = NULL, *again = NULL;
	char path[32];
	struct err err;
	struct requests none = { 0 };
	size_t size;

	strcpy(path, "/tmp/sonde-test-XXXXXX");
	FILE *file = fdopen(mkstemp(path), "w");
	fwrite(request.s, 1, request.len, file);
	fclose(file);
	CHECK_INT(input_open(path, NULL, &input, &err), 0);
	unlink(path);

	_cleanup_(model_freep) struct model *model = model_of(input);

	write_file(&(struct span_set){ .model = model }, &none, 0, json, path);
	if (json) { /* convert it to protobuf to compare */
		CHECK_INT(input_open(path, NULL, &again, &err), 0);
		unlink(path);
		_cleanup_(model_freep) struct model *other = model_of(again);
		write_file(&(struct span_set){ .model = other }, &none, 0, false, path);
	}

	_cleanup_(freep) char *bytes = read_whole(path, &size);
	struct otlp_span before = only_span(request);
	struct otlp_span after = only_span((struct view){ bytes, size });

	unlink(path);
	CHECK_INT(after.kind, kind);
	CHECK_INT(after.status, status);
	CHECK(is_view(after.status_message, before.status_message));
	check_lists(before.attributes, after.attributes);
}

TEST(attributes_of_a_span_are_exported_unchanged)
{
	for (uint32_t kind = 0; kind <= OTLP_KIND_CONSUMER; kind++)
		for (uint32_t status = 0; status <= OTLP_STATUS_ERROR; status++) {
			check_kept(kind, status, false);
			check_kept(kind, status, true);
		}
}
