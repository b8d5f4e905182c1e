/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_parts - what a rebuilt request waited for while no thread worked for it.
 *
 * A thread that serves several requests at once waits in one epoll for all of them, and whatever
 * wakes it need not concern this request: a client that sends its next request, the reply to
 * another call.  So the path of a request does not follow such a thread between its slices of work
 * for the request.  What ends a pause shows what the request waited for:
 *
 * - The reply to its own call: until the reply arrived, the request waited for the peer; from then
 *   on, for its turn in the loop, which worked for others.
 * - The work of a pool thread: the request waited in the pool's queue, and what that thread did
 *   meanwhile delayed it.
 * - A timer: the request had set it.
 * - The work for another request in the same round of the loop: that request released something,
 *   such as a connection of a pool.
 *
 * A call to a peer that was not recorded is a wait for that peer until the reply arrived.
 */
#ifndef SONDE_ANALYSE_REQUEST_PARTS_H
#define SONDE_ANALYSE_REQUEST_PARTS_H

#include "analyse/span_path.h"
#include "analyse/span_work.h"

/* Whether request_parts_find() knows more of a span than its thread. */
bool request_parts_apply(const struct span_set *spans, span_id span);

/*
 * Appends the parts of a section of an inferred span, without gap.  `next` is the span of the next
 * section of the path; may be none.
 */
void request_parts_find(const struct span_set *spans, const struct span_section *section,
			span_id next, struct span_work *ret);

#endif
