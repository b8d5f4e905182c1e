/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err - error messages for the user.
 *
 * The function that detects a failure writes the message and returns a negative
 * errno; its callers pass both on unchanged.  Only cli/ and serve/ print.
 */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

struct err {
	char text[512];
};

/* Format the message and return `code`, so that callers can `return err_set(...)`. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Like err_set(), with -errno as the code and ": strerror(errno)" appended to the message. */
__attribute__((format(printf, 2, 3))) int err_errno(struct err *err, const char *fmt, ...);

#endif
