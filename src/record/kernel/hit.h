/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit - the tracepoints that the user asked for, as tracefs describes them.
 */
#ifndef SONDE_RECORD_KERNEL_HIT_H
#define SONDE_RECORD_KERNEL_HIT_H

#include "base/base.h"
#include "base/err.h"

struct hit_type {
	char *category, *name;
	char *format; /* tracefs's description of the fields */
	size_t size;  /* of the data to take */
};

/* Make tracefs readable, mounting it for this process alone if need be. */
int hit_prepare(struct err *err);

/* Look up "category:name". */
int hit_type_init(struct hit_type *type, const char *event, struct err *err);
void hit_type_done(struct hit_type *type);

#endif
