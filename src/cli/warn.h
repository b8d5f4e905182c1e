/* SPDX-License-Identifier: Apache-2.0 */
/* warn - warnings about the inputs, on stderr. */
#ifndef SONDE_CLI_WARN_H
#define SONDE_CLI_WARN_H

#include "base/warnings.h"
#include "model/model.h"

/* Prints the warnings and empties the list. */
void warn_all(struct warnings *warnings);

/* Prints a warning if records were lost. */
void warn_lost(const struct model *model);

#endif
