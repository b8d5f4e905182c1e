/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans - for tests of span readers: the records that a reader makes from some bytes.
 *
 *	_cleanup_(result_done) struct result r = read_json(zipkin_open_memory, "[{'id':'1'}]");
 *
 * JSON is written with ' instead of ", which needs no escapes in C.
 */
#ifndef SONDE_TESTS_SPANS_H
#define SONDE_TESTS_SPANS_H

#include <stdio.h>

#include "base/vec.h"
#include "read/input_internal.h"
#include "test.h"

struct result {
	struct input *input;
	VEC(struct record_span) spans;
	VEC(struct record_attribute) attributes;
	struct err err;
	int code;
};

static inline void result_done(struct result *r)
{
	input_free(r->input);
	vec_done(&r->spans);
	vec_done(&r->attributes);
}

/* Attributes come before their span and have its time and thread. */
static inline void check_attributes(const struct result *r, size_t from,
				    const struct record_span *span)
{
	for (; from < r->attributes.count; from++) {
		const struct record_attribute *a = &r->attributes.items[from];

		CHECK_INT(a->head.words, sizeof(*a) / 8);
		CHECK_INT(a->head.time, span->head.time);
		CHECK_INT(a->head.tid, span->head.tid);
		CHECK(memcmp(a->trace, span->trace, sizeof(a->trace)) == 0);
		CHECK(memcmp(a->span, span->span, sizeof(a->span)) == 0);
	}
}

/* The attributes of all spans: "key=text key=1 key=0.5 key=true". The caller frees it. */
static inline char *attributes_of(const struct result *r)
{
	char *all = must_strdup("");

	for (size_t i = 0; i < r->attributes.count; i++) {
		const struct record_attribute *a = &r->attributes.items[i];
		const char *key = input_string(r->input, a->key);
		double real;
		char *more, value[32];

		memcpy(&real, &a->value, sizeof(real));
		if (a->type == ATTRIBUTE_DOUBLE)
			snprintf(value, sizeof(value), "%#.9g", real);
		else
			snprintf(value, sizeof(value), "%lld", (long long)a->value);
		more = must_printf("%s%s%s=%s", all, *all ? " " : "", key,
				   a->type == ATTRIBUTE_STRING ? input_string(r->input, a->value)
				   : a->type != ATTRIBUTE_BOOL ? value
				   : a->value                  ? "true"
							       : "false");
		free(all);
		all = more;
	}
	return all;
}

static inline struct result read_bytes(open_memory_fn *read, const void *data, size_t size)
{
	struct result r = { 0 };
	const struct record *record;
	nsec_t last = 0;
	size_t checked = 0;

	r.code = read("x.json", data, size, &r.input, &r.err);
	if (r.code < 0) {
		CHECK(!r.input);
		return r;
	}
	while (input_next(r.input, &record, &r.err) > 0) {
		CHECK(record->time >= last);
		last = record->time;
		if (record->kind == RECORD_ATTRIBUTE) {
			*vec_push(&r.attributes) = *(const struct record_attribute *)record;
			continue;
		}
		CHECK_INT(record->kind, RECORD_SPAN);
		CHECK_INT(record->words, sizeof(struct record_span) / 8);
		*vec_push(&r.spans) = *(const struct record_span *)record;
		check_attributes(&r, checked, (const struct record_span *)record);
		checked = r.attributes.count;
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
