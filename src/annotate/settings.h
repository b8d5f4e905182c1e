/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings - what can be changed in a running `sonde annotate`, as a message to its control socket.
 *
 *	threshold=5ms		the default threshold (relay/slow.h)
 *	config=FILE		rules of services and operations
 *	budget=5%		CPU time above which detail is shed (annotate/governor.h)
 *
 * A message is a list of such strings, each with a NUL at its end.  The relay cannot read all files
 * of the user, so for config the client reads the file: its text is the string after its
 * name.  Nothing changes unless the whole message is valid.
 */
#ifndef SONDE_ANNOTATE_SETTINGS_H
#define SONDE_ANNOTATE_SETTINGS_H

#include "base/err.h"
#include "otlp/protobuf.h"
#include "relay/slow.h"

struct settings {
	struct slow_change slow;
	bool has_budget;
	double budget; /* share of one CPU; 0: no limit */
};

/* Adds one "KEY=VALUE" of the command line to a message. */
int settings_write(const char *setting, struct pb_buffer *message, struct err *err);

/* Reads a message; the settings point into it. */
int settings_read(struct view message, struct settings *ret, struct err *err);

/* For the user: "threshold 5ms, budget 10 %".  The caller frees it. */
char *settings_describe(const struct settings *settings);

/* A share of one CPU such as "5%" or "0.5%"; "none" is 0. */
int budget_parse(const char *text, double *ret, struct err *err);

#endif
