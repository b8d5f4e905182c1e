/* SPDX-License-Identifier: Apache-2.0 */
/* clocks - report how the clocks of the hosts in several inputs relate to each other. */
#ifndef SONDE_CLI_CLOCKS_H
#define SONDE_CLI_CLOCKS_H

#include "base/err.h"
#include "base/json.h"
#include "read/merge.h"

/*
 * Read and merge all inputs, and report their clocks: as text, or if j is not
 * NULL as the keys `clocks` and `warnings` of an object.
 */
int clocks_report(char **paths, const char *format, struct out *out, struct json *j,
		  struct err *err);

/* After the last record: write the key `clocks`. */
void clocks_json(const struct merge *merge, struct json *j);
/* After the last record: print the offset of each aligned clock, and its error bound, to stderr. */
void clocks_warn(const struct merge *merge);

#endif
