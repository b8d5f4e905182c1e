/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_frames - requests of OTLP that were compressed one by one.
 *
 * The collector's file exporter writes this when it is told `compression: zstd`:
 * each request, in protobuf or JSON, is packed by itself and stands behind its
 * length in four bytes, the highest first.  No tool unpacks that.  What comes
 * out here is what the exporter writes otherwise: requests behind their lengths,
 * or on lines.
 */
#ifndef SONDE_READ_FILE_PACKED_FRAMES_H
#define SONDE_READ_FILE_PACKED_FRAMES_H

#include "base/err.h"
#include "base/view.h"

/* By its first bytes. */
bool packed_frames_matches(const char *head, size_t size);

/*
 * Writes what is in the file to fd, at most as many bytes.  If the last request is
 * cut off, so is that which is written.  The path is for messages.
 */
int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err);

#endif
