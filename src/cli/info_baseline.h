/* SPDX-License-Identifier: Apache-2.0 */
/* info_baseline - `sonde info` for a baseline. */
#ifndef SONDE_CLI_INFO_BASELINE_H
#define SONDE_CLI_INFO_BASELINE_H

#include "base/json.h"

bool info_is_baseline(const char *path);

/* `j` is NULL for text. */
int info_baseline(const char *path, struct out *out, struct json *j, struct err *err);

#endif
