/* SPDX-License-Identifier: Apache-2.0 */
/* lost - losses as text and JSON, in the same form in every result. */
#ifndef SONDE_REPORT_LOST_H
#define SONDE_REPORT_LOST_H

#include "base/json.h"
#include "base/text.h"
#include "model/model.h"

/* "1 record lost", "1,234 records lost", or "records lost" if the number is unknown. */
struct text format_lost(struct lost lost);

/* Members of an object: `lost`, and `incomplete` if records were lost. */
void put_lost(struct json *j, struct lost lost);

#endif
