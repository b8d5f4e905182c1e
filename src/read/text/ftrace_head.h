/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_text_head - what each line of an ftrace text says before the event.
 *
 *	            bash-16348   (  16348) [000] d..2. 11883.295055: sched_switch: ...
 *	       trace-cmd-12649 [001]  3127.089581771: sys_exit:             NR 1 = 1
 *	    bash-16348     0...1. 11883295055us!: sched_switch: ...
 *	            perf 20110 [000] 12144.905917:                  raw_syscalls:sys_exit: NR 16 = 0
 *
 * The first is the kernel's, with or without the process and the flags; then
 * trace-cmd report, the kernel's latency format, perf script.
 *
 * A thread's name may be made of anything, of " [000] 1.5: " too.  But it has at
 * most 15 bytes and is set to the right of a column, so what is behind it has a
 * fixed place, where it is looked for first.  In a file that somebody has
 * changed it is the first bracket that a whole head can be made of.
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
	bool counted;     /* the time is a number without a point: not of nanoseconds */
	const char *rest; /* the event: what is behind the time and blanks */
};

/* False if the line does not have one. */
bool ftrace_head_read(struct view line, struct ftrace_head *ret);

#endif
