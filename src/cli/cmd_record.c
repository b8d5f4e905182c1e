/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/text.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "cli/opt.h"
#include "cli/log.h"
#include "cli/record_flight.h"
#include "record/arguments.h"
#include "record/privilege.h"
#include "record/record.h"

struct record_opts {
	const char *output;
	nsec_t duration;
	struct opt_list pids, ports, events;
	const char *cgroup;
	bool all;
	const char *syscalls;
	bool block;
	nsec_t stacks;
	unsigned long profile;
	uint64_t buffer;
	bool no_other_tasks;
	bool no_spans;
	bool no_arguments;
	bool quiet;
	struct flight_opts flight;
};

#define FIELD(name) offsetof(struct record_opts, name)

static const struct opt record_opts[] = {
	{ OPT_TIME, 'd', "duration", "TIME", "stop after TIME (10, 500ms, 2m)", FIELD(duration) },
	{ OPT_STRING, 'o', "output", "FILE", "write to FILE (default capture.sonde); - for stdout",
	  FIELD(output) },
	{ OPT_LIST, 0, "port", "N", "record the processes that listen on TCP port N",
	  FIELD(ports) },
	{ OPT_LIST, 'p', "pid", "PID", "record a process and its descendants", FIELD(pids) },
	{ OPT_STRING, 0, "cgroup", "PATH", "record a control group and its descendants",
	  FIELD(cgroup) },
	{ OPT_FLAG, 'a', "all", NULL, "record all processes", FIELD(all) },
	{ OPT_TIME, 0, "stacks", "TIME", "record the stacks of waits of at least TIME",
	  FIELD(stacks) },
	{ OPT_COUNT, 0, "profile", "HZ", "sample on-CPU stacks HZ times per second",
	  FIELD(profile) },
	{ OPT_FLAG, 0, "block", NULL, "record block I/O", FIELD(block) },
	{ OPT_LIST, 'e', "event", "EVENT", "record a kernel tracepoint (category:name)",
	  FIELD(events) },
	{ OPT_OPTIONAL, 0, "syscalls", "LIST",
	  "record system calls: all, or those listed (expensive)", FIELD(syscalls) },
	{ OPT_SIZE, 0, "buffer", "SIZE", "ring buffer size per CPU (default: up to 2M)",
	  FIELD(buffer) },
	{ OPT_FLAG, 0, "no-other-tasks", NULL, "do not record the CPU use of tasks out of scope",
	  FIELD(no_other_tasks) },
	{ OPT_FLAG, 0, "no-spans", NULL, "do not read spans and contexts from processes",
	  FIELD(no_spans) },
	{ OPT_FLAG, 0, "no-arguments", NULL, "do not store command-line arguments",
	  FIELD(no_arguments) },
	OPT_FLIGHT(struct record_opts, flight),
	{ OPT_FLAG, 'q', "quiet", NULL, "print no progress and no summary, only losses",
	  FIELD(quiet) },
	{ 0 },
};

#define DEFAULT_OUTPUT "capture.sonde"
#define NOT_GIVEN UINT64_MAX /* because 0 is a valid value */

static const struct record_opts record_defaults = {
	.duration = NOT_GIVEN,
	.stacks = NOT_GIVEN,
	.flight = FLIGHT_DEFAULTS,
};

/* State of the callbacks during a recording. */
struct screen {
	bool quiet, terminal;
	uint64_t records; /* at the last progress line */
	nsec_t elapsed;   /* at the last progress line */
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN) /* keep it ignored under nohup */
		sigaction(SIGHUP, &action, NULL);
	sigaction(SIGPIPE, &action, NULL); /* the reader of '-o -' has ended */
	signal(SIGXFSZ, SIG_IGN);          /* exceeding RLIMIT_FSIZE then fails with EFBIG */
}

static void clear_line(const struct screen *screen)
{
	if (screen->terminal && !screen->quiet)
		fputs("\r\033[K", stderr);
}

static void show_progress(void *arg, const struct recorder_stats *state)
{
	struct screen *screen = arg;
	nsec_t time = state->elapsed - screen->elapsed;
	uint64_t rate = time ? (state->records - screen->records) * NSEC_PER_SEC / time : 0;

	screen->records = state->records;
	screen->elapsed = state->elapsed;
	if (screen->quiet || !screen->terminal)
		return;
	clear_line(screen);
	fprintf(stderr, "recording %s  %s records/s  %s lost  %s", format_time(state->elapsed).s,
		format_count(rate).s, format_count(state->lost).s, format_size(state->bytes).s);
	fflush(stderr);
}

static void show_warning(void *arg, const char *text)
{
	clear_line(arg);
	log_message("%s", text);
}

static void show_summary(const struct screen *screen, const char *output,
			 const struct recorder_stats *state)
{
	clear_line(screen);
	if (!screen->quiet)
		log_message("%s: %s records, %s lost, %s, %s", output,
			    format_count(state->records).s, format_count(state->lost).s,
			    format_size(state->bytes).s, format_time(state->elapsed).s);
	if (state->lost)
		log_message("%s record%s lost: use a larger --buffer, or record less",
			    format_count(state->lost).s, state->lost == 1 ? "" : "s");
	if (state->agent_lost)
		log_message("%s span event%s dropped by agents; 'sonde info' lists them",
			    format_count(state->agent_lost).s, state->agent_lost == 1 ? "" : "s");
	if (screen->quiet)
		return;
	if (state->late)
		log_message("%s records arrived too late to be sorted",
			    format_count(state->late).s);
	if (screen->terminal && strcmp(output, "-") != 0)
		log_message("next: 'sonde explain %s' explains the slowest request", output);
}

/* The length of our own command line up to the name of the command after --. */
static size_t own_length(const char *words, size_t len)
{
	size_t at = 0;

	while (at < len && strcmp(words + at, "--") != 0)
		at += strlen(words + at) + 1;
	at += strlen("--") + 1;
	return at < len ? at + strlen(words + at) : len;
}

/* The command line of this process, to store in the capture. */
static char *command_line(bool arguments)
{
	_cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	n = n < 0 ? 0 : n;
	text[n] = '\0';
	return arguments_mask(text, arguments ? (size_t)n : own_length(text, n));
}

static int check_usage(const struct record_opts *o, char **operands, struct err *err)
{
	if (!o->pids.count && !o->ports.count && !o->cgroup && !o->all && !operands[0])
		return err_usage(err, "nothing to record: give a port (--port), a process (-p), a "
				      "control group (--cgroup), a command after --, or -a "
				      "for all processes");
	if (!o->duration)
		return err_usage(err, "--duration requires a time above 0");
	if (o->ports.count > WIRE_PORTS)
		return err_usage(err, "--port: at most %d ports", WIRE_PORTS);
	if (o->events.count > WIRE_PROBES)
		return err_usage(err, "--event: at most %d tracepoints", WIRE_PROBES);
	for (size_t i = 0; i < o->events.count; i++)
		if (!strchr(o->events.items[i], ':'))
			return err_usage(err, "--event requires category:name, not '%s'",
					 o->events.items[i]);
	if (o->buffer > RECORD_BUFFER_MAX)
		return err_usage(err, "--buffer: at most %s", format_size(RECORD_BUFFER_MAX).s);
	if (o->profile > 20000)
		return err_usage(err, "--profile: at most 20000 samples per second");
	if (flight_is_wanted(&o->flight) && o->output && strcmp(o->output, "-") == 0)
		return err_usage(err, "--keep-last writes captures to a directory, not to stdout");
	return flight_check_usage(&o->flight, operands[0], err);
}

static int record_run(const void *opts, char **operands, struct err *err)
{
	const struct record_opts *o = opts;
	struct screen screen = { .quiet = o->quiet, .terminal = isatty(STDERR_FILENO) };
	_cleanup_(freep) uint64_t *pids = NULL, *ports = NULL;
	_cleanup_(freep) char *line = command_line(!o->no_arguments);
	int r = check_usage(o, operands, err);

	if (r == 0)
		r = opt_numbers(&o->pids, "pid", 1, UINT32_MAX, &pids, err);
	if (r == 0)
		r = opt_numbers(&o->ports, "port", 1, UINT16_MAX, &ports, err);
	if (r < 0)
		return r;

	struct record_options options = {
		.output = o->output ?: DEFAULT_OUTPUT,
		.stop = &stop,
		.duration = o->duration == NOT_GIVEN ? 0 : o->duration,
		.pids = pids,
		.pid_count = o->pids.count,
		.ports = ports,
		.port_count = o->ports.count,
		.cgroup = o->cgroup,
		.all = o->all,
		.other_tasks = !o->no_other_tasks,
		.spans = !o->no_spans,
		.arguments = !o->no_arguments,
		.syscalls = o->syscalls,
		.block = o->block,
		.events = o->events.items,
		.event_count = o->events.count,
		.stacks = o->stacks == NOT_GIVEN ? 0 : o->stacks ?: 1,
		.profile_hz = o->profile,
		.buffer = o->buffer,
		.command = operands[0] ? operands : NULL,
		.command_line = line,
		.tool = "sonde " SONDE_VERSION,
		.progress = show_progress,
		.warning = show_warning,
		.arg = &screen,
	};
	struct recorder_stats state;

	if (flight_is_wanted(&o->flight))
		return record_flight(&o->flight, &options, o->output, o->quiet, err);
	catch_signals();
	r = record(&options, &state, err);
	if (r == 0)
		show_summary(&screen, options.output, &state);
	else
		clear_line(&screen);
	return r;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record what threads do and wait for",
	.synopsis = "[OPTION]... {--port=N | -p PID | -a | -- COMMAND [ARG]...}",
	.examples = "  sonde record -d 10 --port 8080\n"
		    "  sonde record -o slow.sonde --stacks=1ms -- ./service --config test.conf\n",
	.opts = record_opts,
	.defaults = &record_defaults,
	.opts_size = sizeof(record_defaults),
	.max_operands = SIZE_MAX,
	.after_dashes = true,
	.caps = PRIVILEGE_CAPS,
	.run = record_run,
};
