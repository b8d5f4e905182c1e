/* SPDX-License-Identifier: Apache-2.0 */
/* baseline - the content of a baseline, as text or JSON: `sonde info BASELINE`. */
#ifndef SONDE_REPORT_BASELINE_H
#define SONDE_REPORT_BASELINE_H

#include "base/json.h"
#include "diagnose/profile.h"

void baseline_text(struct out *out, const char *file, const struct baseline *baseline,
		   const struct profiles *profiles);
void baseline_json(struct json *j, const char *file, const struct baseline *baseline,
		   const struct profiles *profiles);

#endif
