/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - the command that a recording is made for.
 *
 * It is started early, with the rights of the user who called and none of the binary's, and held
 * back until everything is attached, so that its first instruction is recorded.
 */
#ifndef SONDE_RECORD_CHILD_H
#define SONDE_RECORD_CHILD_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct child {
	pid_t pid; /* 0: none */
	int go;    /* closing it without a word ends the child */
	int error; /* where it says why it could not start */
};

#define CHILD_NONE ((struct child){ 0, -1, -1 })

int child_hold(char **argv, struct child *ret, struct err *err);

/* Let it go. Fails if the command cannot be executed. */
int child_release(struct child *child, const char *name, struct err *err);

/* Whether it has ended; *ret_status as waitpid() gives it. */
bool child_ended(struct child *child, int *ret_status);

/* End it if it still runs. For use with _cleanup_. */
void child_done(struct child *child);

#endif
