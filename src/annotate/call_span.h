/* SPDX-License-Identifier: Apache-2.0 */
/* call_span - name and attributes of the child span of a system call. */
#ifndef SONDE_ANNOTATE_CALL_SPAN_H
#define SONDE_ANNOTATE_CALL_SPAN_H

#include "annotate/waits.h"
#include "report/export/otlp_put.h"

/* The name of a call, in `buffer` if its number is unknown. */
const char *call_span_name(const struct call *call, char buffer[static 24]);

/*
 * Result, error, number and time, and the peer if all messages of the calls had the same one and
 * `has_object` is false: then no wait in the call shows its file or peer.
 */
void call_span_put(const struct wait *wait, bool has_object, struct otlp_put *put);

#endif
