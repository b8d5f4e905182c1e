/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink - where a recorder writes its strings and records.
 *
 * A sink is a struct of functions.  The capture file (file_sink.h) is one, the stream to a reader
 * in another process (stream_sink.h) another.  The recorder neither knows nor cares which one it
 * has, except that a stream has epochs: what records refer to is described again in each of them.
 *
 * A sink begins before the recorder drops its privileges and starts after that, so that a thread
 * of the sink has none.
 */
#ifndef SONDE_RECORD_SINK_H
#define SONDE_RECORD_SINK_H

#include "base/base.h"
#include "base/err.h"
#include "event/capture.h"
#include "event/counter.h"
#include "event/recorder_stats.h"
#include "record/clock.h"

struct sink;

/* Functions that a sink does not need are NULL. */
struct sink_ops {
	int (*begin)(struct sink *s, const struct capture_meta *meta, struct err *err);
	int (*start)(struct sink *s, struct err *err);
	uint32_t (*add_string)(struct sink *s, const char *text);
	uint32_t (*find_string)(const struct sink *s, const char *text);
	uint32_t (*renew_string)(struct sink *s, uint32_t id);
	int (*write)(struct sink *s, const struct record *record, struct err *err);
	int (*flush)(struct sink *s, struct err *err);
	int (*poll)(struct sink *s, nsec_t now, struct err *err);
	int (*pause)(struct sink *s, nsec_t ns, struct err *err);
	void (*note)(struct sink *s, const char *text);
	int (*stats)(struct sink *s, const struct recorder_stats *stats, struct err *err);
	int (*epoch)(struct sink *s, nsec_t now, struct err *err);
	bool (*wants_epoch)(const struct sink *s);
	int (*settle)(struct sink *s, struct counters *counters, struct err *err);
	int (*close)(struct sink *s, struct err *err);
	uint64_t (*size)(const struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
	int socket; /* that the sink uses, or -1 */
};

/* Write the header of the recording. */
static inline int sink_begin(struct sink *s, const struct capture_meta *meta, struct err *err)
{
	return s->ops->begin(s, meta, err);
}

/* Privileges are dropped: threads can start. */
static inline int sink_start(struct sink *s, struct err *err)
{
	return s->ops->start ? s->ops->start(s, err) : 0;
}

/* Returns the id of a string, for use in later records of this epoch. */
static inline uint32_t sink_add_string(struct sink *s, const char *text)
{
	return s->ops->add_string(s, text);
}

/* The id of a string that was added before in this epoch; otherwise 0. */
static inline uint32_t sink_find_string(const struct sink *s, const char *text)
{
	return s->ops->find_string(s, text);
}

/* After sink_epoch(): the id of a string of the epoch before, for use in this one. */
static inline uint32_t sink_renew_string(struct sink *s, uint32_t id)
{
	return s->ops->renew_string ? s->ops->renew_string(s, id) : id;
}

/* Append a record.  After a failure, all later calls fail with the same message. */
static inline int sink_write(struct sink *s, const struct record *record, struct err *err)
{
	return s->ops->write(s, record, err);
}

/* Pass on everything appended so far. */
static inline int sink_flush(struct sink *s, struct err *err)
{
	return s->ops->flush(s, err);
}

/* Called in each round: pass on what must not wait for a flush. */
static inline int sink_poll(struct sink *s, nsec_t now, struct err *err)
{
	return s->ops->poll ? s->ops->poll(s, now, err) : 0;
}

/* Sleep between two rounds; a signal ends it early. */
static inline int sink_pause(struct sink *s, nsec_t ns, struct err *err)
{
	if (s->ops->pause)
		return s->ops->pause(s, ns, err);
	clock_pause(ns);
	return 0;
}

/* Pass on a warning for the user.  Works before sink_begin(), too. */
static inline void sink_note(struct sink *s, const char *text)
{
	if (s->ops->note)
		s->ops->note(s, text);
}

/* The state of the recording, about once a second. */
static inline int sink_stats(struct sink *s, const struct recorder_stats *stats, struct err *err)
{
	return s->ops->stats ? s->ops->stats(s, stats, err) : 0;
}

static inline bool sink_has_epochs(const struct sink *s)
{
	return s->ops->epoch != NULL;
}

/* Begin an epoch: strings of earlier ones are forgotten. */
static inline int sink_epoch(struct sink *s, nsec_t now, struct err *err)
{
	return s->ops->epoch(s, now, err);
}

/* Whether the sink dropped records, so that an epoch has to describe everything again. */
static inline bool sink_wants_epoch(const struct sink *s)
{
	return s->ops->wants_epoch && s->ops->wants_epoch(s);
}

/* Flush without dropping anything, and count what the sink has added and dropped before. */
static inline int sink_settle(struct sink *s, struct counters *counters, struct err *err)
{
	return s->ops->settle ? s->ops->settle(s, counters, err) : sink_flush(s, err);
}

/* Flush, and mark the recording as complete. */
static inline int sink_close(struct sink *s, struct err *err)
{
	return s->ops->close(s, err);
}

/* Bytes written or queued. */
static inline uint64_t sink_size(const struct sink *s)
{
	return s->ops->size(s);
}

#endif
