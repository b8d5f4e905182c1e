/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - the file a recording is kept in: its writer and its reader.
 *
 * A capture is a file header and then blocks, each with a header of its own, a
 * checksum, and nothing in it that points outside the file, so that it can be
 * mapped and read in place.  A block is whole or not there at all: its payload
 * is written before its header, so a recorder that is killed leaves a file
 * that reads well up to its last block.  The last block of a complete capture
 * says so.  doc/man/sonde-capture.5.scd describes every byte.
 */
#ifndef SONDE_EVENT_CAPTURE_H
#define SONDE_EVENT_CAPTURE_H

#include "base/base.h"
#include "base/err.h"
#include "base/strtab.h"
#include "event/event.h"

/*
 * What is known when recording begins.  The writer copies the strings; those of
 * the reader live as long as the capture is open.
 */
struct capture_meta {
	const char *host;
	const char *kernel;  /* release */
	const char *machine; /* x86_64 */
	const char *command; /* the command line of the recording */
	const char *tool;    /* name and version of what wrote the file */
	uint32_t cpu_count;
	nsec_t start;            /* CLOCK_MONOTONIC */
	int64_t realtime_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	int64_t boottime_offset;
	uint32_t version; /* of the format; set by the reader alone */
};

struct capture_writer;

/*
 * Creates or replaces the file at path; a capture that is replaced stays whole
 * for those who have it open.  Only its owner may read it.  A caller that sets a
 * limit on file sizes should ignore SIGXFSZ, to get an error instead.
 */
int capture_create(const char *path, const struct capture_meta *meta, struct capture_writer **ret,
		   struct err *err);
/* Drops the writer without closing the capture: as if the recorder had been killed. */
void capture_writer_free(struct capture_writer *w);
DEFINE_FREEP(capture_writer)

/* The id under which records written from now on may speak of s. */
uint32_t capture_add_string(struct capture_writer *w, const char *s);
/* The same if there is such an id already; else 0. */
uint32_t capture_find_string(const struct capture_writer *w, const char *s);

/*
 * Append a record, of any kind, known or not; its time should not be before the last one's.  Once
 * writing has failed (a full disk, say), the file is cut back to its last whole block and every
 * later call fails with the same words.
 */
int capture_write(struct capture_writer *w, const struct record *record, struct err *err);

/*
 * From now on a thread writes the file, so that the caller need not wait for the disk unless more
 * than `limit` bytes are queued.  What fails is reported by a later call.  The thread has the
 * privileges that the caller has now.
 */
int capture_write_behind(struct capture_writer *w, size_t limit, struct err *err);

/* Put what was appended so far into the file. */
int capture_flush(struct capture_writer *w, struct err *err);

/* Flush, and mark the capture as complete. The writer is still to be freed. */
int capture_close(struct capture_writer *w, struct err *err);

uint64_t capture_size(const struct capture_writer *w); /* bytes in the file so far */
int capture_fd(const struct capture_writer *w);

struct capture;

/*
 * Opens and checks a capture.  Damage in the header, or no capture at all, is
 * an error here; damage further on is reported by capture_next() when it gets
 * there, so that all before it can be used.  A capture that is still being
 * recorded reads as one that was cut off.
 */
int capture_open(const char *path, struct capture **ret, struct err *err);

/* The same for bytes in memory, borrowed; data is aligned to 8. The name is for messages. */
int capture_open_memory(const char *name, const void *data, size_t size, struct capture **ret,
			struct err *err);
void capture_free(struct capture *cap);
DEFINE_FREEP(capture)

const struct capture_meta *capture_meta(const struct capture *cap);
const char *capture_get_string(const struct capture *cap, uint32_t id); /* "" if there is none */

/*
 * Whether the recorder closed it.  The good blocks end at *ret_end (which may
 * be NULL): at the end of the file, or where it is cut off or damaged.
 */
bool capture_is_complete(const struct capture *cap, uint64_t *ret_end);

/* A place in a capture. Several may be used at once on one capture. */
struct capture_cursor {
	const struct capture *cap; /* borrowed */
	size_t block;
	const unsigned char *at, *end; /* the rest of the current block */
	nsec_t from, to;
	uint64_t unknown; /* records passed over because they are of no known kind */
};

/*
 * From the begin, over records whose time is in [from, to]; 0 and UINT64_MAX for
 * all.  Blocks that lie outside are not even looked at, which is fast.
 */
void capture_cursor_init(struct capture_cursor *cur, const struct capture *cap, nsec_t from,
			 nsec_t to);

/*
 * The next record: 1 and a pointer into the file that holds as long as the
 * capture is open, 0 at the end, or a negative errno where the file is damaged;
 * then it does so again if asked again.  The record is of a kind below
 * RECORD_KIND_COUNT, has at least the size of its struct's first version, and
 * holds all of its variable part.
 */
int capture_next(struct capture_cursor *cur, const struct record **ret, struct err *err);

#endif
