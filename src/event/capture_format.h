/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_format - on-disk layout of a capture, for its writer, reader and tests.
 *
 * Header and blocks start at multiples of 64 bytes, so a block header never
 * crosses a page: the kernel copies it into the file completely or not at all,
 * even if the writer is killed at that moment.  Both headers end with a checksum
 * of their preceding bytes, and the payload checksum includes the padding, so
 * checksums cover every byte of a capture.  sonde-capture(5) documents each field.
 */
#ifndef SONDE_EVENT_CAPTURE_FORMAT_H
#define SONDE_EVENT_CAPTURE_FORMAT_H

#include <xxhash.h>

#include "base/base.h"
#include "event/event.h"

#define CAPTURE_MAGIC "\x89sonde\r\n" /* like PNG, detects line-ending conversion */
#define CAPTURE_BYTE_ORDER 0x01020304u
#define CAPTURE_VERSION 1u

enum {
	BLOCK_ALIGN = 64,
	BLOCK_TARGET = 256 * 1024, /* payload size at which the writer starts a new block */
	BLOCK_MAX = 1024 * 1024,   /* largest payload in a stream; longer strings are cut */
	META_STRINGS = 5,
};

struct file_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint32_t size;    /* of this header, with its strings, padding and checksum */
	uint32_t strings; /* offset of the strings, which is the size of the fixed part */
	uint32_t cpu_count;
	uint32_t reserved;
	uint64_t start;
	int64_t realtime_offset;
	int64_t boottime_offset;
	/* then META_STRINGS strings, zeros, and in the last 8 bytes the checksum */
};

#define BLOCK_MAGIC 0x4b4c4253u /* "SBLK" */

enum block_type {
	BLOCK_RECORDS = 1,
	BLOCK_STRINGS = 2,
	BLOCK_END = 3,
	BLOCK_NOTE = 4,  /* a warning of the recorder: text without a NUL */
	BLOCK_STATS = 5, /* struct recorder_stats */
};

struct block_header {
	uint32_t magic;
	uint32_t type;   /* enum block_type; readers skip unknown types */
	uint64_t size;   /* of the payload, without padding */
	uint32_t count;  /* records or strings */
	uint32_t number; /* blocks before this one */
	/*
	 * RECORDS: smallest and greatest time.  STRINGS: `first` is the id of the first string; 0
	 * if it follows the last string of the block of strings before.
	 */
	uint64_t first, last;
	uint64_t offset; /* of this header in the file */
	uint64_t payload_checksum;
	uint64_t checksum;
};

struct end_payload {
	uint64_t records, strings; /* in all blocks */
};

_Static_assert(sizeof(struct file_header) == 56, "written to disk");
_Static_assert(sizeof(struct block_header) == BLOCK_ALIGN, "written to disk");

static inline uint64_t capture_padded(uint64_t size)
{
	return (size + BLOCK_ALIGN - 1) & ~(uint64_t)(BLOCK_ALIGN - 1);
}

static inline uint64_t block_checksum(const struct block_header *h)
{
	return XXH3_64bits(h, offsetof(struct block_header, checksum));
}

static inline bool block_header_valid(const struct block_header *h)
{
	return h->magic == BLOCK_MAGIC && h->checksum == block_checksum(h);
}

/*
 * By kind, the size in 8-byte words of the first version of the record, or of its fixed part.
 * These never change.  0 for unknown kinds.
 */
extern const uint8_t record_first_words[256];

/* The minimum size of a record in words; for unknown kinds, that of the head. */
static inline unsigned int record_min_words(unsigned int kind)
{
	return record_first_words[kind] ?: sizeof(struct record) / 8;
}

/* Whether the record at r, including its variable part, fits into `room` bytes. */
static inline bool record_fits(const struct record *r, size_t room)
{
	if (room < sizeof(*r) || r->words * 8u > room || r->words < record_min_words(r->kind))
		return false;
	if (r->kind == RECORD_PROBE_EVENT)
		return sizeof(struct record_probe_event) +
			       ((const struct record_probe_event *)r)->size <=
		       r->words * 8u;
	if (r->kind == RECORD_STACK) {
		const struct record_stack *s = (const struct record_stack *)r;

		return sizeof(*s) + 4u * (s->kernel_count + s->user_count) <= r->words * 8u;
	}
	return true;
}

#endif
