/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-read-all HOW FILE - reads a trace to its end.
 *
 * HOW is `records` (everything that sonde does before the analysis), `raw` (only the
 * decoder), or another reader for comparison: `libtracecmd` iterates over a trace.dat,
 * `protobuf-c` unpacks the length-prefixed requests of an OTLP file, `yyjson` parses
 * each line of JSON.  Prints the number of events, spans or lines, the anonymous memory
 * at the end in KiB, and the CPU time since the start of main() in ns.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <yyjson.h>

#include "base/file.h"
#include "clock.h"
#include "read/input.h"
#include "read/raw/raw.h"
#ifdef HAVE_PROTOBUF_C
#include "otlp.pb-c.h"
#endif
#ifdef HAVE_TRACECMD
#include <trace-cmd.h>
#endif

static nsec_t began; /* CPU time at the start of main() */

static _Noreturn void fail(const char *path, const char *why)
{
	fprintf(stderr, "bench-read-all: %s: %s\n", path, why);
	exit(1);
}

static struct input *open_input(const char *path)
{
	struct input *input;
	struct err err;

	if (input_open(path, NULL, &input, &err) < 0)
		fail(path, err.text);
	return input;
}

static long memory(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}

static void print(uint64_t count)
{
	printf("%" PRIu64 " %ld %" PRIu64 "\n", count, memory(),
	       clock_now(CLOCK_PROCESS_CPUTIME_ID) - began);
}

static void read_records(const char *path)
{
	_cleanup_(input_freep) struct input *input = open_input(path);
	const struct record *record;
	volatile uint64_t sum = 0; /* prevents the compiler from removing reads */
	struct err err;
	int r;

	while ((r = input_next(input, &record, &err)) > 0)
		sum += record->time;
	if (r < 0)
		fail(path, err.text);
	print(input_events(input));
}

static void read_raw(const char *path)
{
	_cleanup_(input_freep) struct input *input = open_input(path);
	struct raw_source *source = input_raw(input);
	struct raw_event event;
	volatile uint64_t sum = 0;
	uint64_t count = 0;
	struct err err;
	int r = 0;

	while (source && (r = source->next(source, &event, &err)) > 0) {
		sum += event.time;
		count += raw_is_event(event.kind);
	}
	if (!source || r < 0)
		fail(path, source ? err.text : "the format has no raw events");
	print(count);
}

static struct view map(const char *path)
{
	struct view file;
	struct err err;

	if (file_map(path, &file, &err) < 0)
		fail(path, err.text);
	return file;
}

static void parse_json(const char *path)
{
	struct view file = map(path);
	const char *end = file.s + file.len, *stop;
	uint64_t count = 0;

	for (const char *at = file.s; at < end; at = stop + 1, count++) {
		stop = memchr(at, '\n', end - at) ?: end;

		yyjson_doc *doc = yyjson_read(at, stop - at, 0);

		if (!doc)
			fail(path, "yyjson cannot parse the file");
		yyjson_doc_free(doc);
	}
	print(count);
}

#ifdef HAVE_PROTOBUF_C
typedef Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest Request;

static uint64_t count_spans(const Request *request)
{
	uint64_t count = 0;

	for (size_t r = 0; r < request->n_resource_spans; r++)
		for (size_t s = 0; s < request->resource_spans[r]->n_scope_spans; s++)
			count += request->resource_spans[r]->scope_spans[s]->n_spans;
	return count;
}

static void unpack_protobuf(const char *path)
{
	struct view file = map(path);
	uint64_t count = 0;

	for (size_t at = 0; at + 4 <= file.len;) {
		uint32_t length;

		memcpy(&length, file.s + at, sizeof(length));
		length = ntohl(length);
		at += sizeof(length);
		Request *request =
			opentelemetry__proto__collector__trace__v1__export_trace_service_request__unpack(
				NULL, length, (const uint8_t *)file.s + at);
		if (!request)
			fail(path, "protobuf-c cannot unpack the file");
		count += count_spans(request);
		opentelemetry__proto__collector__trace__v1__export_trace_service_request__free_unpacked(
			request, NULL);
		at += length;
	}
	print(count);
}
#endif

#ifdef HAVE_TRACECMD
static int count_event(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *arg)
{
	++*(uint64_t *)arg;
	return 0;
}

static void walk_tracecmd(const char *path)
{
	struct tracecmd_input *handle = tracecmd_open(path, 0);
	uint64_t count = 0;

	if (!handle || tracecmd_iterate_events(handle, NULL, 0, count_event, &count) < 0)
		fail(path, "libtracecmd cannot read the file");
	print(count);
	tracecmd_close(handle);
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*read)(const char *path);
	} readers[] = {
		{ "records", read_records },       { "raw", read_raw }, { "yyjson", parse_json },
#ifdef HAVE_PROTOBUF_C
		{ "protobuf-c", unpack_protobuf },
#endif
#ifdef HAVE_TRACECMD
		{ "libtracecmd", walk_tracecmd },
#endif
	};

	began = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(readers); i++)
		if (strcmp(argv[1], readers[i].name) == 0) {
			readers[i].read(argv[2]);
			return 0;
		}
	fprintf(stderr, "usage: bench-read-all HOW FILE; HOW is one of:");
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		fprintf(stderr, " %s", readers[i].name);
	fprintf(stderr, "\n");
	return 2;
}
