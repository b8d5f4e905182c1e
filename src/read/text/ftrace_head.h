/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_head - the part of a line before the event.
 *
 *	            bash-16348   (  16348) [000] d..2. 11883.295055: sched_switch: ...
 *	       trace-cmd-12649 [001]  3127.089581771: sys_exit:             NR 1 = 1
 *	    bash-16348     0...1. 11883295055us!: sched_switch: ...
 *	            perf 20110 [000] 12144.905917:                  raw_syscalls:sys_exit: NR 16 = 0
 *
 * The first line is in the kernel's format, with or without process and flags; the others
 * are from trace-cmd report, the kernel's latency format, and perf script.
 *
 * The name of a thread can contain anything, even " [000] 1.5: ".  But it has at most 15 bytes
 * and is right-aligned, so the text after it is at a fixed column, which is tried first.  In
 * files that were edited, the head is found at the first bracket from which a valid head can
 * be parsed.
 */
#ifndef SONDE_READ_TEXT_FTRACE_HEAD_H
#define SONDE_READ_TEXT_FTRACE_HEAD_H

#include "base/view.h"
#include "read/raw/raw.h"

struct ftrace_head {
	nsec_t time;
	uint32_t tid, pid; /* pid may be RAW_UNKNOWN */
	struct raw_text comm;
	uint16_t cpu;
	uint8_t context;  /* enum raw_context */
	bool is_counter;  /* the time is a count: a number without a decimal point */
	const char *rest; /* the event, after time and blanks */
};

/* False if the line does not start with a head. */
bool ftrace_head_read(struct view line, struct ftrace_head *ret);

#endif
