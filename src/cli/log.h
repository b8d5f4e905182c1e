/* SPDX-License-Identifier: Apache-2.0 */
/* log - errors and warnings for the user. */
#ifndef SONDE_CLI_LOG_H
#define SONDE_CLI_LOG_H

/*
 * Print "sonde: " and a message to stderr.  Control characters are escaped,
 * because messages contain names that come from traces and other processes; a
 * newline is not, so that a message can have several lines.
 */
__attribute__((format(printf, 1, 2))) void log_message(const char *fmt, ...);

#endif
