/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_scan - find an agent's arena and the process context among the mappings of
 * a process.
 *
 * One pass over /proc/PID/maps finds the arena (event/span_wire.h) and the process
 * context of OpenTelemetry's OTEP 4719, a mapping named OTEL_CTX.  The process may be
 * hostile: a mapping's device number distinguishes a memory file from a file with the
 * same name, and the scan does not read memory that a file system has to supply,
 * because the process may implement that file system and block the recorder.
 */
#ifndef SONDE_RECORD_SPANS_PROCESS_SCAN_H
#define SONDE_RECORD_SPANS_PROCESS_SCAN_H

#include "base/base.h"
#include "base/view.h"

struct process_scan {
	uint64_t arena_inode; /* 0 if there is no arena */
	char arena_range[40]; /* its name below /proc/PID/map_files */
	uint64_t context;     /* address of OTEL_CTX; 0 if there is none */
};

enum { PROCESS_SCAN_SERVICE_MAX = 128 };

/*
 * `device` is the device number of memory files.  -ESRCH if the process is gone, -EACCES or
 * -EPERM without permission.
 */
int process_scan_run(uint32_t pid, uint64_t device, struct process_scan *ret);

/* Open the arena that the scan found.  Returns an O_PATH descriptor, or a negative errno. */
int process_scan_open_arena(uint32_t pid, const struct process_scan *scan);

/* Read service.name from the process context; false if it is missing or changing. */
bool process_scan_read_service(uint32_t pid, uint64_t device, const struct process_scan *scan,
			       char ret[PROCESS_SCAN_SERVICE_MAX]);

/* Find service.name in the payload of a process context, a protobuf message. */
bool process_scan_parse_service(struct view payload, char ret[PROCESS_SCAN_SERVICE_MAX]);

#endif
