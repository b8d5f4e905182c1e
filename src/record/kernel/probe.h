/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe - tracepoints that the user chose with -e, and their format in tracefs.
 */
#ifndef SONDE_RECORD_KERNEL_PROBE_H
#define SONDE_RECORD_KERNEL_PROBE_H

#include "base/base.h"
#include "base/err.h"

struct probe {
	char *category, *name;
	char *format; /* description of the fields by tracefs */
	size_t size;  /* of the data to record, bytes */
};

/* If tracefs is not mounted, mount it in a private mount namespace. */
int probe_prepare(struct err *err);

/* Look up "category:name". */
int probe_init(struct probe *probe, const char *event, struct err *err);
void probe_done(struct probe *probe);

#endif
