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
#ifndef SONDE_RECORD_SPANS_OFFER_H
#define SONDE_RECORD_SPANS_OFFER_H

#include "base/base.h"

struct offers;

struct offers *offers_new(void);
void offers_free(struct offers *offers);
DEFINE_FREEP(offers)

/* What keeps agents from registering, as a sentence; "" if nothing does. */
const char *offers_trouble(const struct offers *offers);

/* Which processes may register: called once for each connection. */
typedef bool offers_filter_fn(void *arg, uint32_t pid);
void offers_set_filter(struct offers *offers, offers_filter_fn *fn, void *arg);

/* Connections that were refused so far, and the last of them. */
struct offers_refused {
	uint64_t count;
	uint32_t pid, user;
};
struct offers_refused offers_refused(const struct offers *offers);

/* A new round: so many more connections are accepted. */
void offers_begin_round(struct offers *offers);

/* The next one: whose it is, and its descriptor, which is the caller's. False if there is none. */
bool offers_take(struct offers *offers, uint32_t *ret_pid, int *ret_fd);

#endif
