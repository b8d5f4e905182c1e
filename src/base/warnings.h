/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warnings - sentences about problems that do not stop the work.
 *
 * Only cli/ and serve/ show text to users, so the other rooms collect warnings and return them.
 * A sentence may contain names from the inputs: escape it before showing it.
 */
#ifndef SONDE_BASE_WARNINGS_H
#define SONDE_BASE_WARNINGS_H

#include "base/vec.h"

struct warnings {
	VEC(char *) items;
};

__attribute__((format(printf, 2, 3))) void warnings_add(struct warnings *warnings, const char *fmt,
							...);
void warnings_done(struct warnings *warnings); /* leaves an empty list */

#endif
