/* SPDX-License-Identifier: Apache-2.0 */
/* record_flight - `sonde record --keep-last`: options and messages of the flight recorder. */
#ifndef SONDE_CLI_RECORD_FLIGHT_H
#define SONDE_CLI_RECORD_FLIGHT_H

#include "cli/opt.h"

struct record_options;

#define FLIGHT_NOT_GIVEN UINT64_MAX /* because 0 is a valid value */

struct flight_opts {
	nsec_t keep_last, every;
	const char *when;
	unsigned long at_most;
	uint64_t memory;
};

#define FLIGHT_DEFAULTS { .keep_last = FLIGHT_NOT_GIVEN, .every = FLIGHT_NOT_GIVEN }

#define FLIGHT_FIELD(type, field, name) (offsetof(type, field) + offsetof(struct flight_opts, name))

/* The options of the flight recorder, in the table of `sonde record`. */
#define OPT_FLIGHT(type, field) \
	{ OPT_TIME, \
	  0, \
	  "keep-last", \
	  "TIME", \
	  "hold only the last TIME in memory; write captures to the directory of -o (default " \
	  "captures) on SIGUSR1, 'sonde snap' or --when", \
	  FLIGHT_FIELD(type, field, keep_last) }, \
		{ OPT_STRING, \
		  0, \
		  "when", \
		  "TIME|pNN", \
		  "write a capture of each request slower than TIME or its entry's percentile", \
		  FLIGHT_FIELD(type, field, when) }, \
		{ OPT_COUNT, \
		  0, \
		  "at-most", \
		  "N", \
		  "stop after N captures of slow requests (default 10)", \
		  FLIGHT_FIELD(type, field, at_most) }, \
		{ OPT_TIME, \
		  0, \
		  "every", \
		  "TIME", \
		  "write them at least TIME apart (default 1m)", \
		  FLIGHT_FIELD(type, field, every) }, \
	{ \
		OPT_SIZE, 0, "memory", "SIZE", "hold at most SIZE (default 256M)", \
			FLIGHT_FIELD(type, field, memory) \
	}

static inline bool flight_is_wanted(const struct flight_opts *o)
{
	return o->keep_last != FLIGHT_NOT_GIVEN;
}

int flight_check_usage(const struct flight_opts *o, bool has_command, struct err *err);

/* `directory` can be NULL.  Uses scope and kinds of records of `record`. */
int record_flight(const struct flight_opts *o, struct record_options *record, const char *directory,
		  bool quiet, struct err *err);

#endif
