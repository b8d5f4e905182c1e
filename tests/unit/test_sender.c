/* SPDX-License-Identifier: Apache-2.0 */
/* A sender against a collector in the same process; rules that hold for both protocols run twice.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "relay/curl_loop.h"
#include "sending.h"
#include "test.h"

/* Retries come soon, so that tests of them do not take long. */
static const struct sender_options defaults = { .backoff = 10 * NSEC_PER_MSEC };

#define FOR_BOTH_PROTOCOLS(is_grpc) for (int is_grpc = 0; is_grpc <= 1; is_grpc++)

/* The numbers of all requests that arrived, in order; checks that they are 0, 1, 2, ... */
static void check_arrived(const struct collector *c, size_t want)
{
	_cleanup_(freep) uint64_t *numbers = must_alloc((want + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; i < c->requests.count; i++)
		count += sending_numbers(&c->requests.items[i].body, numbers + count,
					 count < want ? want - count : 0);
	CHECK_INT(count, want);
	for (size_t i = 0; i < count && i < want; i++)
		if (numbers[i] != i) {
			CHECK_INT(numbers[i], i);
			break;
		}
}

static bool has_line(const struct collected *request, const char *line)
{
	return strcasestr(request->head, line);
}

TEST(a_request_arrives_unchanged)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		sending_start(&s, is_grpc, NULL, NULL, defaults);
		CHECK_INT(sending_add(&s, 0), 0);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		check_arrived(&s.collector, 1);

		struct sender_counts counts = sending_counts(&s);

		CHECK_INT(counts.accepted.requests, 1);
		CHECK_INT(counts.forwarded.requests, 1);
		CHECK_INT(counts.forwarded.items, 1);
		CHECK_INT(counts.queued_bytes, 0);
		CHECK(counts.last_success && !counts.last_failure);
		CHECK_STR(counts.last_error, "");
		sending_done(&s);
	}
}

TEST(an_http_request_is_a_post_of_protobuf)
{
	struct sending s = { 0 };

	sending_start(&s, false, NULL, NULL, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	collector_stop(&s.collector);

	const struct collected *r = &s.collector.requests.items[0];

	CHECK(has_line(r, "POST /v1/traces HTTP/1.1\r\n"));
	CHECK(has_line(r, "\r\nContent-Type: application/x-protobuf\r\n"));
	CHECK(has_line(r, "\r\nUser-Agent: sonde/" SONDE_VERSION "\r\n"));
	CHECK(!has_line(r, "\r\nExpect:"));
	CHECK(!has_line(r, "\r\nContent-Encoding:"));
	sending_done(&s);
}

TEST(a_grpc_request_calls_the_method_of_the_signal)
{
	struct pb_buffer body = { 0 };
	struct sending s = { 0 };

	sending_start(&s, true, NULL, NULL, defaults);
	pb_put_varint(&body, 1, 7);
	CHECK_INT(sender_add(s.sender, OTLP_LOGS, &body, 1), 0);
	CHECK(sending_run(&s, 5000));
	collector_stop(&s.collector);

	const struct collected *r = &s.collector.requests.items[0];

	CHECK(has_line(r, ":method: POST\r\n"));
	CHECK(has_line(r, ":path: /opentelemetry.proto.collector.logs.v1.LogsService/Export\r\n"));
	CHECK(has_line(r, "\r\ncontent-type: application/grpc\r\n"));
	CHECK(has_line(r, "\r\nte: trailers\r\n"));
	CHECK(has_line(r, "\r\ngrpc-timeout: 10000m\r\n"));
	CHECK_INT(r->body.size, 2);
	CHECK(!r->is_compressed);
	sending_done(&s);
}

TEST(headers_of_the_environment_are_sent)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant = a%20b, x-empty=", 1);
		sending_start(&s, is_grpc, NULL, NULL, defaults);
		sending_add(&s, 0);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK(has_line(&s.collector.requests.items[0], "\r\nx-tenant: a b\r\n"));
		CHECK(has_line(&s.collector.requests.items[0], "\r\nx-empty:"));
		sending_done(&s);
	}
}

static void inflate_body(struct pb_buffer *body)
{
	struct pb_buffer plain = { must_alloc(1 << 20), 0, 0 };
	z_stream z = { .next_in = body->data,
		       .avail_in = body->size,
		       .next_out = plain.data,
		       .avail_out = 1 << 20 };

	CHECK_INT(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	CHECK_INT(inflate(&z, Z_FINISH), Z_STREAM_END);
	plain.size = z.total_out;
	inflateEnd(&z);
	pb_buffer_done(body);
	*body = plain;
}

TEST(bodies_are_compressed_if_asked)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", 1);
		sending_start(&s, is_grpc, NULL, NULL, defaults);
		sending_add_sized(&s, 0, 50000);
		CHECK(sending_run(&s, 5000));
		sending_add_sized(&s, 1, 20);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		for (size_t i = 0; i < 2; i++) {
			struct collected *r = &s.collector.requests.items[i];

			CHECK(has_line(r, is_grpc ? "\r\ngrpc-encoding: gzip\r\n"
						  : "\r\nContent-Encoding: gzip\r\n"));
			CHECK_INT(r->is_compressed, is_grpc);
			CHECK(r->body.size < 1000);
			inflate_body(&r->body);
		}
		check_arrived(&s.collector, 2);
		sending_done(&s);
	}
}

TEST(ten_thousand_requests_arrive_in_order_over_one_connection)
{
	enum { COUNT = 10000 };

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		sending_start(&s, is_grpc, NULL, NULL, defaults);
		for (uint64_t n = 0; n < COUNT; n++) {
			sending_add(&s, n);
			if (n % 7 == 0)
				sender_run(s.sender);
		}
		CHECK(sending_run(&s, 20000));
		collector_stop(&s.collector);
		check_arrived(&s.collector, COUNT);
		CHECK(s.collector.requests.count < COUNT); /* they were merged */
		CHECK_INT(s.collector.connections, 1);
		CHECK_INT(sending_counts(&s).forwarded.requests, COUNT);
		CHECK_INT(sending_counts(&s).exports, s.collector.requests.count);
		sending_done(&s);
	}
}

TEST(a_merged_export_has_a_limit)
{
	struct sending s = { 0 };

	sending_start(&s, false, NULL, NULL, (struct sender_options){ .export_limit = 1000 });
	for (uint64_t n = 0; n < 10; n++)
		sending_add_sized(&s, n, 300);
	sending_add_sized(&s, 10, 5000); /* too large to be merged, but still sent */
	CHECK(sending_run(&s, 5000));
	collector_stop(&s.collector);
	check_arrived(&s.collector, 11);
	CHECK_INT(s.collector.requests.count, 5); /* 3, 3, 3, 1 and the large one */
	for (size_t i = 0; i < 4; i++)
		CHECK(s.collector.requests.items[i].body.size <= 1000);
	sending_done(&s);
}

/* Fails the first exports. */
struct outage {
	size_t failures;
	struct answer answer;
};

static struct answer answer_outage(void *arg, size_t number, const struct collected *request)
{
	const struct outage *outage = arg;

	return number < outage->failures ? outage->answer : (struct answer){ 0 };
}

TEST(a_temporary_failure_is_retried_until_it_ends)
{
	static const struct answer temporary[] = {
		{ .status = 429 }, { .status = 502 }, { .status = 503 }, { .status = 504 }
	};

	for (size_t i = 0; i < ARRAY_LEN(temporary); i++) {
		struct outage outage = { 2, temporary[i] };
		struct sending s = { 0 };

		sending_start(&s, false, answer_outage, &outage, defaults);
		sending_add(&s, 0);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK_INT(s.collector.requests.count, 3);
		CHECK_INT(sending_counts(&s).retries, 2);
		CHECK_INT(sending_counts(&s).forwarded.requests, 1);
		sending_done(&s);
	}
}

TEST(the_first_retry_comes_after_at_least_50_ms)
{
	struct outage outage = { 1, { .status = 503 } };
	struct sending s = { 0 };
	nsec_t start = clock_now();

	sending_start(&s, false, answer_outage, &outage, (struct sender_options){ 0 });
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	CHECK(clock_now() - start >= 50 * NSEC_PER_MSEC);
	sending_done(&s);
}

TEST(temporary_grpc_failures_are_retried)
{
	static const int codes[] = { 1, 4, 10, 11, 14, 15 };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct outage outage = { 1,
					 { .grpc_status = codes[i],
					   .grpc_message = "come%20back%0A",
					   .trailers_only = i % 2 } };
		struct sending s = { 0 };

		sending_start(&s, true, answer_outage, &outage, defaults);
		sending_add(&s, 0);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK_INT(s.collector.requests.count, 2);
		CHECK_INT(sending_counts(&s).retries, 1);
		CHECK_INT(sending_counts(&s).forwarded.requests, 1);
		CHECK(strstr(sending_counts(&s).last_error, ": come back"));
		CHECK(!strchr(sending_counts(&s).last_error, '\n'));
		sending_done(&s);
	}
}

TEST(a_collector_can_ask_for_a_delay)
{
	struct outage http = { 1, { .status = 503, .headers = "Retry-After: 1\r\n" } };
	/* RESOURCE_EXHAUSTED; google.rpc.Status with a RetryInfo of 1 s */
	struct outage grpc = { 1,
			       { .grpc_status = 8,
				 .trailers_only = true,
				 .grpc_details =
					 "CAgaMgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5S"
					 "W5mbxIGCgQIARAA" } };

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };
		nsec_t start = clock_now();

		sending_start(&s, is_grpc, answer_outage, is_grpc ? &grpc : &http, defaults);
		sending_add(&s, 0);
		CHECK(sending_run(&s, 5000));
		CHECK(clock_now() - start >= NSEC_PER_SEC);
		CHECK_INT(sending_counts(&s).retries, 1);
		CHECK_INT(sending_counts(&s).forwarded.requests, 1);
		sending_done(&s);
	}
}

TEST(resource_exhausted_without_a_delay_is_final)
{
	struct outage outage = { 1, { .grpc_status = 8, .grpc_message = "message too large" } };
	struct sending s = { 0 };

	sending_start(&s, true, answer_outage, &outage, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(sending_counts(&s).rejected.requests, 1);
	CHECK(strstr(sending_counts(&s).last_error, "RESOURCE_EXHAUSTED: message too large"));
	sending_done(&s);
}

TEST(requests_wait_until_the_collector_is_up)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct collector c;
		struct sending s = { 0 };

		collector_start(&c, is_grpc, 0, NULL, NULL);
		collector_stop(&c); /* its port is free now */
		setenv("OTEL_EXPORTER_OTLP_PROTOCOL", is_grpc ? "grpc" : "http/protobuf", 1);
		sending_start_to(&s, c.url, defaults);
		for (uint64_t n = 0; n < 100; n++)
			sending_add(&s, n);
		CHECK(sending_wait_error(&s, 5000));
		CHECK(sending_counts(&s).retries >= 1);
		CHECK(strstr(sending_counts(&s).last_error, "onnect"));
		CHECK(strstr(sending_counts(&s).last_error, c.url));
		collector_start(&s.collector, is_grpc, c.port, NULL, NULL);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		check_arrived(&s.collector, 100);
		sending_done(&s);
	}
}

TEST(a_restarted_collector_gets_what_follows)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };
		struct collector first;

		sending_start(&s, is_grpc, NULL, NULL, defaults);
		sending_add(&s, 0);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector); /* the sender still has a connection */
		first = s.collector;
		collector_start(&s.collector, is_grpc, first.port, NULL, NULL);
		sending_add(&s, 1);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK_INT(first.requests.count, 1);
		CHECK_INT(s.collector.requests.count, 1);
		CHECK(sending_contains(&s.collector.requests.items[0], 1));
		collector_done(&first);
		sending_done(&s);
	}
}

TEST(a_reset_connection_is_retried)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct outage outage = { 2, { .reset = true } };
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_outage, &outage, defaults);
		for (uint64_t n = 0; n < 10; n++)
			sending_add(&s, n);
		CHECK(sending_run(&s, 8000));
		collector_stop(&s.collector);
		CHECK_INT(s.collector.requests.count, 3);
		CHECK_INT(sending_counts(&s).forwarded.requests, 10);
		CHECK(sending_contains(&s.collector.requests.items[2], 9));
		sending_done(&s);
	}
}

TEST(a_slow_collector_gets_larger_exports_and_nothing_twice)
{
	struct outage slow = { 1000, { .delay = 50 } };

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_outage, &slow, defaults);
		for (uint64_t n = 0; n < 200; n++) {
			sending_add(&s, n);
			sending_wait(&s, 1);
		}
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		check_arrived(&s.collector, 200);
		CHECK(s.collector.requests.count < 100);
		sending_done(&s);
	}
}

TEST(a_collector_that_never_replies_is_left_after_the_timeout)
{
	struct outage stuck = { 1, { .delay = 400 } };
	struct sending s = { 0 };

	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100", 1);
	sending_start(&s, false, answer_outage, &stuck, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(sending_counts(&s).retries, 1);
	CHECK_INT(sending_counts(&s).forwarded.requests, 1);
	CHECK(strstr(sending_counts(&s).last_error, "timed out"));
	sending_done(&s);
}

/* Rejects exports that contain certain requests. */
struct refusal {
	const uint64_t *bad;
	size_t count;
	struct answer answer;
};

static struct answer answer_refusal(void *arg, size_t number, const struct collected *request)
{
	const struct refusal *refusal = arg;

	for (size_t i = 0; i < refusal->count; i++)
		if (sending_contains(request, refusal->bad[i]))
			return refusal->answer;
	return (struct answer){ 0 };
}

TEST(an_invalid_request_does_not_cost_others_theirs)
{
	static const uint64_t bad[] = { 0, 500, 501, 999 };
	static const struct answer answers[] = {
		{ .status = 400, .body = "no such \033[31mtenant", .size = 20 },
		{ .grpc_status = 3, .grpc_message = "no such %1B[31mtenant" },
	};

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct refusal refusal = { bad, ARRAY_LEN(bad), answers[is_grpc] };
		struct sending s = { 0 };
		uint64_t last = 0;
		size_t good = 0;

		sending_start(&s, is_grpc, answer_refusal, &refusal, defaults);
		for (uint64_t n = 0; n < 1000; n++)
			sending_add(&s, n);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK_INT(sending_counts(&s).forwarded.requests, 996);
		CHECK_INT(sending_counts(&s).rejected.requests, 4);
		CHECK_INT(sending_counts(&s).rejected.items, 4);
		CHECK(strstr(sending_counts(&s).last_error, "no such [31mtenant"));
		for (size_t i = 0; i < s.collector.requests.count; i++) {
			const struct collected *r = &s.collector.requests.items[i];
			uint64_t numbers[1000];

			if (answer_refusal(&refusal, i, r).status ||
			    answer_refusal(&refusal, i, r).grpc_status)
				continue;
			good += sending_numbers(&r->body, numbers, 1000);
			CHECK(numbers[0] > last); /* in order, and none twice */
			last = numbers[0];
		}
		CHECK_INT(good, 996);
		CHECK(s.collector.requests.count < 80);
		sending_done(&s);
	}
}

TEST(a_refusal_of_the_sender_is_not_divided)
{
	static const uint64_t bad[] = { 0 };
	static const struct answer answers[] = { { .status = 401 }, { .grpc_status = 12 } };

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct refusal refusal = { bad, 1, answers[is_grpc] };
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_refusal, &refusal, defaults);
		for (uint64_t n = 0; n < 10; n++)
			sending_add(&s, n);
		CHECK(sending_run(&s, 5000));
		collector_stop(&s.collector);
		CHECK_INT(s.collector.requests.count, 1);
		CHECK_INT(sending_counts(&s).rejected.requests, 10);
		CHECK(strstr(sending_counts(&s).last_error, is_grpc ? "UNIMPLEMENTED" : "401"));
		sending_done(&s);
	}
}

static struct answer answer_large(void *arg, size_t number, const struct collected *request)
{
	return (struct answer){ .reset = request->body.size > 150000 };
}

TEST(an_export_that_gets_no_answer_becomes_smaller)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_large, NULL, defaults);
		for (uint64_t n = 0; n < 40; n++)
			sending_add_sized(&s, n, 20000);
		CHECK(sending_run(&s, 20000));
		CHECK_INT(sending_counts(&s).forwarded.requests, 40);
		sending_done(&s);
	}
}

TEST(an_empty_request_needs_no_export)
{
	struct pb_buffer empty = { 0 };
	struct sending s = { 0 };

	sending_start(&s, false, NULL, NULL, defaults);
	CHECK_INT(sender_add(s.sender, OTLP_TRACES, &empty, 0), 0);
	pb_put_varint(&empty, 1, 1);
	empty.size = 0; /* with memory */
	CHECK_INT(sender_add(s.sender, OTLP_TRACES, &empty, 0), 0);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(sending_counts(&s).forwarded.requests, 2);
	CHECK_INT(sending_counts(&s).exports, 0);
	sending_done(&s);
}

TEST(a_proxy_is_used_except_for_loopback)
{
	struct collector proxy;
	struct sending s = { 0 };

	collector_start(&proxy, false, 0, NULL, NULL);
	setenv("http_proxy", proxy.url, 1);
	sending_start(&s, false, NULL, NULL, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(proxy.connections, 0);
	sending_done(&s);

	s = (struct sending){ 0 };
	sending_start_to(&s, "http://collector.invalid:4318", defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	collector_stop(&proxy);
	CHECK(proxy.requests.count == 1 &&
	      has_line(&proxy.requests.items[0], "POST http://collector.invalid:4318/v1/traces "));
	sending_done(&s);
	collector_done(&proxy);
	unsetenv("http_proxy");
}

TEST(redirects_are_not_followed)
{
	struct outage outage = { 1, { .status = 307, .headers = "Location: /elsewhere\r\n" } };
	struct sending s = { 0 };

	sending_start(&s, false, answer_outage, &outage, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	collector_stop(&s.collector);
	CHECK_INT(s.collector.requests.count, 1);
	CHECK_INT(sending_counts(&s).rejected.requests, 1);
	sending_done(&s);
}

TEST(a_partial_success_is_counted)
{
	static const char body[] = "\x0a\x0b\x08\x03\x12\x07too old";
	struct outage outage = { 1,
				 { .headers = "Content-Type: application/x-protobuf\r\n",
				   .body = body,
				   .size = sizeof(body) - 1 } };

	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_outage, &outage, defaults);
		for (uint64_t n = 0; n < 10; n++)
			sending_add(&s, n);
		CHECK(sending_run(&s, 5000));
		CHECK_INT(sending_counts(&s).forwarded.requests, 10);
		CHECK_INT(sending_counts(&s).forwarded.items, 7);
		CHECK_INT(sending_counts(&s).rejected.items, 3);
		CHECK(strstr(sending_counts(&s).last_error, ": too old"));
		sending_done(&s);
	}
}

TEST(a_reply_without_a_grpc_status_is_an_error)
{
	struct outage outage = { 1, { .no_status = true } };
	struct sending s = { 0 };

	sending_start(&s, true, answer_outage, &outage, defaults);
	sending_add(&s, 0);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(sending_counts(&s).rejected.requests, 1);
	CHECK(strstr(sending_counts(&s).last_error, "without grpc-status"));
	sending_done(&s);
}

TEST(the_wrong_protocol_is_explained)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct sending s = { 0 };

		collector_start(&s.collector, is_grpc, 0, NULL, NULL);
		setenv("OTEL_EXPORTER_OTLP_PROTOCOL", is_grpc ? "http/protobuf" : "grpc", 1);
		setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500", 1);
		sending_start_to(&s, s.collector.url, defaults);
		sending_add(&s, 0);
		CHECK(sending_wait_error(&s, 5000));
		CHECK(strstr(sending_counts(&s).last_error, "OTEL_EXPORTER_OTLP_PROTOCOL"));
		CHECK_INT(sending_counts(&s).queued, 1); /* the configuration can be corrected */
		sending_done(&s);
	}
}

TEST(a_full_queue_drops_the_newest_and_counts_them)
{
	struct sending s = { 0 };
	struct sender_counts counts;
	uint64_t n = 0;

	sending_start_to(&s, "http://127.0.0.1:1",
			 (struct sender_options){ .queue_limit = 1 << 20 });
	while (sending_add_sized(&s, n, 1000) == 0)
		n++;
	CHECK_INT(sending_add_sized(&s, n, 1000), -ENOBUFS);
	counts = sending_counts(&s);
	CHECK_INT(counts.queued, n);
	CHECK_INT(counts.accepted.requests, n);
	CHECK_INT(counts.dropped.requests, 2);
	CHECK_INT(counts.dropped.items, 2);
	CHECK(counts.queued_bytes > 700 << 10 && counts.queued_bytes <= 768 << 10);
	sending_done(&s);
}

TEST(a_full_queue_of_one_signal_leaves_room_for_others)
{
	struct sending s = { 0 };
	struct pb_buffer body = { 0 };
	uint64_t n = 0;

	sending_start_to(&s, "http://127.0.0.1:1",
			 (struct sender_options){ .queue_limit = 1 << 20 });
	while (sending_add(&s, n) == 0)
		n++;
	for (size_t i = 0; i < 100; i++) {
		pb_put_bytes(&body, 1, (struct view){ "metrics", 7 });
		CHECK_INT(sender_add(s.sender, OTLP_METRICS, &body, 1), 0);
	}
	sending_done(&s);
}

TEST(old_requests_expire)
{
	struct sending s = { 0 };

	sending_start_to(&s, "http://127.0.0.1:1",
			 (struct sender_options){ .oldest = 300 * NSEC_PER_MSEC });
	for (uint64_t n = 0; n < 5; n++)
		sending_add(&s, n);
	CHECK(sending_run(&s, 5000));
	CHECK_INT(sending_counts(&s).expired.requests, 5);
	CHECK_INT(sending_counts(&s).expired.items, 5);
	CHECK_INT(sending_counts(&s).queued_bytes, 0);
	sending_done(&s);
}

TEST(what_is_queued_is_sent_at_the_end)
{
	struct sending s = { 0 };

	sending_start(&s, false, NULL, NULL, defaults);
	for (uint64_t n = 0; n < 50; n++)
		sending_add(&s, n);
	CHECK_INT(sender_finish(s.sender, 5 * NSEC_PER_SEC), 0);
	collector_stop(&s.collector);
	check_arrived(&s.collector, 50);
	sending_done(&s);
}

TEST(the_end_does_not_wait_for_a_dead_collector)
{
	struct sending s = { 0 };
	nsec_t start = clock_now();

	sending_start_to(&s, "http://127.0.0.1:1", defaults);
	for (uint64_t n = 0; n < 50; n++)
		sending_add(&s, n);
	CHECK_INT(sender_finish(s.sender, 300 * NSEC_PER_MSEC), -ETIMEDOUT);
	CHECK(clock_now() - start < 3 * NSEC_PER_SEC);
	CHECK_INT(sending_counts(&s).unsent.requests, 50);
	sending_done(&s);
}

TEST(an_idle_sender_needs_no_run)
{
	struct sending s = { 0 };
	struct pollfd p;

	sending_start(&s, false, NULL, NULL, defaults);
	p = (struct pollfd){ .fd = sender_fd(s.sender), .events = POLLIN };
	CHECK_INT(poll(&p, 1, 0), 0);
	sending_add(&s, 0);
	CHECK_INT(poll(&p, 1, 1000), 1);
	CHECK(sending_run(&s, 5000));
	CHECK(sending_wait(&s, 300) < 10); /* timers that are no longer needed */
	CHECK_INT(poll(&p, 1, 0), 0);
	sending_done(&s);
}

TEST(a_collector_that_stops_reading_is_not_polled)
{
	static const char settings[] = "\0\0\0\4\0\0\0\0"; /* an empty frame of HTTP/2 */
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	_cleanup_(closep) int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sending s = { 0 };
	char url[64];

	CHECK_INT(bind(listener, (struct sockaddr *)&a, len), 0);
	CHECK_INT(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&a, &len);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	sending_start_to(&s, url, defaults);
	sending_add_sized(&s, 0, 1 << 20); /* more than HTTP/2's first window */
	sending_wait(&s, 50);

	_cleanup_(closep) int fd = accept(listener, NULL, NULL);

	CHECK_INT(send(fd, settings, sizeof(settings), 0), sizeof(settings));
	sending_wait(&s, 50);
	CHECK(sending_wait(&s, 300) < 1000);
	sending_done(&s);
}

TEST(a_sender_can_be_freed_while_it_sends)
{
	FOR_BOTH_PROTOCOLS(is_grpc)
	{
		struct outage slow = { 1, { .delay = 200 } };
		struct sending s = { 0 };

		sending_start(&s, is_grpc, answer_outage, &slow, defaults);
		sending_add(&s, 0);
		sending_wait(&s, 50);
		sending_done(&s);
	}
}

TEST(a_name_that_does_not_resolve_is_retried)
{
	struct sending s = { 0 };

	sending_start_to(&s, "http://collector.invalid:4318", defaults);
	sending_add(&s, 0);
	CHECK(sending_wait_error(&s, 20000)); /* a name server that is away takes seconds */
	CHECK_INT(sending_counts(&s).queued, 1);
	CHECK(strstr(sending_counts(&s).last_error, "collector.invalid"));
	sending_done(&s);
}
