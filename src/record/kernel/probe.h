/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit - the tracepoints that the user asked for, as tracefs describes them.
 */
#ifndef SONDE_RECORD_KERNEL_PROBE_H
#define SONDE_RECORD_KERNEL_PROBE_H

#include "base/base.h"
#include "base/err.h"

struct probe {
	char *category, *name;
	char *format; /* tracefs's description of the fields */
	size_t size;  /* of the data to take */
};

/* Make tracefs readable, mounting it for this process alone if need be. */
int probe_prepare(struct err *err);

/* Look up "category:name". */
int probe_init(struct probe *type, const char *event, struct err *err);
void probe_done(struct probe *type);

#endif
