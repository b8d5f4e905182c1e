/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp REQUESTS JSON - the cost of what a relay does with each span, in ns of CPU time.
 *
 * The files are those of bench-make-spans, with the formats otlp and otlp-json.  Prints a line
 * `NAME NS` for each step; ns per span, and per value for `quantile`.
 */
#include <arpa/inet.h>

#include "base/file.h"
#include "base/quantile.h"
#include "base/vec.h"
#include "clock.h"
#include "otlp/check.h"
#include "otlp/from_json.h"
#include "otlp/splice.h"
#include "otlp/trace.h"
#include "relay/slow.h"

enum { ROUNDS = 15, INSERT_SHARE = 100 };

typedef VEC(struct view) requests;
typedef VEC(struct otlp_insert) insert_list;

struct bench {
	requests requests, documents;
	struct slow *slow;
	struct quantiles *quantiles;
	struct pb_buffer out;
	insert_list inserts;
	uint64_t slow_spans; /* keeps the compiler from removing the work */
};

static struct view map_file(const char *path)
{
	struct view text;
	struct err err;

	if (file_map(path, &text, &err) < 0)
		die(err.text);
	return text;
}

static void read_frames(struct view file, requests *ret)
{
	uint32_t length;

	for (size_t at = 0; at + sizeof(length) < file.len; at += ntohl(length)) {
		memcpy(&length, file.s + at, sizeof(length));
		at += sizeof(length);
		*vec_push(ret) = (struct view){ file.s + at, ntohl(length) };
	}
}

static void read_lines(struct view file, requests *ret)
{
	const char *end = file.s + file.len;

	for (const char *at = file.s, *line; at < end; at = line + 1) {
		line = memchr(at, '\n', end - at) ?: end;
		*vec_push(ret) = (struct view){ at, line - at };
	}
}

static uint64_t do_check(struct bench *b)
{
	struct otlp_totals totals;
	struct err err;
	uint64_t spans = 0;

	for (size_t i = 0; i < b->requests.count; i++) {
		if (otlp_check(OTLP_TRACES, b->requests.items[i], &totals, &err) < 0)
			die(err.text);
		spans += totals.items;
	}
	return spans;
}

static struct view service_of(struct otlp_reader *reader)
{
	struct otlp_resource resource = { 0 };
	struct otlp_attribute a;
	struct otlp_value value = { 0 };

	otlp_read_resource(reader, &resource);
	while (otlp_attribute_next(&resource.attributes, &a) > 0)
		if (view_is(a.key, "service.name") && otlp_value_read(a.value, &value) == 0)
			break;
	return value.type == OTLP_STRING ? value.text : (struct view){ "", 0 };
}

static uint64_t walk(struct bench *b, bool with_slow)
{
	uint64_t spans = 0, resources;
	struct otlp_reader reader;
	struct otlp_span span;
	struct view service = { "", 0 };
	nsec_t limit;

	for (size_t i = 0; i < b->requests.count; i++) {
		otlp_reader_init(&reader, b->requests.items[i]);
		for (resources = 0; otlp_next_span(&reader, &span) > 0; spans++) {
			if (reader.resources != resources)
				service = service_of(&reader);
			resources = reader.resources;
			if (with_slow)
				b->slow_spans += slow_exceeded(b->slow, service, span.name,
							       span.end - span.start, &limit);
		}
	}
	return spans;
}

static uint64_t do_walk(struct bench *b)
{
	return walk(b, false);
}

static uint64_t do_slow(struct bench *b)
{
	return walk(b, true);
}

static uint64_t do_splice(struct bench *b)
{
	static const struct view attributes = { "\x4a\x0e\x0a\x05sonde\x12\x05\x0a\x03why", 16 };
	static const struct view spans = { "\x12\x0c\x2a\x0awaits a lock", 14 };
	uint64_t count = 0;
	struct otlp_reader reader;
	struct otlp_span span;

	for (size_t i = 0; i < b->requests.count; i++) {
		b->out.size = b->inserts.count = 0;
		otlp_reader_init(&reader, b->requests.items[i]);
		for (; otlp_next_span(&reader, &span) > 0; count++)
			if (count % INSERT_SHARE == 0)
				*vec_push(&b->inserts) =
					(struct otlp_insert){ otlp_span_offset(&reader), attributes,
							      spans };
		otlp_splice(b->requests.items[i],
			    &(struct otlp_inserts){
				    b->inserts.items, b->inserts.count, { "\x0a\5sonde", 7 } },
			    &b->out);
	}
	return count;
}

static uint64_t do_from_json(struct bench *b)
{
	struct otlp_totals totals;
	struct err err;
	uint64_t spans = 0;

	for (size_t i = 0; i < b->documents.count; i++) {
		b->out.size = 0;
		if (otlp_from_json(OTLP_TRACES, b->documents.items[i], &b->out, &err) < 0 ||
		    otlp_check(OTLP_TRACES, (struct view){ (char *)b->out.data, b->out.size },
			       &totals, &err) < 0)
			die(err.text);
		spans += totals.items;
	}
	return spans;
}

/* Durations and keys as of a few hundred operations. */
static uint64_t do_quantile(struct bench *b)
{
	uint64_t n = 1000000, seed = 1;

	for (uint64_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		b->slow_spans += quantiles_add(b->quantiles, (seed >> 33) % 200, seed >> 40);
	}
	return n;
}

static void measure(const char *name, struct bench *b, uint64_t (*run)(struct bench *b))
{
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		nsec_t start = clock_now(CLOCK_THREAD_CPUTIME_ID);
		uint64_t count = run(b);
		double ns = (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - start) / count;

		best = i && best < ns ? best : ns;
	}
	printf("%s %.1f\n", name, best);
}

int main(int argc, char **argv)
{
	static const struct view rules = { "cart * 5ms\n* 'GET *' p99\n", 25 };
	struct bench b = { .quantiles = quantiles_new(95000, 256) };
	struct err err;

	if (argc != 3 || slow_new("p95", &b.slow, &err) < 0 ||
	    slow_set_rules(b.slow, "rules", rules, &err) < 0)
		die("usage: otlp REQUESTS JSON");
	read_frames(map_file(argv[1]), &b.requests);
	read_lines(map_file(argv[2]), &b.documents);
	measure("check", &b, do_check);
	measure("walk", &b, do_walk);
	measure("slow", &b, do_slow);
	measure("splice", &b, do_splice);
	measure("from_json", &b, do_from_json);
	measure("quantile", &b, do_quantile);
	return 0;
}
