/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature - what this kernel, these privileges and this machine allow.
 *
 * The recorder asks before it loads a program, and leaves out what is missing;
 * `sonde doctor` asks for everything and says what to do about it.  Nothing
 * here needs privileges to be asked, and those that there are serve to look and nothing else.
 */
#ifndef SONDE_RECORD_KERNEL_FEATURE_H
#define SONDE_RECORD_KERNEL_FEATURE_H

#include "base/base.h"
#include "base/err.h"

struct feature {
	const char *name;
	const char *provides; /* what one has of it */
	bool ok;
	bool required;    /* without it there is no recording */
	char why[256];    /* what was found */
	char remedy[512]; /* what to do; "" if nothing helps or nothing is wrong */
};

enum { FEATURE_MAX = 24 };

/* Fill features and return how many there are. */
size_t features_probe(struct feature features[FEATURE_MAX]);

/* The kernel's types.  A missing file is -EOPNOTSUPP; other codes mean that loading it failed. */
struct btf;
int feature_load_btf(struct btf **ret, struct err *err);

/* The sentence for want of memory; %s is what was to be loaded. */
#define FEATURE_NO_MEMORY \
	"not enough memory or address space to load %s; see 'ulimit -v' and the memory limit of " \
	"the control group"

/* Whether the kernel has all these tracepoints, for programs that need its types. */
bool feature_has_tracepoints(const struct btf *btf, const char *const *names, size_t count);

/* Where tracefs is, or NULL. It may be mounted for this process alone to get at it. */
const char *feature_tracefs(void);

#endif
