/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_writer - write captures in a thread, one at a time.
 *
 * The disk can be slow or full, and meanwhile the recorder's stream has to be read.  The thread
 * writes a partial file and gives it its name at the end; if it fails, it removes the file.  It
 * does not wait until the data is on the disk: that would make the recorded services wait for
 * theirs.
 */
#ifndef SONDE_FLIGHT_SNAPSHOT_WRITER_H
#define SONDE_FLIGHT_SNAPSHOT_WRITER_H

#include "base/err.h"
#include "event/block_ring.h"
#include "flight/capture_dir.h"
#include "flight/capture_name.h"

struct snapshot_writer;

/* Borrows the directory. */
int snapshot_writer_new(struct capture_dir *dir, struct snapshot_writer **ret, struct err *err);

/* Waits for a capture that is being written. */
void snapshot_writer_free(struct snapshot_writer *w);
DEFINE_FREEP(snapshot_writer)

/* Start to write; takes the snapshot, also on failure.  -EBUSY before the last one is finished. */
int snapshot_writer_start(struct snapshot_writer *w, struct ring_snapshot *snapshot,
			  const struct capture_name *name, struct err *err);

bool snapshot_writer_is_busy(const struct snapshot_writer *w); /* until _finish() */
bool snapshot_writer_is_done(const struct snapshot_writer *w); /* _finish() will not wait */
int snapshot_writer_fd(const struct snapshot_writer *w);       /* readable when it is done */

/* Wait for the end: the size of the capture, or a negative errno. */
int64_t snapshot_writer_finish(struct snapshot_writer *w, struct err *err);

#endif
