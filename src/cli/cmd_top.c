/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/opt.h"
#include "cli/style.h"
#include "cli/terminal.h"
#include "cli/top_source.h"
#include "cli/top_ui.h"
#include "cli/usual.h"
#include "record/privilege.h"
#include "report/top_json.h"
#include "top/top.h"

struct top_opts {
	struct top_scope scope;
	const char *baseline;
	nsec_t delay;
	unsigned long count;
	bool json;
	nsec_t window;
	uint64_t memory;
};

#define FIELD(name) offsetof(struct top_opts, name)

static const struct opt top_opts[] = {
	{ OPT_LIST, 0, "port", "N", "only processes that listen on TCP port N",
	  FIELD(scope.ports) },
	{ OPT_LIST, 'p', "pid", "PID", "only a process and its descendants", FIELD(scope.pids) },
	{ OPT_STRING, 0, "cgroup", "PATH", "only a control group and its descendants",
	  FIELD(scope.cgroup) },
	{ OPT_FLAG, 'a', "all", NULL, "all processes (default)", FIELD(scope.all) },
	{ OPT_STRING, 'b', "baseline", "BASELINE",
	  "compare with what sonde learn wrote to this file", FIELD(baseline) },
	{ OPT_TIME, 'd', "delay", "TIME", "time between two screens (default 1s)", FIELD(delay) },
	{ OPT_COUNT, 'n', "iterations", "N", "print N screens as text, then exit", FIELD(count) },
	{ OPT_FLAG, 0, "json", NULL, "write a JSON object per screen instead of text",
	  FIELD(json) },
	{ OPT_TIME, 0, "window", "TIME", "keep records of the last TIME (default 10s)",
	  FIELD(window) },
	{ OPT_SIZE, 0, "memory", "SIZE", "shorten that time above SIZE (default 256M)",
	  FIELD(memory) },
	{ 0 },
};

#define DELAY_MIN (100 * NSEC_PER_MSEC)
#define DELAY_MAX (3600 * NSEC_PER_SEC)
#define WINDOW_MIN (2 * NSEC_PER_SEC)
#define MEMORY_MIN (16ull << 20)
#define FULL_INTERVAL (5 * NSEC_PER_SEC) /* that rates and percentiles are of */
enum { TEXT_ROWS = 40 };                 /* of a screen that is printed */

static const struct top_opts top_defaults = {
	.delay = NSEC_PER_SEC,
	.window = LIVE_WINDOW,
	.memory = LIVE_MEMORY,
};

static int check_usage(const struct top_opts *o, char **operands, struct err *err)
{
	const struct top_scope *s = &o->scope;
	bool is_limited = s->pids.count || s->ports.count || s->cgroup;

	if (operands[0] && (is_limited || s->all))
		return err_usage(err,
				 "a capture is replayed as a whole; '%s' and the options -p, "
				 "--port, --cgroup and -a are mutually exclusive",
				 operands[0]);
	if (is_limited && s->all)
		return err_usage(err, "-a and the options -p, --port and --cgroup are mutually "
				      "exclusive");
	if (o->delay < DELAY_MIN || o->delay > DELAY_MAX)
		return err_usage(err, "--delay requires a time from 100ms to 1h");
	if (o->window < WINDOW_MIN || o->window > DELAY_MAX)
		return err_usage(err, "--window requires a time from 2s to 1h");
	if (o->memory < MEMORY_MIN)
		return err_usage(err, "--memory requires at least 16M");
	return 0;
}

struct words {
	char s[256];
};

static void add_list(struct words *w, const char *one, const char *several,
		     const struct opt_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t at = strlen(w->s);

		snprintf(w->s + at, sizeof(w->s) - at, "%s%s%.100s", at ? ", " : "",
			 i                  ? ""
			 : list->count == 1 ? one
					    : several,
			 list->items[i]);
	}
}

/* "port 8080", "processes 12, 13": what the title names. */
static struct words scope_words(const struct top_scope *scope, char **operands)
{
	const char *slash = operands[0] ? strrchr(operands[0], '/') : NULL;
	struct words w = { "" };
	size_t more = 0;

	if (operands[0]) {
		while (operands[more + 1])
			more++;
		snprintf(w.s, sizeof(w.s), more ? "%.200s and %zu more" : "%.200s",
			 slash && slash[1] ? slash + 1 : operands[0], more);
		return w;
	}
	add_list(&w, "port ", "ports ", &scope->ports);
	add_list(&w, "process ", "processes ", &scope->pids);
	if (scope->cgroup) {
		size_t at = strlen(w.s);

		snprintf(w.s + at, sizeof(w.s) - at, "%scgroup %.100s", at ? ", " : "",
			 scope->cgroup);
	}
	return *w.s ? w : (struct words){ "all processes" };
}

struct running {
	const struct top_opts *opts;
	const struct usual *usual;
	bool is_replay;
	struct live *live;
	struct top *top;
	struct top_view *view;
	struct terminal terminal;
	struct top_ui ui;
};

static void take_view(struct running *r)
{
	top_view_free(r->view);
	r->view = top_view_new(r->top);
	top_ui_view(&r->ui, r->view);
}

static int print_text(const struct top_view *view, struct out *out, bool is_first)
{
	struct top_controls controls = { .filter = "" };
	struct grid grid;

	if (!is_first)
		out_char(out, '\n');
	grid_init(&grid, output_style().columns, TEXT_ROWS, terminal_is_utf8());
	top_text(&grid, view, &controls);
	grid_print(&grid, out);
	grid_done(&grid);
	return 0;
}

static int print_view(const struct running *run, struct out *out, bool is_first, struct err *err)
{
	if (run->opts->json) {
		struct json j;

		json_init(&j, out);
		top_json(&j, run->view);
	} else {
		print_text(run->view, out, is_first);
	}

	int r = out_finish(out, err);

	fflush(stdout);
	return r;
}

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Whether the view is one to print: text is of a full interval, so that -n 1 is of use. */
static bool is_full(const struct running *run)
{
	if (run->is_replay)
		return true;
	return run->opts->json ? run->view->interval : run->view->elapsed >= FULL_INTERVAL;
}

/* Without a terminal: a screen as text for each tick. */
static int print_views(struct running *run, struct out *out, struct err *err)
{
	unsigned long printed = 0, wanted = run->opts->count;
	int r, written = 0;

	do {
		r = live_poll(run->live, -1, -1, err);
		if (r <= 0 || !(r & LIVE_TICKED))
			continue;
		take_view(run);
		if (!is_full(run))
			continue;
		written = print_view(run, out, printed == 0, err);
		printed++;
	} while (r > 0 && written == 0 && !stop && (!wanted || printed < wanted));
	if (r == 0 && printed == 0 && run->view) /* a stream shorter than a full interval */
		written = print_view(run, out, true, err);
	return r < 0 ? r : written;
}

typedef VEC(struct top_view *) top_views;

/* Of a replay with -n: the last screens. */
static int print_last_views(struct running *run, struct out *out, struct err *err)
{
	unsigned long wanted = run->opts->count;
	top_views views = { 0 };
	int r, written = 0;

	while ((r = live_poll(run->live, -1, -1, err)) > 0 && !stop) {
		if (!(r & LIVE_TICKED))
			continue;
		*vec_push(&views) = top_view_new(run->top);
		if (views.count > wanted) {
			top_view_free(views.items[views.count - wanted - 1]);
			views.items[views.count - wanted - 1] = NULL;
		}
	}
	for (size_t i = 0, printed = 0; i < views.count && written == 0; i++) {
		run->view = TAKE(views.items[i]);
		if (run->view)
			written = print_view(run, out, printed++ == 0, err);
		top_view_free(TAKE(run->view));
	}
	vec_done(&views);
	return r < 0 ? r : written;
}

static int run_text(struct running *run, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));

	out_init(out, stdout);
	catch_signals();
	return run->is_replay && run->opts->count ? print_last_views(run, out, err)
						  : print_views(run, out, err);
}

static int draw(struct running *run, struct err *err)
{
	screen_bytes bytes = { 0 };
	struct grid grid;

	grid_init(&grid, run->terminal.columns, run->terminal.rows, terminal_is_utf8());
	top_text(&grid, run->view, &run->ui.controls);
	grid_draw(&grid, opt_colour(), &bytes);
	grid_done(&grid);

	int r = terminal_show(bytes.items, bytes.count);

	vec_done(&bytes);
	return r < 0 ? err_set(err, r, "cannot write to the terminal: %s", strerror(-r)) : 0;
}

/* Handles all keys and signals.  Returns false to quit. */
static bool handle_events(struct running *run)
{
	enum terminal_event event;
	uint32_t key;

	while ((event = terminal_next(&run->terminal, &key)) != TERMINAL_NOTHING) {
		if (event == TERMINAL_END)
			return false;
		if (event == TERMINAL_REDRAW)
			top_set_columns(run->top, run->terminal.columns);
		else if (!top_ui_key(&run->ui, run->view, key, run->terminal.rows))
			return false;
	}
	return true;
}

/* Waits for keys and signals only, at most until a time. */
static void wait_for_events(struct running *run, nsec_t until)
{
	struct pollfd events = { .fd = run->terminal.wait, .events = POLLIN };
	nsec_t now = clock_now();

	if (now < until)
		poll(&events, 1,
		     until == UINT64_MAX ? -1 : (int)((until - now) / NSEC_PER_MSEC + 1));
}

/*
 * Reads records up to the next tick.  A replay runs at the speed of the recording, stops while
 * the screen is frozen, and stays at its end.  Returns bits of live_poll().
 */
static int advance(struct running *run, nsec_t *next, struct err *err)
{
	bool is_paused = run->is_replay && run->ui.controls.is_frozen;

	if (is_paused || *next == UINT64_MAX || (run->is_replay && clock_now() < *next)) {
		wait_for_events(run, is_paused ? UINT64_MAX : *next);
		return LIVE_RUNNING;
	}

	int r = live_poll(run->live, -1, run->terminal.wait, err);

	if (r == 0)
		*next = UINT64_MAX; /* the input has ended */
	else if (r & LIVE_TICKED)
		*next = clock_now() + run->opts->delay;
	return r == 0 ? LIVE_RUNNING | LIVE_TICKED : r;
}

static int run_screen(struct running *run, struct err *err)
{
	nsec_t next = 0;
	int r = terminal_open(&run->terminal, err);

	if (r == 0) {
		top_set_columns(run->top, run->terminal.columns);
		take_view(run);
		r = draw(run, err);
	}
	while (r >= 0) {
		r = advance(run, &next, err);
		if (r > 0 && r & LIVE_TICKED && !run->ui.controls.is_frozen)
			take_view(run);
		if (r < 0 || !handle_events(run))
			break;
		r = draw(run, err);
	}
	terminal_close(&run->terminal);
	return r < 0 ? r : 0;
}

static int run_top(struct running *run, const char *scope, struct err *err)
{
	struct top_options options = { .scope = scope,
				       .columns = output_style().columns,
				       .baseline = run->usual->baseline,
				       .profiles = &run->usual->profiles };
	_cleanup_(top_freep) struct top *top = NULL;

	top = run->top = top_new(&options);

	struct consumer consumer = top_consumer(top);

	live_add_consumer(run->live, &consumer);
	top_ui_init(&run->ui);

	bool is_text = run->opts->count || run->opts->json || !terminal_usable();
	int r = is_text ? run_text(run, err) : run_screen(run, err);

	top_ui_done(&run->ui);
	top_view_free(run->view);
	return r;
}

static int top_run(const void *opts, char **operands, struct err *err)
{
	const struct top_opts *o = opts;
	struct live_options options = { .window = o->window,
					.memory = o->memory,
					.interval = o->delay };
	_cleanup_(top_keeper_free) struct keeper *keeper = NULL;
	_cleanup_(live_freep) struct live *live = NULL;
	_cleanup_(usual_done) struct usual usual = { 0 };
	int r = check_usage(o, operands, err);

	if (r < 0)
		return r;
	if (operands[0] && geteuid() != 0)
		caps_limit(0, 0); /* a replay needs none */
	if (o->baseline && (r = usual_load(o->baseline, &usual, err)) < 0)
		return r;

	bool is_stream = top_source_is_stream(operands);

	if (is_stream)
		r = top_source_stream(&options, &live, err);
	else if (operands[0])
		r = live_open_files(operands, &options, &live, err);
	else
		r = top_source_record(&o->scope, &options, &keeper, &live, err);
	if (r < 0)
		return r;

	struct running running = {
		.opts = o, .usual = &usual, .is_replay = operands[0] && !is_stream, .live = live
	};

	return run_top(&running, scope_words(&o->scope, operands).s, err);
}

const struct command cmd_top = {
	.name = "top",
	.summary = "show which requests are slow now, and why",
	.synopsis = "[OPTION]... [CAPTURE]...",
	.examples = "  sonde top                          all services of this host\n"
		    "  sonde top --port 8080              the one that listens on port 8080\n"
		    "  sonde top -n 1                     print one screen\n"
		    "  sonde top capture.sonde            replay a recording\n",
	.opts = top_opts,
	.defaults = &top_defaults,
	.opts_size = sizeof(top_defaults),
	.max_operands = SIZE_MAX,
	.caps = PRIVILEGE_CAPS,
	.run = top_run,
};
