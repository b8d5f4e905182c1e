/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input - anything that sonde can read, as a stream of records.
 *
 * What a file is, its content says.  A capture gives its own records; a foreign
 * trace is turned into the same ones.  Several inputs are read as one, merged
 * by time, each with its own strings and its own clock: see merge.h.
 */
#ifndef SONDE_READ_INPUT_H
#define SONDE_READ_INPUT_H

#include "base/base.h"
#include "base/err.h"
#include "event/event.h"

struct input;
struct raw_source;

/*
 * A format: how to recognise it from a file's first bytes, and how to read it.
 * One file per format, each defining one of these.
 */
struct input_format {
	const char *name; /* for --format and info */
	/* Whether this may be one; head has the file's first bytes (up to 4096), not terminated. */
	bool (*matches_file)(const char *head, size_t size);
	/* Whether this directory may be one; left out by formats that are files. */
	bool (*matches_dir)(const char *path);
	int (*open)(const char *path, struct input **ret, struct err *err);
	/* As those of the same names below. */
	int (*next)(struct input *input, const struct record **ret, struct err *err);
	const char *(*string)(const struct input *input, uint32_t id);
	void (*free)(struct input *input);
};

/* 0, or -EINVAL and a sentence if there is no format of this name. */
int input_check_format(const char *name, struct err *err);

/* Opens a file in the format that its content shows, or in the named one if format is not NULL. */
int input_open(const char *path, const char *format, struct input **ret, struct err *err);
void input_free(struct input *input);
DEFINE_FREEP(input)

const char *input_format_name(const struct input *input);

/*
 * The next record in the order of time: 1, 0 at the end, or a negative errno
 * where the file is damaged.  The record holds until the next call.
 */
int input_next(struct input *input, const struct record **ret, struct err *err);

/* The string that a record of this input names; "" if there is none. */
const char *input_string(const struct input *input, uint32_t id);

/* What to add to its times to get CLOCK_REALTIME; 0 if they are that already, */
int64_t input_realtime_offset(const struct input *input);
/* or if the trace does not say. */
bool input_has_realtime(const struct input *input);

/* Whether its clock is CLOCK_MONOTONIC of its host, which captures of that have too. */
bool input_is_monotonic(const struct input *input);

/*
 * The machine on which a kernel trace was recorded, all of it; NULL for spans,
 * which may be of several and whose times are CLOCK_REALTIME.
 */
struct input_host {
	const char *name; /* "" if the trace does not say */
	int64_t boot;     /* when it was started, CLOCK_REALTIME; 0 if unknown */
};
const struct input_host *input_host(const struct input *input);

/* The machine that the last record of spans is about; "" if it does not say. */
const char *input_record_host(const struct input *input);

/* What the file says of its making; what it does not say is NULL or 0.  All borrowed. */
struct input_meta {
	const char *kernel, *machine; /* release and architecture */
	const char *command, *tool;   /* by which it was recorded */
	uint32_t cpu_count;
	uint32_t version;      /* of its format */
	bool truncated;        /* a capture whose recorder was stopped before it could close it, */
	uint64_t truncated_at; /* and where it ends then */
};
const struct input_meta *input_meta(const struct input *input);

/*
 * Whether it tells what holds all the time, as where a process belongs: its
 * records have the time 0, and their place is at the begin of the others.
 */
bool input_is_timeless(const struct input *input);

/* What of the file could not be used, or NULL; a sentence for the person at the terminal. */
const char *input_warning(const struct input *input);

/* When recording began, on its own clock; 0 if it does not say. */
nsec_t input_start(const struct input *input);

/* How many events, records or spans of the source have been read so far. */
uint64_t input_events(const struct input *input);

/*
 * The decoder of a foreign kernel trace, for who wants its events as they stand
 * and not as records; then input_next() must not be used.  NULL of others.
 */
struct raw_source *input_raw(struct input *input);

#endif
