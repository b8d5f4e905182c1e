/* SPDX-License-Identifier: Apache-2.0 */
/* span_warn - what is wrong with the spans of the inputs. */
#ifndef SONDE_CLI_SPAN_WARN_H
#define SONDE_CLI_SPAN_WARN_H

#include "model/model.h"

/* A sentence on stderr for each service whose clock was corrected. */
void span_warn_shifts(const struct model *model);

/* A sentence on stderr if there are traces with several roots. */
void span_warn_roots(const struct model *model);

#endif
