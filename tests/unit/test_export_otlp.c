/* SPDX-License-Identifier: Apache-2.0 */
/* Spans exported as OTLP, and read again. */
#include "report/export_otlp.h"

#include <string.h>
#include <unistd.h>

#include "analyse/request_spans.h"
#include "otlp/trace.h"
#include "read/input.h"
#include "story.h"
#include "test.h"

enum { REQUESTS = 7, REALTIME = 1000000 };

/* Thread 1 gets requests, and asks thread 2 for each. */
static struct model *served(struct requests *ret)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= 2; tid++) {
		story_add(&s, REC(TASK, task, 0, tid, .pid = tid, .comm = tid, .event = TASK_SEEN));
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
	request_spans_add(model, ret);
	story_done(&s);
	return model;
}

static const char *host_name(const void *arg, uint16_t host)
{
	(void)host;
	return arg;
}

/* The file's path, which the caller removes. */
static struct otlp_exported write_file(const struct model *model, const struct requests *requests,
				       size_t limit, bool json, char path[32])
{
	struct otlp_export e = { .model = model,
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

/* Whether a span that was read is one of the model, told alike. */
static bool is_same(const struct model *model, const struct input *input,
		    const struct record_span *r)
{
	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });

		if (memcmp(span->id, r->span, sizeof(span->id)) == 0)
			return memcmp(span->trace, r->trace, sizeof(span->trace)) == 0 &&
			       memcmp(span->parent_id, r->parent, sizeof(r->parent)) == 0 &&
			       span->start + REALTIME == r->start &&
			       span->end + REALTIME == r->head.time && span->tid == r->head.tid &&
			       span->pid == r->pid && span->flags == r->flags &&
			       span->source == r->source &&
			       strcmp(model_string(model, span->service),
				      input_string(input, r->service)) == 0 &&
			       strcmp(model_string(model, span->operation),
				      input_string(input, r->operation)) == 0;
	}
	return false;
}

/* All spans are in the file, each once; returns how many requests that has. */
static size_t check_file(size_t limit, bool json)
{
	_cleanup_(requests_done) struct requests requests = { 0 };
	_cleanup_(model_freep) struct model *model = served(&requests);
	_cleanup_(input_freep) struct input *input = NULL;
	char path[32];
	struct otlp_exported done = write_file(model, &requests, limit, json, path);
	const struct record *record;
	struct err err = { "" };
	size_t count = 0;

	CHECK_INT(done.spans, 2 * REQUESTS);
	CHECK_INT(input_open(path, NULL, &input, &err), 0);
	CHECK_STR(err.text, "");
	while (input_next(input, &record, &err) > 0) {
		CHECK(is_same(model, input, (const void *)record));
		CHECK_STR(input_record_host(input), "h\xef\xbf\xbd");
		count++;
	}
	CHECK_INT(count, 2 * REQUESTS);
	unlink(path);
	return done.requests;
}

TEST(spans_in_one_request_are_read_again)
{
	CHECK_INT(check_file(0, false), 1);
}

TEST(spans_in_many_requests_are_read_again)
{
	CHECK_INT(check_file(1, false), 2 * REQUESTS);
}

TEST(spans_in_json_are_read_again)
{
	CHECK_INT(check_file(0, true), 1);
}

TEST(spans_in_lines_of_json_are_read_again)
{
	CHECK_INT(check_file(1, true), 2 * REQUESTS);
}

TEST(a_model_without_spans_has_no_requests)
{
	struct story s = { 0 };
	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct requests requests = { 0 };
	char path[32];
	struct otlp_exported done = write_file(model, &requests, 0, false, path);

	CHECK_INT(done.requests, 0);
	CHECK_INT(done.spans, 0);
	unlink(path);
	story_done(&s);
}
