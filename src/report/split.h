/* SPDX-License-Identifier: Apache-2.0 */
/* split - the part of a divided operation, in words and as JSON. */
#ifndef SONDE_REPORT_SPLIT_H
#define SONDE_REPORT_SPLIT_H

#include "base/json.h"
#include "diagnose/profile.h"
#include "report/phrase.h"

/* "with n from 1 to 100"; the profile must be that of a part. */
struct phrase split_phrase(const struct profile *part);

/* Members of an object: kind, key, and from and to, or value, or others. */
void split_json(struct json *j, const struct profile *part);

#endif
