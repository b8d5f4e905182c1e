/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_send COUNT SECONDS - send COUNT requests of one span each to the endpoint in
 * OTEL_EXPORTER_OTLP_*, for at most so many seconds.  Prints the numbers of forwarded and rejected
 * spans and the last error.
 */
#include <inttypes.h>
#include <stdio.h>

#include "otlp/trace.h"
#include "relay/sender.h"

static void add_request(struct sender *s, uint64_t n)
{
	const struct otlp_value service = { OTLP_STRING, .text = { "relay test", 10 } };
	struct otlp_writer w = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "span %" PRIu64, n);

	struct otlp_span span = { .trace_id = { "0123456789abcdef", 16 },
				  .span_id = { (const char *)&n, 8 },
				  .name = { name, strlen(name) },
				  .start = 1,
				  .end = 2 };

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_put_attribute(&w, (struct view){ "service.name", 12 }, &service);
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	otlp_begin_span(&w, &span);
	otlp_end(&w);
	sender_add(s, OTLP_TRACES, &w.out, 1);
	otlp_writer_done(&w);
}

int main(int argc, char **argv)
{
	_cleanup_(endpoints_done) struct endpoints endpoints = { 0 };
	_cleanup_(warnings_done) struct warnings warnings = { 0 };
	_cleanup_(sender_freep) struct sender *s = NULL;
	struct sender_options options = { .endpoints = &endpoints };
	struct sender_counts counts;
	struct err err = { "" };

	if (argc != 3 ||
	    endpoints_read(&(struct endpoint_options){ 0 }, &endpoints, &warnings, &err) < 0 ||
	    sender_new(&options, &s, &err) < 0) {
		fprintf(stderr, "%s\n", argc == 3 ? err.text : "usage: relay_send COUNT SECONDS");
		return 2;
	}
	for (uint64_t n = 1; n <= strtoull(argv[1], NULL, 10); n++) {
		add_request(s, n);
		if (n % 100 == 0)
			sender_run(s);
	}
	sender_finish(s, strtoull(argv[2], NULL, 10) * NSEC_PER_SEC);
	counts = sender_counts_of(s, OTLP_TRACES);
	printf("%" PRIu64 " %" PRIu64 " %s\n", counts.forwarded.items, counts.rejected.items,
	       counts.last_error);
	return 0;
}
