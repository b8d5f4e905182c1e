/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_read - read a capture from a pipe or socket, while it is written.
 *
 * The caller feeds bytes as they come, and gets records.  Every block is complete and its
 * checksum verified before its first record is returned.  Memory is bounded: one block, and the
 * strings of two epochs.
 */
#ifndef SONDE_EVENT_STREAM_READ_H
#define SONDE_EVENT_STREAM_READ_H

#include "event/capture.h"
#include "event/recorder_stats.h"

struct block_header;
struct stream_reader;

/* The name is for messages. */
struct stream_reader *stream_reader_new(const char *name);
void stream_reader_free(struct stream_reader *r);
DEFINE_FREEP(stream_reader)

/*
 * Where to put the next bytes, and how many fit, at least 1.  Call stream_reader_next() until it
 * returns -EAGAIN before; records that it returned are invalid afterwards.
 */
void *stream_reader_room(struct stream_reader *r, size_t *ret_size);
void stream_reader_feed(struct stream_reader *r, size_t size); /* bytes put there */
void stream_reader_end(struct stream_reader *r);               /* no more bytes will come */

/*
 * Read once from a descriptor into the room: the number of bytes, 0 at the end of the stream, or a
 * negative errno: -EAGAIN if a non-blocking descriptor has nothing.
 */
int stream_reader_read(struct stream_reader *r, int fd, struct err *err);

/*
 * The next record: 1, valid until bytes are added; 0 at the end; -EAGAIN if more bytes are needed;
 * another negative errno at damage, also on further calls.  Records are as those of
 * capture_next().
 */
int stream_reader_next(struct stream_reader *r, const struct record **ret, struct err *err);

/* NULL until the file header has been read.  The first call of stream_reader_next() reads it. */
const struct capture_meta *stream_reader_meta(const struct stream_reader *r);

/* "" if unknown, or of an epoch older than the previous one. */
const char *stream_reader_get_string(const struct stream_reader *r, uint32_t id);

/* Whether the recorder closed the stream. */
bool stream_reader_is_complete(const struct stream_reader *r);

uint64_t stream_reader_unknown(const struct stream_reader *r); /* records of unknown kinds */

/* The statistics that were read last; NULL if none. */
const struct recorder_stats *stream_reader_stats(const struct stream_reader *r);

/* Memory in bytes. */
size_t stream_reader_memory(const struct stream_reader *r);

/*
 * Called for each verified block, before its records are returned; both pointers are valid during
 * the call.  The payload is padded with zeros.
 */
typedef void stream_block_fn(void *arg, const struct block_header *header, const void *payload);
void stream_reader_on_block(struct stream_reader *r, stream_block_fn *fn, void *arg);

/* Called for each warning of the recorder; the text is valid during the call. */
typedef void stream_note_fn(void *arg, const char *text);
void stream_reader_on_note(struct stream_reader *r, stream_note_fn *fn, void *arg);

#endif
