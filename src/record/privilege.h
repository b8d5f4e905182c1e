/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege - what this process may do, and giving it up.
 *
 * Recording needs CAP_BPF and CAP_PERFMON until everything is attached.  After
 * that nothing but the right to look into processes is needed, for stacks and for
 * spans, and to tell the kernel programs what was found there.
 */
#ifndef SONDE_RECORD_PRIVILEGE_H
#define SONDE_RECORD_PRIVILEGE_H

#include "base/base.h"
#include "base/err.h"

bool privilege_has(int capability);

/* Whether we may record; if not, the sentence that says what to do about it. */
int privilege_check(struct err *err);

enum {
	PRIVILEGE_PROCESSES = 1, /* to read other processes' mappings: for stacks and spans */
	PRIVILEGE_BPF =
		2, /* to run an iterator, where processes may join the scope; or set a map */
};

/*
 * Give up all capabilities but those for the given purposes, for good, and
 * become the user who called sudo, if somebody did.
 */
int privilege_drop(unsigned int keep_for, struct err *err);

#endif
