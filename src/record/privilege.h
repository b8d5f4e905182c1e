/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege - what recording needs, and giving up the rest.
 *
 * Recording needs CAP_BPF and CAP_PERFMON until everything is attached.  After that nothing but
 * the right to look into processes is needed, for stacks and for spans, and to tell the kernel
 * programs what was found there.  From then on we read what other processes wrote, so we are
 * root no more.
 */
#ifndef SONDE_RECORD_PRIVILEGE_H
#define SONDE_RECORD_PRIVILEGE_H

#include <linux/capability.h>

#include "base/base.h"
#include "base/err.h"
#include "base/caps.h"

/* All that a binary with file capabilities needs for recording. */
#define PRIVILEGE_CAPS \
	(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_DAC_READ_SEARCH) | \
	 CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_CHECKPOINT_RESTORE) | CAP_BIT(CAP_SYSLOG))

bool privilege_has(int capability);

/* Whether we may record; if not, the sentence that says what to do about it. */
int privilege_check(struct err *err);

enum {
	PRIVILEGE_PROCESSES = 1, /* to read other processes' mappings: for stacks and spans */
	PRIVILEGE_BPF =
		2, /* to run an iterator, where processes may join the scope; or set a map */
};

/*
 * Give up for good all that the given purposes do not need: root becomes a user whose number
 * nobody else has, and keeps the right to end `command` (0: none); capabilities go, and system
 * calls that recording does not use (confine.h).  Returns 1, with a warning in err, if the user
 * could not be changed.
 */
int privilege_drop(unsigned int keep_for, pid_t command, struct err *err);

#endif
