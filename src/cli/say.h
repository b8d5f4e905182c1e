/* SPDX-License-Identifier: Apache-2.0 */
/* say - a sentence for the person at the terminal. */
#ifndef SONDE_CLI_SAY_H
#define SONDE_CLI_SAY_H

/*
 * On stderr, on a line of its own, or several.  What strangers call themselves may be
 * in it, and is escaped.
 */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

#endif
