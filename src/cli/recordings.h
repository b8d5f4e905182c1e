/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordings - which inputs of a command belong to one recording.
 *
 * A baseline is learned from several recordings, each of which can consist of several inputs: the
 * traces of several hosts, and the spans of a tracing system.  A kernel trace of a host that
 * the recording already has begins the next one; spans belong to the kernel trace before them.  If
 * there is no kernel trace, each input is a recording.
 */
#ifndef SONDE_CLI_RECORDINGS_H
#define SONDE_CLI_RECORDINGS_H

#include "base/err.h"
#include "base/vec.h"

struct recordings {
	VEC(char *) inputs; /* borrowed names; NULL after the last one of each recording */
	VEC(size_t) begins; /* of each recording, in `inputs` */
};

int recordings_find(char **inputs, const char *format, struct recordings *ret, struct err *err);
void recordings_done(struct recordings *recordings);

#endif
