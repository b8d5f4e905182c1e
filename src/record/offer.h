/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer - arenas that agents bring to the recorder by themselves.
 *
 * An agent that makes an arena connects to the names of event/span_socket.h and
 * leaves it there, without waiting for anything; so even a process that is
 * gone before we come by has given us its own.  The kernel says who it was.
 * There are such names in each network namespace: processes in others have to do
 * without, and so does a recorder when there are too many.
 */
#ifndef SONDE_RECORD_OFFER_H
#define SONDE_RECORD_OFFER_H

#include "base/base.h"

/* Where we listen, and who has come but said nothing yet. */
struct offers;

struct offers *offers_new(void); /* if others have all names, nobody ever comes */
void offers_free(struct offers *offers);
DEFINE_FREEP(offers)

/* The next one: whose it is, and its descriptor, which is the caller's. False if there is none. */
bool offers_take(struct offers *offers, uint32_t *ret_pid, int *ret_fd);

#endif
