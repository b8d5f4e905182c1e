/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans - for tests of readers of spans: what came of some bytes.
 *
 *	_cleanup_(result_done) struct result r = read_json(zipkin_open_memory, "[{'id':'1'}]");
 *
 * JSON is written with ' for ", as nobody can read it otherwise.
 */
#ifndef SONDE_TESTS_SPANS_H
#define SONDE_TESTS_SPANS_H

#include "base/vec.h"
#include "read/input_parts.h"
#include "test.h"

struct result {
	struct input *input;
	VEC(struct record_span) spans;
	struct err err;
	int code;
};

static inline void result_done(struct result *r)
{
	input_free(r->input);
	vec_done(&r->spans);
}

static inline struct result read_bytes(open_memory_fn *read, const void *data, size_t size)
{
	struct result r = { 0 };
	const struct record *record;
	nsec_t last = 0;

	r.code = read("x.json", data, size, &r.input, &r.err);
	if (r.code < 0) {
		CHECK(!r.input);
		return r;
	}
	while (input_next(r.input, &record, &r.err) > 0) {
		CHECK_INT(record->kind, RECORD_SPAN);
		CHECK_INT(record->words, sizeof(struct record_span) / 8);
		CHECK(record->time >= last);
		last = record->time;
		*vec_push(&r.spans) = *(const struct record_span *)record;
	}
	return r;
}

static inline struct result read_json(open_memory_fn *read, const char *text)
{
	_cleanup_(freep) char *json = must_strdup(text);

	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return read_bytes(read, json, strlen(json));
}

static inline uint64_t id_of(const uint8_t id[8])
{
	uint64_t n = 0;

	for (size_t i = 0; i < 8; i++)
		n = n << 8 | id[i];
	return n;
}

#endif
