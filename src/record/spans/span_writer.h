/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_writer - turns the events of agents into records of a capture.
 *
 * A BEGIN event waits for its END event, and both become one span record.  An END event
 * alone becomes a span if it contains the start time.  A span without END event is
 * written as open, and ends with its process or with the recording.
 *
 * The recorder empties the rings one after the other, each in order of time.  So the
 * span writer buffers the records of a round and sorts them before it passes them to
 * the sorter, which is fast only with nearly ordered input.
 *
 * Names and attribute values go into the string table of the capture.  A service with
 * an unlimited number of different values would fill the memory, so there is a limit;
 * beyond it, new strings are left out and the user is warned.  One owner gets at most a
 * quarter of the remaining space, so that there is always space for others.
 */
#ifndef SONDE_RECORD_SPANS_SPAN_WRITER_H
#define SONDE_RECORD_SPANS_SPAN_WRITER_H

#include "base/base.h"
#include "base/map.h"
#include "record/sink.h"
#include "event/counter.h"
#include "event/span_wire.h"
#include "record/sort.h"

/* Receives each kind of warning once. */
typedef void span_writer_warning_fn(void *arg, const char *text);

struct span_writer_config {
	struct sorter *sorter; /* borrowed */
	size_t stream;
	struct sink *sink;         /* borrowed */
	nsec_t start;              /* of the recording; earlier events are discarded */
	struct counters *counters; /* borrowed, or NULL */
	span_writer_warning_fn *warning;
	void *arg;
};

/* Where an event comes from. */
struct span_origin {
	uint64_t owner;     /* only an event of the same owner can end a span */
	uint32_t pid, tid;  /* of the thread that wrote the event; tid 0 if unknown */
	uint32_t start_tid; /* END: the thread that began the span; 0 if unknown */
	uint32_t service;   /* string */
};

struct span_writer;

struct span_writer *span_writer_new(const struct span_writer_config *config);
void span_writer_free(struct span_writer *s);
DEFINE_FREEP(span_writer)

/*
 * The number of a string in the capture; `text` ends at `size` or at a NUL.  Returns 0 if the
 * owner has used up its share of the string table.
 */
uint32_t span_writer_string(struct span_writer *s, uint64_t owner, const char *text, size_t size);

/*
 * After an epoch of a stream began: renew the strings of open spans.  Owners get new shares of the
 * string table.
 */
void span_writer_renew_strings(struct span_writer *s);

/* Bytes of records buffered since the last flush. */
size_t span_writer_buffered(const struct span_writer *s);

/* Add a valid event; events later than `until` are discarded. */
void span_writer_add_event(struct span_writer *s, const struct span_origin *origin,
			   const struct span_event *event, nsec_t until);
void span_writer_add_loss(struct span_writer *s, uint32_t tid, nsec_t first, nsec_t last,
			  uint64_t count, nsec_t now);

/* End the open spans of processes that have exited (pid -> time of the exit). */
void span_writer_close_processes(struct span_writer *s, const struct map *ended);
/* End all open spans: the recording ends. */
void span_writer_close_all(struct span_writer *s, nsec_t end);

/* Pass the buffered records to the sorter.  Discards records with a time in the future. */
void span_writer_flush(struct span_writer *s, nsec_t now);

#endif
