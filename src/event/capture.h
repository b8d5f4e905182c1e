/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - sonde's trace file: its writer and its reader.
 *
 * A capture is a file header followed by blocks, each with a header and
 * checksums.  It contains no pointers, so it can be mapped and read in place.
 * Blocks are atomic: the payload is written before the header, so if the
 * recorder is killed, the file is readable up to its last complete block.  A
 * complete capture ends with an END block.  sonde-capture(5) documents the
 * format.
 */
#ifndef SONDE_EVENT_CAPTURE_H
#define SONDE_EVENT_CAPTURE_H

#include "base/base.h"
#include "base/err.h"
#include "base/strtab.h"
#include "event/event.h"

/*
 * Properties of the recording and its host.  The writer copies the strings; the
 * reader's strings are valid as long as the capture is open.
 */
struct capture_meta {
	const char *host;
	const char *kernel;  /* release */
	const char *machine; /* x86_64 */
	const char *command; /* command line of the recorder */
	const char *tool;    /* name and version of the writing program */
	uint32_t cpu_count;
	nsec_t start;            /* CLOCK_MONOTONIC */
	int64_t realtime_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	int64_t boottime_offset;
	uint32_t version; /* of the format; set by the reader only */
};

struct capture_writer;

/*
 * Create or replace the file at path, readable by its owner only.  Processes that
 * have a replaced capture open can read on.  Under RLIMIT_FSIZE, ignore SIGXFSZ
 * to get an error instead of the signal.
 */
int capture_create(const char *path, const struct capture_meta *meta, struct capture_writer **ret,
		   struct err *err);
/* Without capture_close(), the capture stays incomplete, as if the recorder had been killed. */
void capture_writer_free(struct capture_writer *w);
DEFINE_FREEP(capture_writer)

/* Returns the id of a string, for use in later records. */
uint32_t capture_add_string(struct capture_writer *w, const char *s);
/* The id of a string that was added before; otherwise 0. */
uint32_t capture_find_string(const struct capture_writer *w, const char *s);

/*
 * Append a record of any kind, known or unknown.  Records should be ordered by time.  If a write
 * fails, for example on a full disk, the file is truncated to its last complete block, and all
 * later calls fail with the same message.
 */
int capture_write(struct capture_writer *w, const struct record *record, struct err *err);

/*
 * Start a thread that writes the file, so that the caller waits for the disk only while more than
 * `limit` bytes are queued.  A later call reports a failed write.  The thread inherits the
 * caller's current privileges.
 */
int capture_write_behind(struct capture_writer *w, size_t limit, struct err *err);

/* Write all appended records as a block. */
int capture_flush(struct capture_writer *w, struct err *err);

/* Flush, and mark the capture as complete.  The caller still frees the writer. */
int capture_close(struct capture_writer *w, struct err *err);

uint64_t capture_size(const struct capture_writer *w); /* bytes written or queued */
int capture_fd(const struct capture_writer *w);

struct capture;

/*
 * Open a capture and check its headers.  A damaged file header is an error here;
 * capture_next() reports later damage when it reaches it, so that everything
 * before it is usable.  A capture that is still being recorded reads as an
 * incomplete one.
 */
int capture_open(const char *path, struct capture **ret, struct err *err);

/* Like capture_open(), for borrowed memory, aligned to 8 bytes.  The name is for messages. */
int capture_open_memory(const char *name, const void *data, size_t size, struct capture **ret,
			struct err *err);
void capture_free(struct capture *cap);
DEFINE_FREEP(capture)

const struct capture_meta *capture_meta(const struct capture *cap);
const char *capture_get_string(const struct capture *cap, uint32_t id); /* "" if unknown */

/* The i-th warning of the recorder; NULL after the last. */
const char *capture_note(const struct capture *cap, size_t i);

/*
 * Whether the recorder closed the capture.  *ret_end, unless NULL, is the offset
 * at which the valid blocks end: the end of the file, or its first damage.
 */
bool capture_is_complete(const struct capture *cap, uint64_t *ret_end);

/* A read position.  A capture can have several cursors at the same time. */
struct capture_cursor {
	const struct capture *cap; /* borrowed */
	size_t block;
	const unsigned char *at, *end; /* the rest of the current block */
	nsec_t from, to;
	uint64_t unknown; /* number of skipped records of unknown kinds */
};

/*
 * Start reading records whose time is in [from, to]; use 0 and UINT64_MAX for all.
 * Blocks outside of the range are skipped without reading them.
 */
void capture_cursor_init(struct capture_cursor *cur, const struct capture *cap, nsec_t from,
			 nsec_t to);

/*
 * Read the next record: 1 and a pointer that is valid while the capture is open,
 * 0 at the end, or a negative errno at damage, also on further calls.  The
 * record's kind is below RECORD_KIND_COUNT; it has at least the size of the first
 * version of its struct, and contains its complete variable part.
 */
int capture_next(struct capture_cursor *cur, const struct record **ret, struct err *err);

#endif
