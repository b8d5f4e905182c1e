/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_mutate - mutate the bytes of a capture, for fuzzers of its readers.
 *
 * Checksums would stop the fuzzer at nearly every mutation.  So most mutations are
 * followed by a repair of magic numbers, offsets and checksums only.
 */
#ifndef SONDE_TESTS_CAPTURE_MUTATE_H
#define SONDE_TESTS_CAPTURE_MUTATE_H

#include <string.h>

#include "event/capture_format.h"
#include "unit/bytes.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

static void repair_file_header(uint8_t *data, size_t size)
{
	struct file_header h;

	memcpy(&h, data, sizeof(h));
	memcpy(h.magic, CAPTURE_MAGIC, sizeof(h.magic));
	h.byte_order = CAPTURE_BYTE_ORDER;
	h.version = CAPTURE_VERSION;
	h.size &= ~(BLOCK_ALIGN - 1u);
	if (h.size < 2 * BLOCK_ALIGN || h.size > size)
		h.size = 2 * BLOCK_ALIGN;
	if (h.strings > h.size)
		h.strings = sizeof(h);
	memcpy(data, &h, sizeof(h));
}

/* Make the data after the last complete block a block, too. */
static void repair_blocks(uint8_t *data, size_t size)
{
	const struct file_header *file = (const struct file_header *)data;
	struct block_header h;

	for (size_t at = file->size, number = 0; size - at >= sizeof(h); number++) {
		size_t left = size - at - sizeof(h);

		memcpy(&h, data + at, sizeof(h));
		h.magic = BLOCK_MAGIC;
		h.type = h.type % 7;
		h.number = number;
		h.offset = at;
		if (h.size > left || capture_padded(h.size) > left)
			h.size = left & ~(BLOCK_ALIGN - 1u);
		memcpy(data + at, &h, sizeof(h));
		at += sizeof(h) + capture_padded(h.size);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct bytes bytes = { data, LLVMFuzzerMutate(data, size, max_size) };

	if (seed % 8 == 0 || bytes.size < 2 * BLOCK_ALIGN)
		return bytes.size;
	if (seed % 8 > 1) {
		repair_file_header(data, bytes.size);
		repair_blocks(data, bytes.size);
	}
	bytes_seal(&bytes);
	return bytes.size;
}

#endif
