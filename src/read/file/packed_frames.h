/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_frames - OTLP requests that were compressed one by one.
 *
 * The file exporter of the OpenTelemetry collector writes this format with
 * `compression: zstd`: each request, in protobuf or JSON, is compressed separately
 * and preceded by its length in four bytes, big-endian.  No common tool unpacks such
 * files.  The output is what the exporter writes without compression: requests
 * preceded by their lengths, or one request per line.
 */
#ifndef SONDE_READ_FILE_PACKED_FRAMES_H
#define SONDE_READ_FILE_PACKED_FRAMES_H

#include "base/err.h"
#include "base/view.h"

/* Whether these are the first bytes of such a file. */
bool packed_frames_matches(const char *head, size_t size);

/*
 * Writes the uncompressed requests to fd, at most limit bytes.  If the last request is
 * truncated, so is the output.  Messages contain the path.
 */
int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err);

#endif
