/* SPDX-License-Identifier: Apache-2.0 */
/* top_json - what `sonde top` shows, as one JSON object per interval; doc/top.schema.json. */
#ifndef SONDE_REPORT_TOP_JSON_H
#define SONDE_REPORT_TOP_JSON_H

#include "base/json.h"
#include "report/top_view.h"

/* One object, on one line.  Operations with more time come first. */
void top_json(struct json *j, const struct top_view *view);

#endif
