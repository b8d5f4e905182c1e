/* SPDX-License-Identifier: Apache-2.0 */
/* span_warnings - problems of recorded spans: corrected clocks, and traces with several roots. */
#ifndef SONDE_LOAD_SPAN_WARNINGS_H
#define SONDE_LOAD_SPAN_WARNINGS_H

#include "base/warnings.h"
#include "model/span_set.h"

/* One sentence for each service whose clock was corrected. */
void span_warnings_shifts(const struct model *model, struct warnings *warnings);

/* One sentence if there are traces with several roots. */
void span_warnings_roots(const struct span_set *spans, struct warnings *warnings);

#endif
