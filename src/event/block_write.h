/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_write - build the blocks of a capture: strings and records in, sealed blocks out.
 *
 * Shared by the writers of files and of streams, which differ in what they do with a block.
 * Records are collected until they fill a block.  Strings get ids in the order of their first use;
 * new strings are written right before the first block of records that can refer to them.
 */
#ifndef SONDE_EVENT_BLOCK_WRITE_H
#define SONDE_EVENT_BLOCK_WRITE_H

#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "event/capture_format.h"

struct capture_meta;

/* The payload of a block that is being filled, with room for the padding. */
struct payload {
	unsigned char *data;
	size_t size, room;
	uint32_t count;
	uint64_t first, last; /* as in the block header */
};

/* Not inline: for a record, the compiler would choose 'rep movs', which is slower than memcpy(). */
void payload_put(struct payload *p, const void *data, size_t size);
void payload_done(struct payload *p);

/* The strings of an epoch. */
struct epoch_strings {
	struct strtab *table; /* NULL if none */
	uint32_t base;        /* the id of a string is its id in the table plus this */
	uint32_t written;     /* lowest id in the table that is not written */
};

/* Takes a sealed block: 0 or a negative errno.  `size` includes the padding of the payload. */
typedef int block_put_fn(void *arg, const struct block_header *header, const void *payload,
			 size_t size, struct err *err);

struct block_writer {
	block_put_fn *put;
	void *arg;              /* of put; borrowed */
	uint64_t end;           /* offset of the next block */
	uint32_t blocks;        /* number of blocks before it */
	uint64_t records;       /* number of records in these blocks */
	uint64_t strings;       /* number of strings in these blocks */
	struct payload payload; /* records of the next block */
	struct epoch_strings current, previous;
};

void block_writer_init(struct block_writer *w, block_put_fn *put, void *arg);
void block_writer_done(struct block_writer *w);

/* Fill p with a file header; the first block follows it at p->size. */
void file_header_build(struct payload *p, const struct capture_meta *meta);

/* A string of at most `max` bytes; returns its id. */
static inline uint32_t block_writer_add_string(struct block_writer *w, const char *s, size_t max)
{
	uint32_t id = strtab_add_n(w->current.table, s, max).i;

	return id ? w->current.base + id : 0;
}

/* The id of a string of the current epoch; otherwise 0. */
static inline uint32_t block_writer_find_string(const struct block_writer *w, const char *s)
{
	uint32_t id = strtab_find(w->current.table, s).i;

	return id ? w->current.base + id : 0;
}

/* Whether a record of this size has to go into the next block. */
static inline bool block_writer_is_full(const struct block_writer *w, size_t size)
{
	return w->payload.size + size > BLOCK_TARGET;
}

/* Append a record, which must be valid (record_fits()), to a payload of records. */
static inline void payload_put_record(struct payload *p, const struct record *record)
{
	if (p->count == 0)
		p->first = p->last = record->time;
	if (record->time < p->first)
		p->first = record->time;
	if (record->time > p->last)
		p->last = record->time;
	p->count++;
	payload_put(p, record, record->words * 8u);
}

/* -EINVAL and a message for a record for which record_fits() is false. */
int block_writer_refuse(const struct record *record, struct err *err);

/* Write the strings that were added since the last call, then the records. */
int block_writer_flush(struct block_writer *w, struct err *err);

/* Write p as a block of the given type, and empty it. */
int block_writer_write(struct block_writer *w, enum block_type type, struct payload *p,
		       struct err *err);

/* Start a new table of strings.  The previous one is kept until its strings are written. */
void block_writer_begin_epoch(struct block_writer *w);

/* Flush, and write the END block. */
int block_writer_end(struct block_writer *w, struct err *err);

#endif
