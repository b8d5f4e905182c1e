/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event - records of perf.data as raw events.
 *
 * A sample of a tracepoint has the kernel's own record in it, which is decoded
 * by its format.  Samples of other events (cycles, cpu-clock) are events of a
 * name.  COMM and FORK tell of threads and processes; those that perf made up at
 * its start, which have no time, say who was there already.  Where tracepoints
 * say the same as EXIT and SWITCH do, they are the better source.
 *
 * A sample's tid is the number in the process namespace of who recorded; the
 * tracepoint's own fields are numbers of the whole machine.  So where both are
 * there, that of the tracepoint counts, and the process only if they agree.
 */
#ifndef SONDE_READ_PERF_EVENT_H
#define SONDE_READ_PERF_EVENT_H

#include "read/perf/stream.h"

/* raw_event.type: the kernel's number of a tracepoint, or this and the attribute's place. */
enum { PERF_OTHER_TYPES = KERNEL_FORMAT_IDS };

struct perf_decoder {
	struct perf_file *file;  /* borrowed */
	uint32_t kinds;          /* 1 << enum raw_kind, of those that its attributes say */
	uint32_t tracepoints;    /* 1 << enum raw_kind, of those that tracepoints say */
	uint64_t samples;        /* so far */
	uint64_t unknown;        /* records of which no attribute is known */
	uint64_t lost, lost_sum; /* events, by LOST, and by the sums of perf at the end */
	VEC(nsec_t) cpus;        /* when each had its last event */
	bool missing_cpus;       /* a switch did not say on which CPU it was */
	uint32_t child, parent;  /* of the last FORK that was made up */

	/* The last event. */
	const uint8_t *record;
	struct perf_record head;
	const struct perf_attr *attr;
	const uint8_t *data; /* of a tracepoint; NULL if it is none */
	size_t size;
	char name[64];
};

/* Once all attributes are known. */
void perf_decoder_init(struct perf_decoder *d, struct perf_file *file);
void perf_decoder_done(struct perf_decoder *d);

/* Whether it is an event at all. */
bool perf_decode(struct perf_decoder *d, const uint8_t *record, nsec_t time, struct raw_event *ret);

/* Whether there is one more event when all records have been decoded: what is known only then. */
bool perf_decode_end(struct perf_decoder *d, nsec_t time, struct raw_event *ret);

/* The n-th number that a record other than a sample begins with; 0 if it has fewer. */
uint32_t perf_event_word(const struct perf_decoder *d, size_t n);
uint64_t perf_event_lost(const struct perf_decoder *d); /* events, by LOST and LOST_SAMPLES */
struct raw_text perf_event_comm(const struct perf_decoder *d);

/* perf_show.c: as those of raw_source */
const char *perf_event_name(struct perf_decoder *d);
const char *perf_type_name(struct perf_decoder *d, uint32_t type);
void perf_event_fields(struct perf_decoder *d, const struct raw_visitor *visitor, void *arg);

#endif
