/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_loop - libcurl's transfers behind one file descriptor.
 *
 * libcurl names the sockets that it waits for and one timeout; the sockets go into an epoll
 * descriptor, and the timeout, together with that of the caller, into a timer in the same
 * descriptor. So the descriptor is readable when there is work, and curl_loop_run() does it without
 * waiting. Debian's libcurl resolves names in threads; curl_loop_init() refuses one that would
 * block.
 */
#ifndef SONDE_RELAY_CURL_LOOP_H
#define SONDE_RELAY_CURL_LOOP_H

#include <curl/curl.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"

#define TIME_NEVER UINT64_MAX

/* A socket of libcurl. */
struct curl_socket {
	int fd;
	uint32_t wanted; /* events of epoll that libcurl waits for */
	unsigned writes; /* number of times it was writable since it was readable */
	nsec_t resume;   /* CLOCK_MONOTONIC: when to wait for EPOLLOUT again, or TIME_NEVER */
};

struct curl_loop {
	CURLM *multi;
	int epoll_fd, timer_fd;
	nsec_t due;   /* CLOCK_MONOTONIC: libcurl's timeout, or TIME_NEVER */
	nsec_t armed; /* when the timer expires, or TIME_NEVER */
	VEC(struct curl_socket) sockets;
};

int curl_loop_init(struct curl_loop *loop, struct err *err);
void curl_loop_done(struct curl_loop *loop); /* after all transfers are removed */

/* Does what is due. */
void curl_loop_run(struct curl_loop *loop);

/* The next transfer that is complete, or NULL. */
CURL *curl_loop_complete(struct curl_loop *loop, CURLcode *ret_result);

/* Makes the descriptor readable at this time at the latest; earlier if libcurl needs it. */
void curl_loop_wake(struct curl_loop *loop, nsec_t time);

#endif
