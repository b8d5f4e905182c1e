/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input - a trace in any supported format, as a stream of records.
 *
 * The format is detected from the content of the file.  A capture contains
 * records; traces of other tools are converted to the same records.  Each input
 * has its own strings and its own clock; merge.h merges several by time.
 */
#ifndef SONDE_READ_INPUT_H
#define SONDE_READ_INPUT_H

#include "base/base.h"
#include "base/err.h"
#include "base/view.h"
#include "event/event.h"

struct input;
struct raw_source;

/* How to recognise a format and how to read it; each format defines one in a file of its own. */
struct input_format {
	const char *name; /* for --format and info */
	/* Head contains the first bytes of the file (at most 4096), without a NUL.  May be NULL. */
	bool (*matches_file)(const char *head, size_t size);
	/* NULL for formats that consist of a single file. */
	bool (*matches_dir)(const char *path);
	int (*open)(const char *path, struct input **ret, struct err *err);
	/* Implementations of input_next(), input_string(), input_note() and input_free(). */
	int (*next)(struct input *input, const struct record **ret, struct err *err);
	const char *(*string)(const struct input *input, uint32_t id);
	const char *(*note)(const struct input *input, size_t i); /* may be NULL */
	void (*free)(struct input *input);
};

/* 0, or -EINVAL if no format has this name. */
int input_check_format(const char *name, struct err *err);

/*
 * Opens a file; detects its format if format is NULL.  The name "-" is stdin.  If stdin or another
 * descriptor (/dev/fd/N) is a pipe, all of it is read first, and can then be opened again.
 */
int input_open(const char *path, const char *format, struct input **ret, struct err *err);
void input_free(struct input *input);
DEFINE_FREEP(input)

/* Reads spans from an export request of OTLP, in protobuf; its bytes are not used afterwards. */
int input_open_otlp(struct view request, struct input **ret, struct err *err);

const char *input_format_name(const struct input *input);

/*
 * Reads the next record, in order of time.  Returns 1, 0 at the end of the input,
 * or a negative errno if the file is damaged.  The record is valid until the next
 * call.
 */
int input_next(struct input *input, const struct record **ret, struct err *err);

/* The string with this id in the records of the input; "" if there is none. */
const char *input_string(const struct input *input, uint32_t id);

/* ns from the input's clock to CLOCK_REALTIME; 0 if they are the same or the offset is unknown. */
int64_t input_realtime_offset(const struct input *input);
/* Whether the offset is known. */
bool input_has_realtime(const struct input *input);

/* Whether the input's clock is CLOCK_MONOTONIC of its host, as in captures. */
bool input_is_monotonic(const struct input *input);

struct input_host {
	const char *name; /* "" if unknown */
	int64_t boot;     /* time of boot, ns of CLOCK_REALTIME; 0 if unknown */
};
/*
 * The host on which a kernel trace was recorded.  NULL for spans, which can come
 * from several hosts; their times are CLOCK_REALTIME.
 */
const struct input_host *input_host(const struct input *input);

/* The host of the last record of an input with spans; "" if unknown. */
const char *input_record_host(const struct input *input);

/* Metadata of the file; NULL or 0 if the file does not contain it.  All strings are borrowed. */
struct input_meta {
	const char *kernel;  /* release */
	const char *machine; /* architecture, as uname -m prints it */
	const char *command; /* command line of the recorder */
	const char *tool;    /* name and version of the recorder */
	uint32_t cpu_count;
	uint32_t version;      /* of the format */
	bool truncated;        /* a capture without an end, since its recorder was killed */
	uint64_t truncated_at; /* offset of the end of the readable part, in bytes */
};
const struct input_meta *input_meta(const struct input *input);

/*
 * Whether the records describe something that does not change, such as the
 * container of each process.  They have time 0 and belong before the first record
 * of the other inputs.
 */
bool input_is_timeless(const struct input *input);

/* What sonde skipped in the file, as a message for the user; NULL if nothing. */
const char *input_warning(const struct input *input);

/* The i-th warning of the recorder, in the file; NULL after the last. */
const char *input_note(const struct input *input, size_t i);

/* Start of the recording, on the input's clock; 0 if unknown. */
nsec_t input_start(const struct input *input);

/* Number of events, records or spans read from the file so far. */
uint64_t input_events(const struct input *input);

/*
 * The decoder of a kernel trace of another tool, for callers that read the original
 * events instead of records; such callers do not call input_next().  NULL for
 * other inputs.
 */
struct raw_source *input_raw(struct input *input);

#endif
