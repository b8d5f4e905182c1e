/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine - which system calls are left to a process that reads what others wrote.
 *
 * Two lists of what is allowed.  The recorder gets EPERM for any other call: it can read files and
 * other processes' memory, but not change them, execute a program, reach the network or load a
 * kernel program.  The reader of symbols, which uses large libraries, is killed for any other: it
 * can read, allocate, answer, and end.
 *
 * In a build with AddressSanitizer nothing is confined, as the sanitizer makes calls of its own.
 */
#ifndef SONDE_RECORD_CONFINE_H
#define SONDE_RECORD_CONFINE_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

/* For good.  Signals may go to `command` alone (0: to none). */
int confine_recorder(pid_t command, struct err *err);

/*
 * For good.  Files can still be opened for reading, as debug information may be anywhere; those
 * that the user may read, which is hardly one if root was left before.
 */
int confine_parser(void);

/* Whether a build confines at all. */
bool confine_works(void);

#endif
