/* SPDX-License-Identifier: Apache-2.0 */
/* clocks - how the clocks of the machines that several inputs tell of relate to each other. */
#ifndef SONDE_CLI_CLOCKS_H
#define SONDE_CLI_CLOCKS_H

#include "base/err.h"
#include "base/json.h"
#include "read/merge.h"

/*
 * Reads all inputs as one, and tells of it: as text, or as the keys `clocks` and `notices` of an
 * object if j is not NULL.
 */
int clocks_report(char **paths, const char *format, struct out *out, struct json *j,
		  struct err *err);

/* When all is read: the key `clocks`, */
void clocks_json(const struct merge *merge, struct json *j);
/* or a sentence on stderr for each clock that was aligned, and how wrong that may be. */
void clocks_warn(const struct merge *merge);

#endif
