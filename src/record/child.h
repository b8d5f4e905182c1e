/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - the command to record, as a child process.
 *
 * The child is forked early, without the binary's capabilities.  It waits until the BPF programs
 * are attached and executes the command then, so that its first instruction is recorded.
 */
#ifndef SONDE_RECORD_CHILD_H
#define SONDE_RECORD_CHILD_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct child {
	pid_t pid; /* 0: none */
	int go;    /* pipe: a byte starts the command, closing it ends the child */
	int error; /* pipe: errno of a failed exec */
};

#define CHILD_NONE ((struct child){ 0, -1, -1 })

/* Fork the child, which waits for child_release(). */
int child_hold(char **argv, struct child *ret, struct err *err);

/* Let the child execute its command.  Fails if exec fails. */
int child_release(struct child *child, const char *name, struct err *err);

/* Whether the child has exited; *ret_status is that of waitpid(). */
bool child_ended(struct child *child, int *ret_status);

/* Terminate the child if it still runs.  For use with _cleanup_. */
void child_done(struct child *child);

#endif
