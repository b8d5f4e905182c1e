/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans FILE... - how fast files of spans are read.
 *
 * Each is opened in the format that it shows and read to its end, once.  Prints
 * its format, its bytes, its spans, and the ns of CPU time for each; the sum of all
 * ends is taken so that each record is looked at.  Of an OTLP file, which must
 * have lengths before its requests, it is measured, too, how long protobuf-c
 * takes to unpack the requests, and to come to the same sum: without sorting,
 * or making records.
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "base/file.h"
#include "clock.h"
#include "read/input.h"
#ifdef HAVE_PROTOBUF_C
#include "otlp.pb-c.h"
#endif

static _Noreturn void fail(const struct err *err)
{
	fprintf(stderr, "bench-spans: %s\n", err->text);
	exit(1);
}

static void print(const char *format, size_t bytes, uint64_t spans, uint64_t sum, nsec_t ns)
{
	printf("%s %zu %" PRIu64 " %.1f %" PRIx64 "\n", format, bytes, spans, (double)ns / spans,
	       sum);
}

/* Returns whether it is OTLP. */
static bool measure(const char *path, size_t bytes)
{
	_cleanup_(input_freep) struct input *input = NULL;
	nsec_t began = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	const struct record *record;
	uint64_t spans = 0, sum = 0;
	struct err err;
	int r = input_open(path, NULL, &input, &err);

	if (r < 0)
		fail(&err);
	while ((r = input_next(input, &record, &err)) > 0) {
		sum += record->time;
		spans++;
	}
	if (r < 0)
		fail(&err);
	print(input_format_name(input), bytes, spans, sum,
	      clock_now(CLOCK_PROCESS_CPUTIME_ID) - began);
	return strcmp(input_format_name(input), "otlp") == 0;
}

#ifdef HAVE_PROTOBUF_C
typedef Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest Request;

static void sum_up(const Request *request, uint64_t *spans, uint64_t *sum)
{
	for (size_t r = 0; r < request->n_resource_spans; r++)
		for (size_t s = 0; s < request->resource_spans[r]->n_scope_spans; s++) {
			Opentelemetry__Proto__Trace__V1__ScopeSpans *scope =
				request->resource_spans[r]->scope_spans[s];

			for (size_t i = 0; i < scope->n_spans; i++)
				*sum += scope->spans[i]->end_time_unix_nano;
			*spans += scope->n_spans;
		}
}

static void measure_protobuf_c(struct view file)
{
	nsec_t began = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t spans = 0, sum = 0;

	for (size_t at = 0; at + 4 <= file.len;) {
		uint32_t length;

		memcpy(&length, file.s + at, sizeof(length));
		length = ntohl(length);
		at += sizeof(length);
		Request *request =
			opentelemetry__proto__collector__trace__v1__export_trace_service_request__unpack(
				NULL, length, (const uint8_t *)file.s + at);
		if (!request)
			fail(&(struct err){ "protobuf-c cannot unpack it" });
		sum_up(request, &spans, &sum);
		opentelemetry__proto__collector__trace__v1__export_trace_service_request__free_unpacked(
			request, NULL);
		at += length;
	}
	print("protobuf-c", file.len, spans, sum, clock_now(CLOCK_PROCESS_CPUTIME_ID) - began);
}
#else
static void measure_protobuf_c(struct view file)
{
}
#endif

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		_cleanup_(file_unmap) struct view file = { 0 };
		struct err err;

		if (file_map(argv[i], &file, &err) < 0)
			fail(&err);
		if (measure(argv[i], file.len))
			measure_protobuf_c(file);
	}
	return 0;
}
