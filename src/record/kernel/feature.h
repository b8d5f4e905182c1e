/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature - what this kernel supports and these privileges permit.
 *
 * The recorder checks for tracepoints before it loads BPF programs, and records
 * without missing ones; `sonde doctor` checks everything and shows remedies.
 * The checks run without privileges, and change nothing.
 */
#ifndef SONDE_RECORD_KERNEL_FEATURE_H
#define SONDE_RECORD_KERNEL_FEATURE_H

#include "base/base.h"
#include "base/err.h"

struct feature {
	const char *name;
	const char *provides; /* noun phrase for the user */
	bool ok;
	bool required;    /* for any recording */
	char why[256];    /* what the check found */
	char remedy[512]; /* what to do; "" if the feature works or there is no remedy */
};

enum { FEATURE_MAX = 24 };

/* Fill the array and return the number of features. */
size_t features_probe(struct feature features[FEATURE_MAX]);

/* Load the kernel's BTF.  -EOPNOTSUPP: the kernel has none; other codes: loading it failed. */
struct btf;
int feature_load_btf(struct btf **ret, struct err *err);

/* Message for -ENOMEM; %s is what was being loaded. */
#define FEATURE_NO_MEMORY \
	"not enough memory or address space to load %s; see 'ulimit -v' and the memory limit of " \
	"the control group"

/* Whether the kernel has all these tracepoints with BTF, for tp_btf programs. */
bool feature_has_tracepoints(const struct btf *btf, const char *const *names, size_t count);

/* The mount point of tracefs, or NULL.  probe_prepare() can mount it. */
const char *feature_tracefs(void);

#endif
