/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw_top - draws screens of `sonde top` from values made by hand, for tests/golden/screens.py.
 *
 *	draw_top SCENE            as text
 *	draw_top SCENE terminal   as it is written to a terminal
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/top_text.h"

static const struct top_share home_shares[] = {
	{ "contacts", 'D', 0.384 }, { "ledger", 'C', 0.243 },   { "contacts", 'R', 0.151 },
	{ "ledger", 'R', 0.108 },   { "contacts", 'L', 0.041 }, { "front", 'R', 0.022 },
	{ "front", 'N', 0.003 },
};
static const struct top_cause home_causes[] = {
	{ 0.38, "contacts (20240): fsync of demo.FPMHeZ/contacts.wal on vda for 2 other requests, "
		"while contacts/1 (20270 of 20240) waits for the lock it holds" },
	{ 0.24, "ledger (20241): waits for a CPU (run-queue latency); hog (20242) ran for 9.51 ms, "
		"ledger/7 (20265 of 20241) ran for 1.81 ms, ledger/3 (20261 of 20241) ran for "
		"1.8 ms, for ledger 127.0.0.1:48179" },
	{ 0.15, "contacts (20240): runs for 3 other requests, while contacts/1 (20270 of 20240) "
		"waits for the lock it holds" },
};
static const struct top_share import_shares[] = {
	{ "contacts", 'D', 0.60 },
	{ "contacts", 'R', 0.24 },
	{ "contacts", 'C', 0.15 },
};
static const struct top_cause import_causes[] = {
	{ 0.51, "contacts (20240): fsync of demo.FPMHeZ/contacts.wal on vda, for contacts "
		"127.0.0.1:35197" },
};

#define ACCOUNT(name) \
	{ name##_shares, ARRAY_LEN(name##_shares), name##_causes, ARRAY_LEN(name##_causes) }

static const char explanation[] =
	"127.0.0.1:60877   front   107 ms   trace 18e827541813\n"
	"     106 ms  N  front/8 (20251 of 20249): waits in read for contacts/1 (20270 of\n"
	"                  20240) at 127.0.0.1:35197\n"
	"       94.9 ms  L  contacts/1 (20270 of 20240): waits for a lock held by\n"
	"                     contacts/6 (20275 of 20240)\n"
	"          58.4 ms  D  contacts (20240): fsync of demo.FPMHeZ/contacts.wal on vda\n"
	"          21.6 ms  R  contacts (20240): runs\n"
	"          14.9 ms  C  contacts (20240): waits for a CPU (run-queue latency)\n"
	"used: 24.4 ms CPU time, 1,007 context switches (5 involuntary)\n"
	"cause (55 %): contacts (20240): fsync of demo.FPMHeZ/contacts.wal on vda, while\n"
	"                contacts/1 (20270 of 20240) waits for the lock it holds\n";

#define MS NSEC_PER_MSEC

static struct top_row rows[64] = {
	{
		.service = "front",
		.operation = "127.0.0.1:60877 > contacts, ledger",
		.requests = 715,
		.rate = 143,
		.in_flight = 3,
		.oldest = 21 * MS,
		.p50 = 7370000,
		.p95 = 64 * MS,
		.p99 = 100 * MS,
		.total = 9 * NSEC_PER_SEC,
		.account = ACCOUNT(home),
		.slowest = 107 * MS,
		.explanation = explanation,
	},
	{
		.service = "front",
		.operation = "127.0.0.1:60877 > contacts",
		.requests = 40,
		.rate = 8.04,
		.p50 = 52700000,
		.p95 = 103 * MS,
		.p99 = 103 * MS,
		.total = 2 * NSEC_PER_SEC,
		.account = ACCOUNT(import),
		.slowest = 103 * MS,
		.explanation = "not the longest\n",
	},
	{
		.service = "client",
		.operation = "GET /status",
		.requests = 2,
		.rate = 0.4,
		.p50 = 481000,
		.p95 = 502000,
		.p99 = 502000,
		.total = 983000,
		.slowest = 502000,
	},
};

static struct top_view view = {
	.host = "build1",
	.scope = "all processes",
	.time = 1789000000 * NSEC_PER_SEC,
	.elapsed = 75 * NSEC_PER_SEC,
	.interval = 5 * NSEC_PER_SEC,
	.rows = rows,
	.row_count = 3,
	.all = ACCOUNT(home),
	.requests = 757,
	.accounted = 757,
	.rate = 151.4,
	.records = 3214012,
	.record_rate = 41203,
	.window = 10 * NSEC_PER_SEC,
	.window_wanted = 10 * NSEC_PER_SEC,
	.memory = 31 << 20,
	.memory_limit = 256 << 20,
	.recorder_cpu = 0.013,
	.reader_cpu = 0.021,
	.recorder_memory = 24 << 20,
	.reader_memory = 88 << 20,
};

static struct top_controls controls = { .filter = "", .has_keys = true };
static size_t columns = 80, lines = 24;
static bool utf8 = true;

static void fill_history(void)
{
	for (size_t i = 0; i < TOP_SECONDS; i++) {
		rows[0].history[i] = (i % 15 == 7 ? 100 : 20 + i) * MS;
		rows[1].history[i] = i < 30 ? 0 : (50 + i) * MS;
	}
	rows[2].history[59] = 502000;
}

static void many(void)
{
	static char names[64][32];

	for (size_t i = 3; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "GET /item/%zu", i);
		rows[i] = (struct top_row){ .service = "shop", .operation = names[i] };
		rows[i].requests = rows[i].rate = i;
		rows[i].p50 = rows[i].p95 = rows[i].p99 = i * MS;
		rows[i].total = i * MS * i;
	}
	view.row_count = 40;
}

static void hostile(void)
{
	static char long_name[5000];

	memset(long_name, 'x', sizeof(long_name) - 1);
	rows[0].service = "\033[2J\033[1;1Hgone";
	rows[0].operation = "a\nb\tc\r\a\b\177";
	rows[1].service = "\xff\xfe\xc0\x80";
	rows[1].operation = "\u202egnp.exe\u202c \xc2\x9b"
			    "31m";
	rows[2].service = "表示する名前";
	rows[2].operation = "🙂 e\u0301e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301 end";
	rows[3] = rows[2];
	rows[3].service = long_name;
	rows[3].operation = "";
	view.row_count = 4;
	view.host = "\033]0;title\a";
	view.scope = long_name;
	view.problem = "\033[31mred";

	static const struct top_share shares[] = { { "\033[5mblink", 'R', 0.5 },
						   { "表示する名前表示する名前", 'D', 7.5 },
						   { "", 'N', -3 } };
	static const struct top_cause causes[] = { { 0.5, "\033[0;0H\n\n\n over \u2028 there" } };

	view.all = (struct top_account){ shares, 3, causes, 1 };
}

static void empty(void)
{
	view.row_count = 0;
	view.all = (struct top_account){ 0 };
	view.rate = 0;
}

struct scene {
	const char *name;
	void (*change)(void);
	size_t columns, lines;
};

static void starting(void)
{
	empty();
	view.elapsed = 0;
}

static void text_only(void)
{
	controls.has_keys = false;
}

static void text_empty(void)
{
	empty();
	controls.has_keys = false;
}

static void ascii(void)
{
	utf8 = false;
}

static void filtered(void)
{
	many();
	controls.filter = "FRONT";
	controls.is_typing = true;
}

static void filtered_out(void)
{
	controls.filter = "nothing";
}

static void frozen(void)
{
	controls.is_frozen = true;
	controls.sort = TOP_SORT_P95;
}

static void selected(void)
{
	many();
	controls.sort = TOP_SORT_RATE;
	controls.service = "shop";
	controls.operation = "GET /item/20";
}

static void chosen(void)
{
	controls.service = "front";
	controls.operation = rows[1].operation;
}

static void explain(void)
{
	controls.page = TOP_PAGE_EXPLAIN;
	controls.title = "slowest request of front 127.0.0.1:60877 > contacts, ledger: 107 ms";
	controls.text = explanation;
}

static void explain_scrolled(void)
{
	explain();
	controls.scroll = 1000;
	controls.shift = 10;
}

static void help(void)
{
	controls.page = TOP_PAGE_HELP;
}

static void died(void)
{
	view.problem = "killed by signal 9; starting it again in 4 s";
	view.recorder_memory = 0;
	view.record_rate = 0;
}

static void lossy(void)
{
	view.lost = 1234567;
	view.lost_now = 4321;
	view.lag = 3 * NSEC_PER_SEC;
	view.window = 4 * NSEC_PER_SEC;
	view.accounted = 200;
}

/* A service that has stopped, and a long poll. */
static void stalled(void)
{
	rows[0].requests = rows[0].rate = 0;
	rows[0].in_flight = 48;
	rows[0].history[TOP_SECONDS - 2] = rows[0].history[TOP_SECONDS - 1] = 0;
	rows[0].oldest = rows[0].p50 = rows[0].p95 = rows[0].p99 = 4200 * MS;
	rows[0].at_least = TOP_P50 | TOP_P95 | TOP_P99;
	rows[1].at_least = TOP_P99;
	rows[1].p99 = 123456789;
	rows[2].is_idle = true;
	rows[2].oldest = rows[2].p99 = 30 * NSEC_PER_SEC;
	rows[2].in_flight = 12345;
	view.rate = 8.04;
}

/* One operation leaves its baseline, one does not, and one is unknown to it. */
static void compared(void)
{
	static const struct top_deviation deviations[] = {
		{ .state = "lock",
		  .spans = 120,
		  .flagged = 117,
		  .text = "contacts 127.0.0.1:35197: waits for a lock (L) 58.4 ms, usually 100 µs; "
			  "117 of 120 spans" },
		{ .state = "network",
		  .spans = 120,
		  .flagged = 31,
		  .text = "front 127.0.0.1:60877: waits for the network (N) 6.2 ms, usually 1.1 "
			  "ms; 31 of 120 spans" },
	};

	view.has_baseline = true;
	rows[0].compared = 240;
	rows[0].deviations = deviations;
	rows[0].deviation_count = ARRAY_LEN(deviations);
	rows[1].compared = 12;
}

static void compared_selected(void)
{
	compared();
	controls.service = rows[0].service;
	controls.operation = rows[0].operation;
}

static void nothing(void)
{
}

static const struct scene scenes[] = {
	{ "usual", nothing, 80, 24 },
	{ "wide", many, 120, 40 },
	{ "very-wide", nothing, 200, 30 },
	{ "small", nothing, 40, 10 },
	{ "tiny", nothing, 12, 3 },
	{ "flat", nothing, 80, 8 },
	{ "one-cell", nothing, 1, 1 },
	{ "text", text_only, 80, 40 },
	{ "text-empty", text_empty, 80, 40 },
	{ "ascii", ascii, 80, 24 },
	{ "empty", empty, 80, 24 },
	{ "starting", starting, 80, 24 },
	{ "filtered", filtered, 80, 24 },
	{ "filtered-out", filtered_out, 80, 24 },
	{ "frozen", frozen, 80, 24 },
	{ "scrolled", selected, 80, 24 },
	{ "selected", chosen, 80, 24 },
	{ "explain", explain, 80, 24 },
	{ "explain-scrolled", explain_scrolled, 60, 8 },
	{ "help", help, 80, 30 },
	{ "died", died, 80, 24 },
	{ "lossy", lossy, 80, 24 },
	{ "stalled", stalled, 80, 24 },
	{ "hostile", hostile, 80, 24 },
	{ "compared", compared, 80, 24 },
	{ "compared-selected", compared_selected, 80, 30 },
	{ "compared-narrow", compared, 40, 12 },
};

static void draw(bool terminal)
{
	static struct out out;
	struct grid grid;

	grid_init(&grid, columns, lines, utf8);
	top_text(&grid, &view, &controls);
	out_init(&out, stdout);
	if (terminal) {
		screen_bytes bytes = { 0 };

		grid_draw(&grid, true, &bytes);
		out_bytes(&out, bytes.items, bytes.count);
		vec_done(&bytes);
	} else {
		grid_print(&grid, &out);
	}
	out_flush(&out);
	grid_done(&grid);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		if (argc < 2) {
			printf("%s %zu %zu\n", scenes[i].name, scenes[i].columns, scenes[i].lines);
			continue;
		}
		if (strcmp(scenes[i].name, argv[1]) != 0)
			continue;
		fill_history();
		columns = scenes[i].columns;
		lines = scenes[i].lines;
		scenes[i].change();
		draw(argc > 2);
		return 0;
	}
	return argc < 2 ? 0 : 1;
}
