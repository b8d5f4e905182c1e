/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of `sonde top` that are text: the explanation of a request, and help. */
#include <string.h>

#include "report/top_internal.h"

static const char help[] =
	"An operation is a kind of request: rebuilt requests with the same entry and\n"
	"services, or root spans with the same name. Rates and percentiles are of the\n"
	"last seconds; latency is what the client sees.\n"
	"\n"
	"  time       share of the time of all requests; what costs most is first\n"
	"  req/s      requests that ended, per second\n"
	"  open       requests without a reply yet\n"
	"  p50 ...    latency that 50, 95 or 99 % of the requests did not exceed;\n"
	"             >2.3 s: open requests have already taken longer\n"
	"  baseline   with -b: whether requests are as fast as those learned\n"
	"\n"
	"  Up, Down, k, j   select an operation: the lower half is about it; Esc: none\n"
	"  Enter, e         explain the slowest request of the selected operation\n"
	"  s                sort by the next column\n"
	"  /                list only operations that contain a text; Esc: all\n"
	"  Space, f         freeze the screen, and go on\n"
	"  h, ?             this help\n"
	"  q                quit\n"
	"\n"
	"The bars show the time on the critical path of requests: which service was\n"
	"responsible, and the state of its threads:\n"
	"\n"
	"  R  running                      L  waiting for a lock\n"
	"  C  waiting for a CPU            I  waiting for another process\n"
	"     (run-queue latency)          T  waiting for a timer\n"
	"  Q  out of CPU quota             U  waiting for user input\n"
	"  D  waiting for disk I/O         ?  off-CPU, cause unknown\n"
	"  N  waiting for the network\n";

static const char *page_text(const struct top_controls *c)
{
	return c->page == TOP_PAGE_HELP ? help : c->text ? c->text : "";
}

static size_t line_count(const char *text)
{
	size_t count = 0;

	for (; *text; count++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return count;
}

size_t top_scroll_max(const struct top_controls *controls, size_t rows)
{
	size_t lines = line_count(page_text(controls)), shown = rows > 2 ? rows - 2 : 0;

	return lines > shown ? lines - shown : 0;
}

/* The part of a line right of the first `shift` characters. */
static size_t skip_characters(const char *line, size_t len, size_t shift)
{
	size_t at = 0;

	while (at < len && shift--) {
		size_t n = utf8_length(line + at, len - at);

		at += n ? n : 1;
	}
	return at;
}

static void put_lines(struct top_screen *s, const char *text, size_t height)
{
	size_t max = top_scroll_max(s->controls, s->grid->rows);
	size_t skip = s->controls->scroll < max ? s->controls->scroll : max;

	for (; *text && height; text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		if (skip) {
			skip--;
		} else {
			size_t from = skip_characters(text, len, s->controls->shift);

			grid_put_bytes(s->grid, s->row++, 0, SIZE_MAX, LOOK_PLAIN, text + from,
				       len - from);
			height--;
		}
		text += len;
	}
}

void top_pages(struct top_screen *s)
{
	const struct top_controls *c = s->controls;
	size_t rows = s->grid->rows;

	grid_look(s->grid, 0, LOOK_REVERSE);
	grid_put(s->grid, 0, 0, SIZE_MAX, LOOK_REVERSE,
		 c->page == TOP_PAGE_HELP ? "sonde top: help"
		 : c->title               ? c->title
					  : "");
	s->row = 1;
	put_lines(s, page_text(c), rows > 2 ? rows - 2 : 0);
	s->row = rows ? rows - 1 : 0;
	top_keys(s);
}
