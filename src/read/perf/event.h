/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event - decodes records of perf.data into raw events.
 *
 * A sample of a tracepoint contains the kernel's binary event, which is decoded by
 * its format.  Samples of other events (cycles, cpu-clock) have only a name.  COMM and
 * FORK describe threads and processes; perf synthesizes those without a time at its
 * start, for threads that already exist.  EXIT and SWITCH are ignored if tracepoints
 * contain the same information.
 *
 * The tid of a sample belongs to the PID namespace of perf, while the fields of a
 * tracepoint belong to the initial namespace.  So the tid of the tracepoint takes
 * precedence, and the pid of the sample is used only if both tids agree.
 */
#ifndef SONDE_READ_PERF_EVENT_H
#define SONDE_READ_PERF_EVENT_H

#include "read/perf/stream.h"

/* raw_event.type is a tracepoint's number, or this plus the index of an attribute. */
enum { PERF_OTHER_TYPES = KERNEL_FORMAT_IDS };

struct perf_decoder {
	struct perf_file *file;  /* borrowed */
	uint32_t kinds;          /* recorded kinds, 1 << enum raw_kind */
	uint32_t tracepoints;    /* kinds recorded by tracepoints, 1 << enum raw_kind */
	uint64_t samples;        /* samples decoded */
	uint64_t unknown;        /* records without a known attribute */
	uint64_t lost, lost_sum; /* lost events by LOST records, and by the totals at the end */
	VEC(nsec_t) cpus;        /* time of the last event of each CPU */
	bool missing_cpus;       /* a context switch has no CPU */
	uint32_t child, parent;  /* of the last synthesized FORK */

	/* The last event. */
	const uint8_t *record;
	struct perf_record head;
	const struct perf_attr *attr;
	const uint8_t *data; /* data of a tracepoint; NULL otherwise */
	size_t size;
	char name[64];
};

/* Requires that all attributes have been read. */
void perf_decoder_init(struct perf_decoder *d, struct perf_file *file);
void perf_decoder_done(struct perf_decoder *d);

/* False if the record is not an event. */
bool perf_decode(struct perf_decoder *d, const uint8_t *record, nsec_t time, struct raw_event *ret);

/* After the last record: true if there is a final event, for losses known only then. */
bool perf_decode_final(struct perf_decoder *d, nsec_t time, struct raw_event *ret);

/* The n-th 32-bit number of a record other than a sample; 0 if it has fewer. */
uint32_t perf_event_word(const struct perf_decoder *d, size_t n);
uint64_t perf_event_lost(const struct perf_decoder *d); /* of LOST and LOST_SAMPLES */
struct raw_text perf_event_comm(const struct perf_decoder *d);

/* show.c: methods of raw_source */
const char *perf_event_name(struct perf_decoder *d);
const char *perf_type_name(struct perf_decoder *d, uint32_t type);
void perf_event_fields(struct perf_decoder *d, const struct raw_visitor *visitor, void *arg);

#endif
