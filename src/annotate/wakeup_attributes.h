/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup_attributes - the wake-up latency of a span's threads, as attributes of the span. */
#ifndef SONDE_ANNOTATE_WAKEUP_ATTRIBUTES_H
#define SONDE_ANNOTATE_WAKEUP_ATTRIBUTES_H

#include "analyse/wakeup_latency.h"
#include "report/export/otlp_put.h"

/* Nothing if there was no wake-up. */
void wakeup_attributes_put(struct otlp_put *put, const struct wakeup_latency *latency);

#endif
