/* SPDX-License-Identifier: Apache-2.0 */
/* usual - a baseline that a running system is compared with, from its file. */
#ifndef SONDE_CLI_USUAL_H
#define SONDE_CLI_USUAL_H

#include "base/err.h"
#include "diagnose/profile.h"

struct usual {
	struct baseline *baseline; /* NULL: none */
	struct profiles profiles;
};

/* Loads a file that `sonde learn` wrote.  Uses all CPUs for a moment. */
int usual_load(const char *path, struct usual *ret, struct err *err);
void usual_done(struct usual *usual);

#endif
