/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send COUNT - queue COUNT requests for a collector that is down, and once more for one that
 * rejects every 101st of them, without a network.  For send.py.
 */
#include <stdio.h>

#include "relay/sender.h"

enum { BAD_EVERY = 101, REQUEST_SIZE = 64, LIMIT = 256 << 10 };

static struct pb_buffer request_of(uint64_t n)
{
	struct pb_buffer body = { must_alloc(REQUEST_SIZE), REQUEST_SIZE, REQUEST_SIZE };

	memcpy(body.data, &n, sizeof(n));
	return body;
}

static bool is_rejected(const struct pb_buffer *merged)
{
	for (size_t at = 0; at < merged->size; at += REQUEST_SIZE) {
		uint64_t n;

		memcpy(&n, merged->data + at, sizeof(n));
		if (n % BAD_EVERY == 0)
			return true;
	}
	return false;
}

/* Returns the number of exports. */
static uint64_t divide_rejected(uint64_t count)
{
	struct export_queue queue = { 0 };
	struct pb_buffer merged = { 0 };
	uint64_t exports = 0;

	for (uint64_t n = 0; n < count; n++) {
		struct pb_buffer body = request_of(n);

		export_queue_add(&queue, &body, 1, 1);
	}
	for (; export_queue_count(&queue); exports++) {
		size_t used;

		merged.size = 0;
		used = export_queue_merge(&queue, LIMIT, &merged);
		if (used > 1 && is_rejected(&merged))
			export_queue_split(&queue, used);
		else
			export_queue_drop(&queue, used);
	}
	pb_buffer_done(&merged);
	export_queue_done(&queue);
	return exports;
}

static int queue_for_later(uint64_t count)
{
	_cleanup_(endpoints_done) struct endpoints endpoints = { 0 };
	_cleanup_(warnings_done) struct warnings warnings = { 0 };
	_cleanup_(sender_freep) struct sender *s = NULL;
	struct endpoint_options where = { .url = "http://127.0.0.1:1" };
	struct sender_options options = { .endpoints = &endpoints };
	struct err err;
	int r = endpoints_read(&where, &endpoints, &warnings, &err);

	if (r == 0)
		r = sender_new(&options, &s, &err);
	for (uint64_t n = 0; r == 0 && n < count; n++) {
		struct pb_buffer body = request_of(n);

		r = sender_add(s, OTLP_TRACES, &body, 1);
	}
	return r;
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	printf("%llu\n", (unsigned long long)divide_rejected(count));
	return queue_for_later(count) != 0;
}
