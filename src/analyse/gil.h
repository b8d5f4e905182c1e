/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil - the thread that holds Python's global interpreter lock.
 *
 * A thread that waits for the GIL in vain for 5 ms asks the holder to drop it.  It can then find
 * the lock free without being woken.  The holder is the thread of the process that ran: a thread
 * cannot run Python code without the lock.
 */
#ifndef SONDE_ANALYSE_GIL_H
#define SONDE_ANALYSE_GIL_H

#include "model/model.h"

/* The thread of a waiter's process that ran longest in a time; none if none ran long enough. */
thread_id gil_holder(const struct model *model, thread_id waiter, nsec_t from, nsec_t to);

#endif
