/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_write - write a recording to a pipe or socket, in the blocks of a capture.
 *
 * A stream is a capture that is written sequentially; saved to a file, it is a capture.  The writer
 * never waits for the reader.  Blocks that the descriptor does not accept are queued, up to a
 * limit.  Beyond it, whole blocks of records are dropped, until half of the queue is free.  Then
 * the writer adds LOSS records for all CPUs, and stream_writer_needs_epoch() asks for a new epoch,
 * because descriptions can be among the dropped records.  Strings are never dropped: those of a
 * dropped block are sent with the next one.
 *
 * The string table starts again at each epoch, and the ids go on.
 */
#ifndef SONDE_EVENT_STREAM_WRITE_H
#define SONDE_EVENT_STREAM_WRITE_H

#include "event/capture.h"
#include "event/recorder_stats.h"

struct stream_writer;

/*
 * Start a stream.  The descriptor is borrowed and should be non-blocking, see
 * stream_output_open().  The caller ignores SIGPIPE.  `limit` is the size of the queue in bytes.
 */
struct stream_writer *stream_writer_new(int fd, const struct capture_meta *meta, size_t limit);
void stream_writer_free(struct stream_writer *w);
DEFINE_FREEP(stream_writer)

/*
 * A non-blocking descriptor for the same pipe, socket or file as fd, without changing fd, which
 * other processes can share.  Fails for a terminal.  Returns the descriptor; the caller closes it.
 */
int stream_output_open(int fd, struct err *err);

/* As those of a capture (capture.h).  A string is valid in its epoch and the next one. */
uint32_t stream_writer_add_string(struct stream_writer *w, const char *s);
uint32_t stream_writer_find_string(const struct stream_writer *w, const char *s);

/* The current id of a string of this epoch or the one before it; 0 if it is older. */
uint32_t stream_writer_renew_string(struct stream_writer *w, uint32_t id);

/*
 * Functions that write return -EPIPE after the reader has closed the stream; any other error is a
 * failure, such as a full disk.  A stalled reader is not an error.
 */
int stream_writer_write(struct stream_writer *w, const struct record *record, struct err *err);

/* End the current block, and write as much of the queue as possible. */
int stream_writer_flush(struct stream_writer *w, struct err *err);

/*
 * Call this in each round of the main loop.  Writes as much of the queue as possible; ends the
 * current block if the queue is empty, and after 100 ms in any case.
 */
int stream_writer_poll(struct stream_writer *w, nsec_t now, struct err *err);

/* Whether to poll the descriptor for POLLOUT. */
bool stream_writer_has_queued(const struct stream_writer *w);

/* Whether records were dropped since the last epoch, and the reader goes on. */
bool stream_writer_needs_epoch(const struct stream_writer *w);

/* Begin an epoch: the caller describes again what later records refer to. */
int stream_writer_begin_epoch(struct stream_writer *w, nsec_t now, struct err *err);

/* Send a warning.  While the reader stalls, only the first ones are kept. */
int stream_writer_add_note(struct stream_writer *w, const char *text, struct err *err);

/*
 * Send statistics; `bytes`, `dropped_blocks` and `dropped_records` are set here.  Statistics that
 * are still queued are replaced.
 */
int stream_writer_add_stats(struct stream_writer *w, const struct recorder_stats *stats,
			    struct err *err);

/*
 * Flush without dropping anything: wait at most `timeout` ns for the reader; -ETIMEDOUT if it does
 * not read.
 */
int stream_writer_settle(struct stream_writer *w, nsec_t timeout, struct err *err);

/*
 * Flush, write the END block, and wait at most `timeout` ns until the reader has read everything;
 * -ETIMEDOUT if it has not.
 */
int stream_writer_close(struct stream_writer *w, nsec_t timeout, struct err *err);

uint64_t stream_writer_size(const struct stream_writer *w);    /* bytes written or queued */
uint64_t stream_writer_dropped(const struct stream_writer *w); /* number of dropped records */
uint64_t stream_writer_added(const struct stream_writer *w);   /* number of added LOSS and EPOCH */

#endif
