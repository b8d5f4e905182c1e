/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribe - from the events of agents to records of a capture.
 *
 * A begin is kept until its end comes, and both are one span; an end alone is one
 * too, if it knows when the span began.  Spans whose end never comes end, open,
 * with their process or with the recording.
 *
 * The rings are emptied one after the other, each in order of time; so records
 * are gathered for a round and sorted before they go to the sorter, which is
 * quick with what is nearly in order and with nothing else.
 *
 * Names and values are put into the capture's table as they come.  A service that
 * makes up new ones all the time would fill the memory with them: beyond a limit,
 * values are left out, and that is said.  Of what is left, one owner gets a quarter at
 * most, so that whatever it does, others get their names into the capture.
 */
#ifndef SONDE_RECORD_SPANS_SPAN_WRITER_H
#define SONDE_RECORD_SPANS_SPAN_WRITER_H

#include "base/base.h"
#include "base/map.h"
#include "event/capture.h"
#include "event/counter.h"
#include "event/span_wire.h"
#include "record/sort.h"

/* Told of what the user should know; each kind of it once. */
typedef void span_writer_warning_fn(void *arg, const char *words);

struct span_writer_config {
	struct sorter *sorter; /* borrowed */
	size_t stream;
	struct capture_writer *writer; /* borrowed */
	nsec_t start;                  /* what happened before is not told */
	struct counters *counters;     /* borrowed, or NULL */
	span_writer_warning_fn *warning;
	void *arg;
};

/* Whose an event is. */
struct span_origin {
	uint64_t owner;    /* only an event of the same owner can end a span */
	uint32_t pid, tid; /* of the thread that says it; tid 0 if not known */
	uint32_t begun_by; /* END: the thread that began it, as it says; 0 if not known */
	uint32_t service;  /* string */
};

struct span_writer;

struct span_writer *span_writer_new(const struct span_writer_config *config);
void span_writer_free(struct span_writer *s);
DEFINE_FREEP(span_writer)

/* A string's number in the capture; it ends at a 0. */
uint32_t span_writer_string(struct span_writer *s, const char *text, size_t size);
/* The same for a string that an owner chose; 0 if it chose too many. */
uint32_t span_writer_owner_string(struct span_writer *s, uint64_t owner, const char *text,
				  size_t size);

/* Bytes of records since the last flush. */
size_t span_writer_buffered(const struct span_writer *s);

/* A whole event; later ones than `until` are passed over. */
void span_writer_add_event(struct span_writer *s, const struct span_origin *origin,
			   const struct span_event *event, nsec_t until);
void span_writer_add_loss(struct span_writer *s, uint32_t tid, nsec_t first, nsec_t last,
			  uint64_t count, nsec_t now);

/* These processes (pid -> when) have ended, and with them what was open. */
void span_writer_close_processes(struct span_writer *s, const struct map *ended);
/* The recording ends: so does everything. */
void span_writer_close_all(struct span_writer *s, nsec_t end);

/* Hand what was gathered to the sorter, but for what is later than now: that is a lie. */
void span_writer_flush(struct span_writer *s, nsec_t now);

#endif
