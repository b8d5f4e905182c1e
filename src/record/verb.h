/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb - what the reader of a stream can ask of its recorder.
 *
 * Verbs come from a process without privileges, in messages of one size, over the socket that
 * carries the stream.  The recorder checks each; one that it refuses changes nothing and is
 * answered with a note in the stream.  VERB_STACKS, VERB_SYSCALLS, VERB_SYSCALLS_ALL and
 * VERB_OTHER_TASKS need record_options.on_demand.  VERB_SYSCALLS and VERB_SYSCALLS_ALL are
 * independent: the calls of a process are recorded while one of them is on for it.
 */
#ifndef SONDE_RECORD_VERB_H
#define SONDE_RECORD_VERB_H

#include "base/base.h"
#include "base/err.h"

enum verb {
	VERB_STOP = 1,         /* end the recording as SIGINT does */
	VERB_STACKS = 2,       /* value: shortest wait to record a stack for, ns; 0: no stacks */
	VERB_SYSCALLS = 3,     /* pid: a process in scope; value 1: record its calls; 0: do not */
	VERB_EPOCH = 4,        /* begin an epoch now */
	VERB_SYSCALLS_ALL = 5, /* value 1: record the calls of all processes in scope; 0: do not */
	/* value 1: record slices of out-of-scope tasks, if record_options.other_tasks; 0: do not */
	VERB_OTHER_TASKS = 6,
	VERB_COUNT
};

/* The longest useful threshold of VERB_STACKS. */
#define VERB_STACKS_MAX (3600 * NSEC_PER_SEC)

struct verb_message {
	uint32_t verb; /* enum verb */
	uint32_t pid;  /* 0 for verbs without a process */
	uint64_t value;
};

_Static_assert(sizeof(struct verb_message) == 16, "the size of all messages");

/* Whether a message is a verb with values in range; the recorder also checks its process. */
int verb_check(const struct verb_message *message, struct err *err);

/* Reader's side.  -EAGAIN if the recorder does not read, -EPIPE if it has ended. */
int verb_send(int stream, const struct verb_message *message);

/* Recorder's side: 1 and a message; 0 if there is none; -EPIPE if the reader has ended. */
int verb_receive(int stream, struct verb_message *ret);

#endif
