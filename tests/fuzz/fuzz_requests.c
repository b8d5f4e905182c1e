/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a capture.  The fuzzer corrects its checksums, so that damaged records reach
 * the model.  The rebuilt requests must be trees that can be shown, and an export must contain one
 * span for each span of the set.
 */
#include <assert.h>
#include <stdio.h>

#include "analyse/observation.h"
#include "analyse/path.h"
#include "analyse/requests/spans.h"
#include "event/capture.h"
#include "otlp/trace.h"
#include "report/export/otlp.h"
#include "report/requests.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static struct model *read_model(const struct capture *cap)
{
	struct source source = { .get_string = get_string, .arg = cap };
	struct model *model = model_new();
	const struct record *r;
	struct capture_cursor cur;
	struct err err;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0)
		model_add(model, &source, r);
	model_finish(model);
	return model;
}

static void check_trees(const struct requests *requests)
{
	size_t roots = 0, most = requests->spans.count;

	for (size_t i = 1; i < most; i++) {
		const struct request_span *span = &requests->spans.items[i];
		size_t steps = 0;

		assert(span->parent < most && span->start <= span->end);
		roots += !span->parent && span->kind == REQUEST_NETWORK;
		for (uint32_t at = i; at; at = requests->spans.items[at].parent)
			assert(steps++ < most);
	}
	assert(roots == requests->roots.count);
}

/* The leaves of a path cover the time of its span, without gap or overlap. */
static void check_paths(const struct span_set *spans)
{
	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		const struct span *span = span_set_at(spans, (span_id){ i });
		struct path path = { 0 };
		nsec_t at = span_arrival(span);

		if (span->start > span->end)
			continue; /* as recorded */
		path_of_span(spans, (span_id){ i }, &path);
		for (size_t k = 0; k < path.steps.count; k++) {
			const struct step *step = &path.steps.items[k];

			if (!step->is_leaf)
				continue;
			assert(step->start == at && step->start < step->end);
			at = step->end;
		}
		assert(at == span->end);
		path_done(&path);
	}
}

/* The runs of an interval, and what is beside them, add up to its total. */
static void check_observation(void *arg, const struct observation *o)
{
	nsec_t own = 0;

	(void)arg;
	for (size_t i = 0; i < o->intervals.count; i++) {
		const struct own_interval *v = &o->intervals.items[i];
		nsec_t sum = v->ready + v->throttled + v->irq + v->queued + v->gap;

		assert(v->run + v->run_count <= o->runs.count);
		for (size_t k = v->run; k < v->run + v->run_count; k++)
			sum += o->runs.items[k].time;
		assert(!o->has_states || sum == v->total);
		own += v->total;
	}
	assert(o->intervals.count && own == o->own && o->own + o->queueing <= o->duration);
}

static void check_observations(const struct span_set *spans)
{
	struct observation_counts counts;

	observations_find(spans, check_observation, NULL, &counts);
}

static const char *host_name(const void *arg, uint16_t host)
{
	(void)host;
	return arg;
}

static void put_nothing(const void *arg, struct json *j)
{
	(void)arg;
	(void)j;
}

static void show(const struct span_set *spans, const struct requests *requests, FILE *file)
{
	struct request_view view = { .model = spans->model,
				     .spans = spans,
				     .requests = requests,
				     .summed = requests->roots.items,
				     .summed_count = requests->roots.count,
				     .roots = requests->roots.items,
				     .root_count = requests->roots.count,
				     .host_name = host_name,
				     .more = put_nothing,
				     .arg = "host" };
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;

	out_init(out, file);
	json_init(&j, out);
	requests_summary(out, &(struct style){ .columns = 80 }, &view);
	requests_tree(out, &view);
	requests_json(&j, &view);
	out_flush(out);
}

static void check_export(const struct span_set *spans, const struct requests *requests)
{
	struct otlp_export e = {
		.spans = spans, .requests = requests, .host_name = host_name, .arg = "host"
	};
	struct otlp_exported done;
	struct otlp_reader reader;
	struct otlp_span span;
	char *text = NULL;
	size_t size, count = 0;
	FILE *file = open_memstream(&text, &size);
	struct err err;

	assert(export_otlp(&e, file, &done, &err) == 0);
	fclose(file);
	otlp_reader_init(&reader, (struct view){ text, size });
	while (otlp_next_span(&reader, &span) > 0)
		count++;
	assert(!reader.damage && count == done.spans);
	assert(done.spans == span_set_count(spans) - 1);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	_cleanup_(requests_done) struct requests requests = { 0 };
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return 0;

	_cleanup_(model_freep) struct model *model = read_model(cap);
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	FILE *file = fopen("/dev/null", "w");

	requests_find(model, &requests);
	check_trees(&requests);
	request_spans_add(&requests, NULL, &spans);
	check_paths(&spans);
	check_observations(&spans);
	if (file)
		show(&spans, &requests, file);
	check_export(&spans, &requests);
	if (file)
		fclose(file);
	return 0;
}
