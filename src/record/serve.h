/* SPDX-License-Identifier: Apache-2.0 */
/* serve - the main loop of a recorder process: a stream out, verbs in (keeper.h). */
#ifndef SONDE_RECORD_SERVE_H
#define SONDE_RECORD_SERVE_H

#include "record/record.h"

/*
 * Record to a socket until VERB_STOP, a signal, or the end of the reader, which is not an error.
 * Sets handlers for SIGINT and SIGTERM.
 */
int recorder_serve(const struct record_options *options, int stream, struct err *err);

#endif
