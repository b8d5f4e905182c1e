/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer - arenas that agents register with the recorder by themselves.
 *
 * An agent that makes an arena connects to the addresses of event/span_socket.h and
 * leaves it there, without waiting for anything; so even a process that is gone
 * before we come by has given us its own.  The kernel tells the process that did.
 *
 * Any process can connect, as often as it likes.  Connections from processes that are
 * not recorded are closed as soon as they are accepted, and counted; and in one round
 * only so many are accepted.
 */
#ifndef SONDE_RECORD_SPANS_REGISTRATIONS_H
#define SONDE_RECORD_SPANS_REGISTRATIONS_H

#include "base/base.h"

struct registrations;

struct registrations *registrations_new(void);
void registrations_free(struct registrations *registrations);
DEFINE_FREEP(registrations)

/* What keeps agents from registering, as a sentence; "" if nothing does. */
const char *registrations_problem(const struct registrations *registrations);

/* Which processes may register: called once for each connection. */
typedef bool registrations_filter_fn(void *arg, uint32_t pid);
void registrations_set_filter(struct registrations *registrations, registrations_filter_fn *fn,
			      void *arg);

/* Connections that were refused so far, and the last of them. */
struct registrations_refused {
	uint64_t count;
	uint32_t pid, user;
};
struct registrations_refused registrations_refused(const struct registrations *registrations);

/* A new round: so many more connections are accepted. */
void registrations_begin_round(struct registrations *registrations);

/* The next one: whose it is, and its descriptor, which is the caller's. False if there is none. */
bool registrations_take(struct registrations *registrations, uint32_t *ret_pid, int *ret_fd);

#endif
