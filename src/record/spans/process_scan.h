/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look - what a process has mapped that concerns us, and what it calls itself.
 *
 * One pass over /proc/PID/maps finds an agent's arena (event/span_wire.h) and
 * the process context of OpenTelemetry's OTEP 4719, a mapping called OTEL_CTX.
 * Everything there is said by a process that may be hostile: the kernel's word
 * for a mapping's device tells a memory file from a file that is just called like
 * one, and reading memory that a file system of the process's own would have to
 * supply, and could keep us waiting for, is refused.
 */
#ifndef SONDE_RECORD_SPANS_PROCESS_SCAN_H
#define SONDE_RECORD_SPANS_PROCESS_SCAN_H

#include "base/base.h"
#include "base/view.h"

struct process_scan {
	uint64_t arena_inode; /* 0 if there is none */
	char arena_range[40]; /* as map_files names it */
	uint64_t context;     /* address of OTEL_CTX; 0 if there is none */
};

enum { PROCESS_SCAN_SERVICE_MAX = 128 };

/*
 * `device` is that of memory files.  -ESRCH if the process is gone, -EACCES or
 * -EPERM if it must not be looked at.
 */
int process_scan_run(uint32_t pid, uint64_t device, struct process_scan *ret);

/* A descriptor, of O_PATH, of the arena that was found; or a negative errno. */
int process_scan_open_arena(uint32_t pid, const struct process_scan *scan);

/* The service.name of a process context; false if it has none, or cannot be read now. */
bool process_scan_read_service(uint32_t pid, uint64_t device, const struct process_scan *scan,
			       char ret[PROCESS_SCAN_SERVICE_MAX]);

/* The same from the payload of such a context, a protobuf message. */
bool process_scan_parse_service(struct view payload, char ret[PROCESS_SCAN_SERVICE_MAX]);

#endif
