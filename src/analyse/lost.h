/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost - the losses that a finding may be incomplete for.
 *
 * A loss touches a thread if records of its host were lost meanwhile, on any CPU: the thread may
 * have run there, or whatever it waited for.  Only while the thread runs, its CPU alone counts.
 * A loss touches a span also if the agent in its process dropped events.
 */
#ifndef SONDE_ANALYSE_LOST_H
#define SONDE_ANALYSE_LOST_H

#include "analyse/path.h"
#include "analyse/requests/requests.h"

struct lost lost_of_span(const struct model *model, const struct span *span);
struct lost lost_of_step(const struct span_set *spans, const struct step *step);

/* While all of a path lasted, on every host and in every process that it leads through. */
struct lost lost_of_path(const struct span_set *spans, const struct path *path, nsec_t from,
			 nsec_t to);

/* While a thread worked for a request; and of a whole request, on all of its hosts. */
struct lost lost_of_request_span(const struct model *model, const struct request_span *span);
struct lost lost_of_request(const struct model *model, const struct requests *requests,
			    uint32_t root);

#endif
