/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost - the losses that can make a finding incomplete.
 *
 * A loss affects a thread if records of its host were lost during its time, on any CPU: the thread,
 * or what it waited for, may have run there.  While the thread is on a CPU, only losses of that CPU
 * count.  A span is also affected if the agent in its process dropped events.
 */
#ifndef SONDE_ANALYSE_LOST_H
#define SONDE_ANALYSE_LOST_H

#include "analyse/path.h"
#include "analyse/requests/requests.h"

struct lost lost_of_span(const struct model *model, const struct span *span);
/* During a span, on every host and in every process of its tree. */
struct lost lost_of_tree(const struct span_set *spans, span_id root);
struct lost lost_of_step(const struct span_set *spans, const struct step *step);

/* During a whole path, on every host and in every process on it. */
struct lost lost_of_path(const struct span_set *spans, const struct path *path, nsec_t from,
			 nsec_t to);

/* During the work of one thread for a request; during a whole request, on all of its hosts. */
struct lost lost_of_request_span(const struct model *model, const struct request_span *span);
struct lost lost_of_request(const struct model *model, const struct requests *requests,
			    uint32_t root);

#endif
