/* SPDX-License-Identifier: Apache-2.0 */
/* annotate_services - the wake-up latency of services, in the status of `sonde annotate`. */
#ifndef SONDE_CLI_ANNOTATE_SERVICES_H
#define SONDE_CLI_ANNOTATE_SERVICES_H

#include <stdio.h>

#include "annotate/service_wakeups.h"
#include "base/json.h"

/* A line for each of the slowest ones, the array "services", metrics with the label `service`. */
void services_text(FILE *file, const struct service_latency *services, size_t count);
void services_json(struct json *j, const struct service_latency *services, size_t count);
void services_metrics(FILE *file, const struct service_latency *services, size_t count);

#endif
