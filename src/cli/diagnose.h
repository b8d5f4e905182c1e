/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose - the ways in which `sonde diagnose` finds causes. */
#ifndef SONDE_CLI_DIAGNOSE_H
#define SONDE_CLI_DIAGNOSE_H

#include "analyse/contrast.h"
#include "cli/opt_selection.h"

struct diagnose_opts {
	struct selection_opts select;
	const char *slow;  /* NULL: p95 */
	unsigned long top; /* 0: not given */
	const char *baseline, *check;
	bool requests, json;
	const char *format;
};

/* Contrasts slow with usual requests of the same inputs. */
int diagnose_contrast(const struct diagnose_opts *opts, char **inputs, struct err *err);

/* Compares all requests with a baseline. */
int diagnose_baseline(const struct diagnose_opts *opts, char **inputs, struct err *err);

#endif
