/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder - the recorder as a library.
 *
 *	recorder_open()		attach the BPF programs, drop privileges, start the command
 *	recorder_poll()		one round: pause, drain the rings, write to the sink
 *	recorder_close()	end all intervals, detach, complete the sink
 *
 * The process that calls recorder_open() loses its privileges there and cannot record again; one
 * that has to is a child process of the keeper (keeper.h).
 *
 * A recorder with epochs can run for weeks: at the beginning of an epoch it forgets what
 * it has described, and describes it again when it is used.
 */
#ifndef SONDE_RECORD_RECORDER_H
#define SONDE_RECORD_RECORDER_H

#include "record/record.h"
#include "record/sink.h"
#include "record/verb.h"

struct recorder;

/* Borrows options and sink until recorder_free(). */
int recorder_open(const struct record_options *options, struct sink *sink, struct recorder **ret,
		  struct err *err);
void recorder_free(struct recorder *rec);
DEFINE_FREEP(recorder)

/* 1 while the recording runs, 0 when it is over, or a negative errno. */
int recorder_poll(struct recorder *rec, struct err *err);

/* Obey a verb, or fail with the reason why it is refused; the recording goes on. */
int recorder_obey(struct recorder *rec, const struct verb_message *message, struct err *err);

void recorder_get_stats(const struct recorder *rec, struct recorder_stats *ret);

/* The end of a recording that recorder_poll() ended.  The caller still frees the recorder. */
int recorder_close(struct recorder *rec, struct recorder_stats *ret, struct err *err);

#endif
