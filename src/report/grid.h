/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid - a screen of character cells, which no text can break.
 *
 * Names of recorded programs are untrusted.  Text enters the grid through grid_put(), which escapes
 * control characters, keeps to the width it is given and cuts the rest, so a name can neither move
 * the cursor nor push other columns away.  A cell holds one character and the few combining marks
 * that fit, so a pile of marks is bounded as well.
 *
 * How wide a character is drawn depends on the terminal and its font.  grid_draw() therefore
 * moves the cursor to its column after each run of characters outside of ASCII, instead of trusting
 * the table in base/char_width.h.
 *
 * A drawn grid is a full screen in one string, to be written by one write().  A screen of 80x24
 * takes 2 KB, one of 120x40 5 KB; a redraw of the differences would save a part of that, but would
 * not repair what other programs print to the same terminal.
 */
#ifndef SONDE_REPORT_GRID_H
#define SONDE_REPORT_GRID_H

#include "base/base.h"
#include "base/out.h"
#include "base/vec.h"

/* How a cell looks: a colour, 1 to 7 as in ANSI sequences or 0, and flags. */
enum look {
	LOOK_PLAIN = 0,
	LOOK_RED = 1,
	LOOK_GREEN = 2,
	LOOK_YELLOW = 3,
	LOOK_CYAN = 6,
	LOOK_COLOURS = 7, /* mask */
	LOOK_BOLD = 8,
	LOOK_DIM = 16,
	LOOK_REVERSE = 32,
};

enum { CELL_BYTES = 12 };

struct grid_cell {
	char s[CELL_BYTES]; /* UTF-8; not terminated if full; empty: the right half of the cell
			       before */
	uint8_t len;
	uint8_t look;
};

struct grid {
	size_t columns, rows;
	bool utf8; /* otherwise only ASCII characters are drawn */
	struct grid_cell *cells;
};

/* A grid of blanks; dimensions above GRID_MAX are cut. */
enum { GRID_MAX = 1000 };
void grid_init(struct grid *g, size_t columns, size_t rows, bool utf8);
void grid_done(struct grid *g);

/*
 * Writes text at a position, in at most `width` columns; if it is longer, the last column becomes
 * an ellipsis.  What is outside of the grid is cut.  Returns the number of columns used.
 */
size_t grid_put(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		const char *text);
/* The same for the first `len` bytes. */
size_t grid_put_bytes(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		      const char *text, size_t len);
/* Writes text; one that is too long loses its middle, as names often differ only at their end. */
void grid_put_ends(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		   const char *text);
/* Writes text aligned to the right of `width` columns. */
void grid_put_right(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		    const char *text);
/* One character of our own, repeated; `ascii` is drawn without UTF-8. */
void grid_repeat(struct grid *g, size_t row, size_t column, size_t count, unsigned look,
		 const char *utf8, char ascii);
/* Changes the look of a whole row. */
void grid_look(struct grid *g, size_t row, unsigned look);

/* Width in columns that grid_put() would use for the first `len` bytes, without a limit. */
size_t grid_width(const struct grid *g, const char *text, size_t len);

/* As text, without escape sequences; trailing blanks and trailing empty lines are left out. */
void grid_print(const struct grid *g, struct out *out);

typedef VEC(char) screen_bytes;

/* As a full screen for a terminal, appended to `ret`; without colours, bold and reverse remain. */
void grid_draw(const struct grid *g, bool colour, screen_bytes *ret);

#endif
