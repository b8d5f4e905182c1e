/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_flight.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/log.h"
#include "flight/flight.h"
#include "flight/threshold.h"
#include "record/record.h"

#define DIRECTORY "captures"
#define MEMORY_MIN (1ull << 20)

struct flight_screen {
	bool quiet, terminal;
	bool has_started; /* whether the first message was printed */
	bool has_problem; /* whether one was printed */
	bool is_limited;  /* whether it was printed that the memory does not suffice */
	nsec_t keep;
	uint64_t records; /* at the last progress line */
	nsec_t elapsed;   /* at the last progress line */
};

int flight_check_usage(const struct flight_opts *o, bool has_command, struct err *err)
{
	_cleanup_(threshold_freep) struct threshold *when = NULL;

	if (!flight_is_wanted(o)) {
		const char *option = o->when                        ? "--when"
				     : o->at_most                   ? "--at-most"
				     : o->every != FLIGHT_NOT_GIVEN ? "--every"
				     : o->memory                    ? "--memory"
								    : NULL;

		return option ? err_usage(err, "%s requires --keep-last", option) : 0;
	}
	if (has_command)
		return err_usage(err, "--keep-last records running processes, not a command");
	if (o->keep_last < FLIGHT_KEEP_MIN)
		return err_usage(err, "--keep-last: at least %s", format_time(FLIGHT_KEEP_MIN).s);
	if (o->memory && o->memory < MEMORY_MIN)
		return err_usage(err, "--memory: at least %s", format_size(MEMORY_MIN).s);
	if (o->when && threshold_new(o->when, &when, err) < 0)
		return -EUSAGE;
	return 0;
}

static void clear_line(const struct flight_screen *screen)
{
	if (screen->terminal && !screen->quiet)
		fputs("\r\033[K", stderr);
}

static void show_message(void *arg, const char *text)
{
	clear_line(arg);
	log_message("%s", text);
}

static void show_start(struct flight_screen *screen)
{
	screen->has_started = true;
	if (screen->quiet)
		return;
	clear_line(screen);
	log_message("holding the last %s; 'sonde snap' or 'kill -USR1 %d' writes a capture",
		    format_time(screen->keep).s, getpid());
}

/* Each change is worth a message, as the flight recorder may run unattended. */
static void show_changes(struct flight_screen *screen, const struct flight_state *state)
{
	if (!screen->has_started && state->records && !state->problem)
		show_start(screen);
	if (state->problem && !screen->has_problem)
		show_message(screen, state->problem);
	screen->has_problem = state->problem != NULL;
	if (state->is_limited && !screen->is_limited) {
		clear_line(screen);
		log_message("%s hold only the last %s: use a larger --memory, or record less",
			    format_size(state->bytes).s, format_time(state->held).s);
	}
	screen->is_limited = screen->is_limited || state->is_limited;
}

static void show_progress(void *arg, const struct flight_state *state)
{
	struct flight_screen *screen = arg;
	nsec_t time = state->elapsed - screen->elapsed;
	uint64_t records = state->records - screen->records;

	show_changes(screen, state);
	screen->records = state->records;
	screen->elapsed = state->elapsed;
	if (screen->quiet || !screen->terminal)
		return;
	clear_line(screen);
	fprintf(stderr, "holding %s in %s  %s records/s  %s lost  %s slow  %s captures",
		format_time(state->held).s, format_size(state->bytes).s,
		format_count(time ? records * NSEC_PER_SEC / time : 0).s,
		format_count(state->lost).s, format_count(state->slow).s,
		format_count(state->captures + state->snaps).s);
	fflush(stderr);
}

static void show_summary(const struct flight_screen *screen, bool has_threshold,
			 const char *directory, const struct flight_state *state)
{
	clear_line(screen);
	if (state->missed)
		log_message("%s slow request%s in no capture: use a shorter --every, or a longer "
			    "--keep-last",
			    format_count(state->missed).s, state->missed == 1 ? " is" : "s are");
	if (screen->quiet)
		return;
	if (has_threshold)
		log_message("%s of %s requests were slow", format_count(state->slow).s,
			    format_count(state->requests).s);
	log_message("%s: %s capture%s, %s records, %s lost, %s", directory,
		    format_count(state->captures + state->snaps).s,
		    state->captures + state->snaps == 1 ? "" : "s", format_count(state->records).s,
		    format_count(state->lost).s, format_time(state->elapsed).s);
}

int record_flight(const struct flight_opts *o, struct record_options *record, const char *directory,
		  bool quiet, struct err *err)
{
	_cleanup_(threshold_freep) struct threshold *when = NULL;
	struct flight_screen screen = { .quiet = quiet,
					.terminal = isatty(STDERR_FILENO),
					.keep = o->keep_last };
	struct flight_options options = {
		.record = record,
		.directory = directory ?: DIRECTORY,
		.keep = o->keep_last,
		.memory = o->memory ?: FLIGHT_MEMORY,
		.every = o->every == FLIGHT_NOT_GIVEN ? FLIGHT_EVERY : o->every,
		.at_most = o->at_most ?: FLIGHT_AT_MOST,
		.duration = record->duration,
		.progress = show_progress,
		.message = show_message,
		.arg = &screen,
	};
	struct flight_state state;
	int r = o->when ? threshold_new(o->when, &when, err) : 0;

	record->duration = 0; /* the recorder ends with its reader */
	options.when = when;
	if (r == 0)
		r = flight_record(&options, &state, err);
	if (r == 0)
		show_summary(&screen, when != NULL, options.directory, &state);
	else
		clear_line(&screen);
	return r;
}
