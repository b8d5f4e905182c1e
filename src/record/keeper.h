/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper - a small process that can start recorders, for a reader without privileges.
 *
 *	reader  ── START ──►  keeper  ── fork ──►  recorder
 *	  ▲ ▲                  │                     │  ▲
 *	  │ └─ stream, ended ──┘                     │  │ verbs
 *	  └──────────────── stream ──────────────────┘◄─┘
 *
 * The reader parses what the recorded processes produce, so it must have no privileges; recording
 * needs them.  A process that has dropped its privileges cannot start a recorder again, so the
 * reader forks the keeper first and drops its own privileges then (privilege_drop_reader()).  The
 * keeper can do one thing: start a recorder with the options that it was started with, pass the
 * reader's end of the recorder's stream to the reader, and report how the recorder ended.  Its only
 * input is a message without arguments.
 *
 * Any of the three can die at any time.  Reader: the keeper reads the end of its control socket,
 * ends the recorder and exits; the recorder reads the end of its stream, detaches and exits.
 * Recorder: the keeper reports it, the reader goes on and can start another one.  Keeper: the
 * recorder goes on until its reader ends; another one cannot be started.
 *
 * Keeper and recorder have a process group of their own: signals of the terminal reach the reader
 * only.  They print nothing; warnings come as notes in the stream.
 */
#ifndef SONDE_RECORD_KEEPER_H
#define SONDE_RECORD_KEEPER_H

#include "record/record.h"

struct keeper;

/*
 * Fork the keeper.  Fails with instructions if this process lacks the privileges to record.  Call
 * it before the process has threads.  Options: without output, duration, command and callbacks;
 * with `epoch`.
 */
int keeper_start(const struct record_options *options, struct keeper **ret, struct err *err);

/* End the recorder, which has 2 s to do so, and the keeper. */
void keeper_free(struct keeper *k);
DEFINE_FREEP(keeper)

/*
 * Start a recorder; *ret_stream is the reader's end of its stream, non-blocking and owned by the
 * caller: blocks come in, verbs (verb.h) go out.  -EBUSY while another recorder runs; -EPIPE if the
 * keeper is gone.  The recorder attaches after that, which can take a second; if it fails,
 * keeper_poll() has the reason.
 */
int keeper_start_recorder(struct keeper *k, int *ret_stream, struct err *err);

struct recorder_end {
	bool failed;    /* it ended with an error or was killed */
	int status;     /* of waitpid() */
	char text[512]; /* for the user: "the recorder was killed by signal 9" */
};

/* Readable when the recorder has ended, or the keeper. */
int keeper_fd(const struct keeper *k);

/* 1 once after a recorder has ended; 0 if it runs, or none does; -EPIPE if the keeper is gone. */
int keeper_poll(struct keeper *k, struct recorder_end *ret);

#endif
