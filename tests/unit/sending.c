/* SPDX-License-Identifier: Apache-2.0 */
#include "sending.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "relay/curl_loop.h"
#include "test.h"

void sending_start_to(struct sending *s, const char *url, struct sender_options options)
{
	const struct endpoint_options where = { .url = url };
	struct warnings warnings = { 0 };
	struct err err = { "" };

	CHECK_INT(endpoints_read(&where, &s->endpoints, &warnings, &err), 0);
	warnings_done(&warnings);
	options.endpoints = &s->endpoints;
	CHECK_INT(sender_new(&options, &s->sender, &err), 0);
}

void sending_start(struct sending *s, bool is_grpc, answer_fn *answer, void *arg,
		   struct sender_options options)
{
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", is_grpc ? "grpc" : "http/protobuf", 1);
	collector_start(&s->collector, is_grpc, 0, answer, arg);
	sending_start_to(s, s->collector.url, options);
}

void sending_done(struct sending *s)
{
	static const char *const names[] = { "PROTOCOL", "HEADERS", "COMPRESSION", "TIMEOUT" };

	sender_free(s->sender);
	if (s->collector.port)
		collector_done(&s->collector);
	endpoints_done(&s->endpoints);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(freep) char *name = must_printf("OTEL_EXPORTER_OTLP_%s", names[i]);

		unsetenv(name);
	}
}

int sending_add_sized(struct sending *s, uint64_t n, size_t size)
{
	_cleanup_(freep) char *bytes = must_alloc(size);
	struct pb_buffer body = { 0 };

	memcpy(bytes, &n, sizeof(n));
	pb_put_bytes(&body, 1, (struct view){ bytes, size });
	return sender_add(s->sender, OTLP_TRACES, &body, 1);
}

int sending_add(struct sending *s, uint64_t n)
{
	return sending_add_sized(s, n, sizeof(n));
}

typedef bool condition_fn(const struct sending *s);

static bool is_empty(const struct sending *s)
{
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++)
		if (sender_counts_of(s->sender, i).queued)
			return false;
	return true;
}

static bool has_failed(const struct sending *s)
{
	return sending_counts(s).last_error[0];
}

/* Runs the sender as a program does: only when its descriptor is readable. */
static unsigned run(struct sending *s, unsigned ms, condition_fn *until)
{
	struct pollfd p = { .fd = sender_fd(s->sender), .events = POLLIN };
	nsec_t end = clock_now() + ms * NSEC_PER_MSEC, now;
	unsigned runs = 0;

	while ((now = clock_now()) < end && !(until && until(s)))
		if (poll(&p, 1, (end - now) / NSEC_PER_MSEC + 1) > 0) {
			sender_run(s->sender);
			runs++;
		}
	return runs;
}

bool sending_run(struct sending *s, unsigned ms)
{
	run(s, ms, is_empty);
	return is_empty(s);
}

unsigned sending_wait(struct sending *s, unsigned ms)
{
	return run(s, ms, NULL);
}

bool sending_wait_error(struct sending *s, unsigned ms)
{
	run(s, ms, has_failed);
	return has_failed(s);
}

struct sender_counts sending_counts(const struct sending *s)
{
	return sender_counts_of(s->sender, OTLP_TRACES);
}

size_t sending_numbers(const struct pb_buffer *body, uint64_t *ret, size_t room)
{
	struct pb_reader pb = pb_reader_of(
		(struct view){ body->size ? (const char *)body->data : "", body->size });
	struct pb_field f = { 0 };
	size_t count = 0;
	int r;

	while ((r = pb_next(&pb, &f)) > 0) {
		bool is_ours = f.tag == PB_TAG(1, PB_BYTES) && f.bytes.len >= 8;

		CHECK(is_ours);
		if (is_ours && count < room)
			memcpy(&ret[count], f.bytes.s, 8);
		count++;
	}
	CHECK_INT(r, 0);
	return count;
}

bool sending_contains(const struct collected *request, uint64_t n)
{
	uint64_t numbers[4096];
	size_t count = sending_numbers(&request->body, numbers, ARRAY_LEN(numbers));

	for (size_t i = 0; i < count && i < ARRAY_LEN(numbers); i++)
		if (numbers[i] == n)
			return true;
	return false;
}
