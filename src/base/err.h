/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err - why something failed, in words for the person at the terminal.
 *
 * The function that first understands a failure writes the sentence; everyone
 * above only passes the negative errno up.  Nothing below cli/ and serve/
 * prints: they alone decide whether the words go to stderr or to a web page.
 */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

struct err {
	char text[512];
};

/* Write the sentence and return code, so that callers can `return err_set(...)`. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* As err_set(), with -errno as the code and ": strerror" added to the sentence. */
__attribute__((format(printf, 2, 3))) int err_errno(struct err *err, const char *fmt, ...);

#endif
