/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registrations - arenas that agents register with the recorder.
 *
 * When an agent creates an arena, it connects to the addresses of event/span_socket.h,
 * sends the arena's descriptor, and continues without waiting for a reply.  So even a
 * process that exits before a scan hands over its spans.  The kernel supplies the pid of
 * the peer.
 *
 * Any process can connect, any number of times.  The recorder closes connections of
 * unrecorded processes at once and counts them, and accepts a limited number per round.
 */
#ifndef SONDE_RECORD_SPANS_REGISTRATIONS_H
#define SONDE_RECORD_SPANS_REGISTRATIONS_H

#include "base/base.h"

struct registrations;

struct registrations *registrations_new(void);
void registrations_free(struct registrations *r);
DEFINE_FREEP(registrations)

/* Why agents cannot register, as a warning for the user; "" if they can. */
const char *registrations_problem(const struct registrations *r);

/* Decides which processes may register; called once per connection. */
typedef bool registrations_filter_fn(void *arg, uint32_t pid, uint32_t user);
void registrations_set_filter(struct registrations *r, registrations_filter_fn *fn, void *arg);

struct registrations_refused {
	uint64_t count;     /* connections refused so far */
	uint32_t pid, user; /* of the last one */
};
struct registrations_refused registrations_refused(const struct registrations *r);

/* Begin a new round, which resets the limit of accepted connections. */
void registrations_begin_round(struct registrations *r);

/* Take the next registration; the caller owns the descriptor.  False if there is none. */
bool registrations_take(struct registrations *r, uint32_t *ret_pid, int *ret_fd);

#endif
