/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_spans FORMAT COUNT - write spans for benchmarks to stdout.
 *
 * FORMAT is otlp, otlp-json, zipkin or jaeger, all with the same spans, or otlp-bare, which is
 * otlp without attributes.  A trace has eight spans in five services; each span has six
 * attributes, like those of an HTTP server or client.  The spans are in the order in which
 * batches of processes arrive: by service, then by time.  OTLP is written like the collector's
 * file exporter does, in requests of 512 spans.
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "clock.h"
#include "otlp/trace.h"

enum { SERVICES = 5, TRACE_SPANS = 8, BATCH = 512 };

static const char *const services[SERVICES] = { "front", "cart", "payment", "stock", "mail" };
static const char *const routes[] = { "GET /",          "POST /cart", "GET /cart/{id}",
				      "POST /payment",  "GET /stock", "SELECT stock",
				      "INSERT payment", "POST /mail" };

struct span {
	uint64_t trace, id, parent, start, end; /* times in us */
	uint32_t service, tid;
	const char *name;
};

/* The i-th span of a batch of one service. */
static struct span make_span(uint64_t i)
{
	uint64_t batch = i / BATCH, service = batch % SERVICES;
	uint64_t trace = (batch / SERVICES * BATCH + i % BATCH) * SERVICES / TRACE_SPANS + 1;
	uint64_t place = i * 2654435761u % TRACE_SPANS;

	return (struct span){
		.trace = trace * 0x9e3779b97f4a7c15ull,
		.id = (i + 1) * 0xd6e8feb86659fd93ull,
		.parent = place ? (i + 1 - place) * 0xd6e8feb86659fd93ull : 0,
		.start = 1700000000000000 + trace * 40 + place * 3,
		.end = 1700000000000000 + trace * 40 + 900 - place * 3 + i % 7,
		.service = service,
		.tid = 4000 + 10 * service + i % 10,
		.name = routes[place],
	};
}

static struct view text(const char *s)
{
	return (struct view){ s, strlen(s) };
}

static void put_text(struct otlp_writer *w, const char *key, const char *value)
{
	otlp_put_attribute(w, text(key), &(struct otlp_value){ OTLP_STRING, .text = text(value) });
}

static void put_int(struct otlp_writer *w, const char *key, int64_t value)
{
	otlp_put_attribute(w, text(key), &(struct otlp_value){ OTLP_INT, .number = value });
}

static void begin_batch(struct otlp_writer *w, const struct span *span)
{
	otlp_begin_resource(w, &(struct otlp_resource){ 0 });
	put_text(w, "service.name", services[span->service]);
	put_text(w, "telemetry.sdk.language", "java");
	put_text(w, "telemetry.sdk.name", "opentelemetry");
	put_text(w, "telemetry.sdk.version", "1.38.0");
	put_text(w, "host.name", "node-1");
	put_int(w, "process.pid", 4000 + 10 * span->service);
	otlp_begin_scope(w, &(struct otlp_scope){ .name = text("io.opentelemetry.tomcat-10.0"),
						  .version = text("2.4.0-alpha") });
}

static void put_span(struct otlp_writer *w, const struct span *span)
{
	uint64_t trace[2] = { span->trace, ~span->trace };
	size_t parent_len = span->parent ? 8 : 0;

	otlp_begin_span(
		w, &(struct otlp_span){ .trace_id = { (char *)trace, 16 },
					.span_id = { (char *)&span->id, 8 },
					.parent_span_id = { (char *)&span->parent, parent_len },
					.name = text(span->name),
					.kind = OTLP_KIND_SERVER,
					.start = span->start * 1000,
					.end = span->end * 1000,
					.flags = 0x101 });
}

static void put_attributes(struct otlp_writer *w, const struct span *span)
{
	put_text(w, "http.request.method", "POST");
	put_text(w, "url.path", "/cart/4711/items");
	put_text(w, "server.address", "cart.example.com");
	put_int(w, "http.response.status_code", 200);
	put_int(w, "thread.native_id", span->tid);
	put_text(w, "thread.name", "http-nio-8080-exec-7");
}

static void write_requests(uint64_t count, bool bare)
{
	struct otlp_writer w = { 0 };

	for (uint64_t i = 0; i < count;) {
		struct span span = make_span(i);

		begin_batch(&w, &span);
		do {
			span = make_span(i++);
			put_span(&w, &span);
			if (!bare)
				put_attributes(&w, &span);
		} while (i < count && i % BATCH);

		struct view bytes = otlp_end(&w);
		uint32_t length = htonl(bytes.len);

		fwrite(&length, sizeof(length), 1, stdout);
		fwrite(bytes.s, bytes.len, 1, stdout);
		w.out.size = 0;
	}
	otlp_writer_done(&w);
}

static void write_otlp(uint64_t count)
{
	write_requests(count, false);
}

static void write_otlp_bare(uint64_t count)
{
	write_requests(count, true);
}

static void begin_json_batch(const struct span *span)
{
	printf("{\"resourceSpans\":[{\"resource\":{\"attributes\":["
	       "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}},"
	       "{\"key\":\"telemetry.sdk.language\",\"value\":{\"stringValue\":\"java\"}},"
	       "{\"key\":\"telemetry.sdk.name\",\"value\":{\"stringValue\":\"opentelemetry\"}},"
	       "{\"key\":\"telemetry.sdk.version\",\"value\":{\"stringValue\":\"1.38.0\"}},"
	       "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"node-1\"}},"
	       "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%d\"}}]},\"scopeSpans\":["
	       "{\"scope\":{\"name\":\"io.opentelemetry.tomcat-10.0\",\"version\":\"2.4.0-alpha\"},"
	       "\"spans\":[",
	       services[span->service], 4000 + 10 * span->service);
}

static void put_json_span(const struct span *span)
{
	printf("{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\",",
	       span->trace, ~span->trace, span->id);
	if (span->parent)
		printf("\"parentSpanId\":\"%016" PRIx64 "\",", span->parent);
	printf("\"flags\":257,\"name\":\"%s\",\"kind\":2,\"startTimeUnixNano\":\"%" PRIu64 "000\","
	       "\"endTimeUnixNano\":\"%" PRIu64 "000\",\"attributes\":["
	       "{\"key\":\"http.request.method\",\"value\":{\"stringValue\":\"POST\"}},"
	       "{\"key\":\"url.path\",\"value\":{\"stringValue\":\"/cart/4711/items\"}},"
	       "{\"key\":\"server.address\",\"value\":{\"stringValue\":\"cart.example.com\"}},"
	       "{\"key\":\"http.response.status_code\",\"value\":{\"intValue\":\"200\"}},"
	       "{\"key\":\"thread.native_id\",\"value\":{\"intValue\":\"%u\"}},"
	       "{\"key\":\"thread.name\",\"value\":{\"stringValue\":\"http-nio-8080-exec-7\"}}],"
	       "\"status\":{}}",
	       span->name, span->start, span->end, span->tid);
}

static void write_otlp_json(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct span span = make_span(i);

		if (i % BATCH == 0)
			begin_json_batch(&span);
		else
			putchar(',');
		put_json_span(&span);
		if (i + 1 == count || (i + 1) % BATCH == 0)
			fputs("]}]}]}\n", stdout);
	}
}

static void write_zipkin(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct span span = make_span(i);

		printf("%c{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"id\":\"%016" PRIx64 "\",",
		       i ? ',' : '[', span.trace, ~span.trace, span.id);
		if (span.parent)
			printf("\"parentId\":\"%016" PRIx64 "\",", span.parent);
		printf("\"kind\":\"SERVER\",\"name\":\"%s\",\"timestamp\":%" PRIu64
		       ",\"duration\":%" PRIu64 ",\"localEndpoint\":{\"serviceName\":\"%s\","
		       "\"ipv4\":\"10.0.0.7\"},\"tags\":{\"http.request.method\":\"POST\","
		       "\"url.path\":\"/cart/4711/items\",\"server.address\":\"cart.example.com\","
		       "\"http.response.status_code\":\"200\",\"thread.native_id\":\"%u\","
		       "\"thread.name\":\"http-nio-8080-exec-7\"}}",
		       span.name, span.start, span.end - span.start, services[span.service],
		       span.tid);
	}
	fputs("]\n", stdout);
}

static void put_jaeger_span(const struct span *span)
{
	printf("{\"traceID\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanID\":\"%016" PRIx64 "\","
	       "\"operationName\":\"%s\",\"references\":[",
	       span->trace, ~span->trace, span->id, span->name);
	if (span->parent)
		printf("{\"refType\":\"CHILD_OF\",\"traceID\":\"%016" PRIx64 "%016" PRIx64
		       "\",\"spanID\":\"%016" PRIx64 "\"}",
		       span->trace, ~span->trace, span->parent);
	printf("],\"startTime\":%" PRIu64 ",\"duration\":%" PRIu64 ",\"tags\":["
	       "{\"key\":\"http.request.method\",\"type\":\"string\",\"value\":\"POST\"},"
	       "{\"key\":\"url.path\",\"type\":\"string\",\"value\":\"/cart/4711/items\"},"
	       "{\"key\":\"server.address\",\"type\":\"string\",\"value\":\"cart.example.com\"},"
	       "{\"key\":\"http.response.status_code\",\"type\":\"int64\",\"value\":200},"
	       "{\"key\":\"thread.native_id\",\"type\":\"int64\",\"value\":%u},"
	       "{\"key\":\"thread.name\",\"type\":\"string\",\"value\":\"http-nio-8080-exec-7\"}],"
	       "\"logs\":[],\"processID\":\"p%u\",\"warnings\":null}",
	       span->start, span->end - span->start, span->tid, span->service);
}

/* All spans in one trace, since each trace contains the processes. */
static void write_jaeger(uint64_t count)
{
	fputs("{\"data\":[{\"processes\":{", stdout);
	for (unsigned i = 0; i < SERVICES; i++)
		printf("%s\"p%u\":{\"serviceName\":\"%s\",\"tags\":[{\"key\":\"process.pid\","
		       "\"type\":\"int64\",\"value\":%u}]}",
		       i ? "," : "", i, services[i], 4000 + 10 * i);
	fputs("},\"spans\":[", stdout);
	for (uint64_t i = 0; i < count; i++) {
		struct span span = make_span(i);

		if (i)
			putchar(',');
		put_jaeger_span(&span);
	}
	fputs("]}]}\n", stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*write)(uint64_t count);
	} formats[] = { { "otlp", write_otlp },
			{ "otlp-bare", write_otlp_bare },
			{ "otlp-json", write_otlp_json },
			{ "zipkin", write_zipkin },
			{ "jaeger", write_jaeger } };

	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(formats); i++)
		if (strcmp(argv[1], formats[i].name) == 0) {
			formats[i].write(strtoull(argv[2], NULL, 10));
			return fflush(stdout) || ferror(stdout);
		}
	fprintf(stderr, "usage: make_spans otlp|otlp-bare|otlp-json|zipkin|jaeger COUNT\n");
	return 2;
}
