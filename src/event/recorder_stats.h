/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_stats - the state of a running recorder, which it sends about once a second.
 *
 * Written to streams: add at the end.  A reader sets fields that the recorder does not send to 0.
 */
#ifndef SONDE_EVENT_RECORDER_STATS_H
#define SONDE_EVENT_RECORDER_STATS_H

#include "base/base.h"

struct recorder_stats {
	nsec_t time;         /* of these numbers, CLOCK_MONOTONIC */
	uint64_t records;    /* number of records since the start, without the dropped ones */
	uint64_t lost;       /* records lost in the kernel, because a ring was full */
	uint64_t late;       /* records out of order */
	uint64_t agent_lost; /* span events lost between agents and recorder */
	uint64_t bytes;      /* written to the stream, or queued */
	/* dropped, because the reader of the stream was too slow */
	uint64_t dropped_blocks, dropped_records;
	nsec_t cpu_time;        /* of the recorder */
	uint64_t resident;      /* memory of the recorder, bytes */
	nsec_t elapsed;         /* since the start of the recording */
	uint64_t processes;     /* recorded now; 0 in a recording without spans */
	uint64_t scope_refused; /* how often a process with an agent was kept out of scope */
};

#endif
