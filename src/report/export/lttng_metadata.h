/* SPDX-License-Identifier: Apache-2.0 */
/* lttng_metadata - the text that describes an exported trace, in TSDL. */
#ifndef SONDE_REPORT_EXPORT_LTTNG_METADATA_H
#define SONDE_REPORT_EXPORT_LTTNG_METADATA_H

#include "report/export/lttng_trace.h"

/* The metadata, with the events whose bits are set in used. The caller frees it. */
char *lttng_metadata(const struct lttng_origin *about, const uint8_t uuid[16],
		     const uint64_t used[LTTNG_IDS / 64]);

#endif
