/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2c_reuse - reuse a connection of HTTP/2 without TLS, in spite of libcurl 7.88.
 *
 * With CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE, libcurl 7.88, which is that of Debian 12, starts HTTP/2
 * a second time on a connection that it reuses, and the transfer fails
 * (github.com/curl/curl/pull/10643). So a transfer that reuses a connection demands plain HTTP/2,
 * which the connection already speaks, and one that does not opens a new connection with prior
 * knowledge.  Which of the two applies has to be known before: the connection is reused if its
 * socket is open, and idle rather than at its end.
 */
#ifndef SONDE_RELAY_H2C_REUSE_H
#define SONDE_RELAY_H2C_REUSE_H

#include <curl/curl.h>
#include <stdbool.h>

struct h2c_reuse {
	bool is_needed;
	int fd; /* borrowed from libcurl; -1 if there is no connection */
};

/* Before the first transfer of HTTP/2 without TLS. */
void h2c_reuse_init(struct h2c_reuse *reuse, CURL *easy);

/* Before each transfer. */
void h2c_reuse_prepare(struct h2c_reuse *reuse, CURL *easy);

#endif
