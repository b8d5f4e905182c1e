/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - whether a collector would accept an export request.
 *
 * A collector refuses a request as a whole if any part of it is malformed.  A relay that accepted
 * such a request would have to drop it later, when its sender can no longer be informed.  So all
 * messages of the signal are checked down to the last attribute: their lengths, the types of their
 * fields on the wire, ids of the correct size, texts in UTF-8, and values that are nested at most
 * OTLP_VALUE_DEPTH deep.  Unknown fields are skipped.  Time is linear in the size of the request;
 * nothing is allocated.
 */
#ifndef SONDE_OTLP_CHECK_H
#define SONDE_OTLP_CHECK_H

#include "base/err.h"
#include "base/view.h"
#include "otlp/signal.h"

struct otlp_totals {
	uint64_t items; /* spans, data points or log records */
};

/* 0 or -EBADMSG; the error contains the message, the field and the offset. */
int otlp_check(enum otlp_signal signal, struct view request, struct otlp_totals *ret,
	       struct err *err);

#endif
