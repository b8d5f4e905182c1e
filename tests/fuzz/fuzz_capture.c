/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a capture.  They are read from memory of exactly their size, so
 * that a sanitizer detects each read past the end.  The results are checked against
 * the guarantees of capture.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "event/capture.h"
#include "event/capture_format.h"
#include "fuzz/capture_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile uint64_t sink; /* prevents the compiler from removing the reads */

static void check_record(const struct bytes *bytes, const struct record *r)
{
	const unsigned char *at = (const unsigned char *)r;

	assert(at >= bytes->data && at + r->words * 8u <= bytes->data + bytes->size);
	assert((uintptr_t)at % 8 == (uintptr_t)bytes->data % 8);
	assert(r->kind > 0 && r->kind < RECORD_KIND_COUNT);
	assert(r->words >= record_min_words(r->kind));
	sink += XXH3_64bits(r, r->words * 8u);
	if (r->kind == RECORD_PROBE_EVENT) {
		const struct record_probe_event *probe_event = (const struct record_probe_event *)r;

		assert(probe_event->data + probe_event->size <= at + r->words * 8u);
	} else if (r->kind == RECORD_STACK) {
		const struct record_stack *stack = (const struct record_stack *)r;
		const uint32_t *end = stack->frames + stack->kernel_count + stack->user_count;

		assert((const unsigned char *)end <= at + r->words * 8u);
	}
}

/* Read all records in a time range; an error must repeat and have a message. */
static void read_range(const struct bytes *bytes, const struct capture *cap, nsec_t from, nsec_t to)
{
	struct err err = { "" }, again = { "" };
	const struct record *r = NULL;
	struct capture_cursor cur;
	int more;

	capture_cursor_init(&cur, cap, from, to);
	while ((more = capture_next(&cur, &r, &err)) > 0) {
		assert(r->time >= from && r->time <= to);
		check_record(bytes, r);
	}
	assert(more == 0 || more == -EBADMSG);
	assert((more < 0) == (strncmp(err.text, "'fuzz' is ", 10) == 0));
	assert(capture_next(&cur, &r, &again) == more && strcmp(again.text, err.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err = { "" };
	uint64_t end;

	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0) {
		assert(!cap && strncmp(err.text, "'fuzz' is ", 10) == 0);
		return 0;
	}
	const struct capture_meta *meta = capture_meta(cap);
	sink += strlen(meta->host) + strlen(meta->kernel) + strlen(meta->machine) +
		strlen(meta->command) + strlen(meta->tool);
	for (uint32_t id = 0; id < 100; id++)
		sink += strlen(capture_get_string(cap, id));
	if (capture_is_complete(cap, &end))
		assert(end == size);
	assert(end <= size && end % BLOCK_ALIGN == 0);

	read_range(&bytes, cap, 0, UINT64_MAX);
	read_range(&bytes, cap, 200, 1010);
	return 0;
}
