/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests CASE N - do what a relay does with export requests, on an input of size N.
 *
 * Each case is large in one dimension, among them those that a hostile sender would choose.
 */
#include <stdio.h>
#include <string.h>

#include "base/quantile.h"
#include "base/vec.h"
#include "otlp/check.h"
#include "otlp/from_json.h"
#include "otlp/splice.h"
#include "otlp/trace.h"
#include "relay/slow.h"

#define VIEW(text) ((struct view){ text, sizeof(text) - 1 })

static struct view view_of(const struct pb_buffer *b)
{
	return (struct view){ b->data ? (const char *)b->data : "", b->size };
}

/* n resources, scopes and spans in each of the one above. */
static struct otlp_writer make_request(size_t resources, size_t scopes, size_t spans)
{
	struct otlp_writer w = { 0 };

	for (size_t r = 0; r < resources; r++) {
		otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
		for (size_t s = 0; s < scopes; s++) {
			otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
			for (size_t i = 0; i < spans; i++)
				otlp_begin_span(&w, &(struct otlp_span){ .name = VIEW("GET /") });
		}
	}
	return w;
}

static void check_and_splice(size_t resources, size_t scopes, size_t spans)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = make_request(resources, scopes, spans);
	_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
	struct view request = otlp_end(&w);
	VEC(struct otlp_insert) list = { 0 };
	struct otlp_totals totals;
	struct otlp_reader reader;
	struct otlp_span span;
	struct err err;

	otlp_reader_init(&reader, request);
	while (otlp_next_span(&reader, &span) > 0)
		*vec_push(&list) =
			(struct otlp_insert){ otlp_span_offset(&reader), VIEW("\x4a\3\x0a\1k"),
					      VIEW("\x12\3\x2a\1n") };
	otlp_splice(request, &(struct otlp_inserts){ list.items, list.count, VIEW("\x0a\1s") },
		    &out);
	if (otlp_check(OTLP_TRACES, view_of(&out), &totals, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	vec_done(&list);
}

static void splice_spans(size_t n)
{
	check_and_splice(1, 1, n);
}

static void splice_scopes(size_t n)
{
	check_and_splice(1, n, 1);
}

static void splice_resources(size_t n)
{
	check_and_splice(n, 1, 1);
}

/* Converts a document with n times a text in the middle. */
static void convert(const char *before, const char *item, const char *after, size_t n)
{
	_cleanup_(pb_buffer_done) struct pb_buffer json = { 0 }, out = { 0 };
	struct err err;

	pb_append(&json, (struct view){ before, strlen(before) });
	for (size_t i = 0; i < n; i++)
		pb_append(&json, (struct view){ item, strlen(item) });
	pb_append(&json, (struct view){ after, strlen(after) });
	otlp_from_json(OTLP_TRACES, view_of(&json), &out, &err);
}

static void convert_spans(size_t n)
{
	convert("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[",
		"{\"name\":\"x\",\"kind\":1,\"startTimeUnixNano\":\"1\"},", "{}]}]}]}", n);
}

static void convert_keys(size_t n)
{
	convert("{", "\"resourceSpan\":1,", "\"resourceSpans\":[]}", n);
}

static void convert_depth(size_t n)
{
	convert("{\"resourceSpans\":", "[", "", n);
}

static void convert_digits(size_t n)
{
	convert("{\"resourceSpans\":", "1234567890", "}", n);
}

/* Most keys are new; a few are in use. */
static void quantile_keys(size_t n)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(95000, 256);

	for (size_t i = 0; i < n; i++) {
		quantiles_add(q, i, i);
		quantiles_add(q, UINT64_MAX - i % 300, i);
	}
}

static void slow_names(size_t n)
{
	_cleanup_(slow_freep) struct slow *slow = NULL;
	struct err err;
	nsec_t limit;

	slow_new("p95", &slow, &err);
	slow_set_rules(slow, "rules", VIEW("front * 5ms\n* 'GET *' p99\n"), &err);
	for (size_t i = 0; i < n; i++) {
		struct view name = { (char *)&i, sizeof(i) };

		slow_exceeded(slow, VIEW("service"), name, i, &limit);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(size_t n);
	} cases[] = {
		{ "splice-spans", splice_spans },
		{ "splice-scopes", splice_scopes },
		{ "splice-resources", splice_resources },
		{ "convert-spans", convert_spans },
		{ "convert-keys", convert_keys },
		{ "convert-depth", convert_depth },
		{ "convert-digits", convert_digits },
		{ "quantile-keys", quantile_keys },
		{ "slow-names", slow_names },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run(atoi(argv[2]));
	return 0;
}
