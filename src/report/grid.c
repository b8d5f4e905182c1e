/* SPDX-License-Identifier: Apache-2.0 */
#include "report/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/char_width.h"

static const struct grid_cell blank = { " ", 1, LOOK_PLAIN };

void grid_init(struct grid *g, size_t columns, size_t rows, bool utf8)
{
	g->columns = columns < GRID_MAX ? columns : GRID_MAX;
	g->rows = rows < GRID_MAX ? rows : GRID_MAX;
	g->utf8 = utf8;
	g->cells = must_alloc((g->columns * g->rows + 1) * sizeof(*g->cells));
	for (size_t i = 0; i < g->columns * g->rows; i++)
		g->cells[i] = blank;
}

void grid_done(struct grid *g)
{
	free(g->cells);
	g->cells = NULL;
}

static struct grid_cell *cell_at(const struct grid *g, size_t row, size_t column)
{
	return &g->cells[row * g->columns + column];
}

/* The next character of a text, as it is drawn. */
struct glyph {
	char s[CELL_BYTES];
	size_t len, used; /* bytes of s; bytes of the text */
	size_t width;     /* columns; an escape is several cells of ASCII */
	bool is_escape;
};

static struct glyph glyph_ascii(size_t used, const char *s)
{
	struct glyph glyph = { .used = used, .len = strlen(s), .width = strlen(s) };

	memcpy(glyph.s, s, glyph.len);
	return glyph;
}

/* Control characters and malformed bytes, one byte at a time. */
static struct glyph glyph_escape(unsigned char byte)
{
	char escape[8];

	snprintf(escape, sizeof(escape), "\\x%02x", byte);

	struct glyph glyph = glyph_ascii(1, escape);

	glyph.is_escape = true;
	return glyph;
}

static struct glyph glyph_next(bool utf8, const char *text, size_t len)
{
	size_t n = utf8_length(text, len);

	if (n == 0 || utf8_control(text, n))
		return glyph_escape(*text);

	uint32_t code = utf8_code(text, n);
	struct glyph glyph = { .len = n, .used = n, .width = char_width(code) };

	memcpy(glyph.s, text, n);
	if (n == 1 || utf8)
		return glyph;
	return glyph_ascii(n, code == 0xb5 ? "u" : glyph.width ? "?" : "");
}

size_t grid_width(const struct grid *g, const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len;) {
		struct glyph glyph = glyph_next(g->utf8, text + i, len - i);

		width += glyph.width;
		i += glyph.used;
	}
	return width;
}

static void cell_set(struct grid *g, size_t row, size_t column, unsigned look, const char *s,
		     size_t len)
{
	struct grid_cell *cell = cell_at(g, row, column);

	memcpy(cell->s, s, len);
	cell->len = len;
	cell->look = look;
}

/* A mark joins the character before it if there is one, and room. */
static void add_mark(struct grid *g, size_t row, size_t column, size_t used,
		     const struct glyph *mark)
{
	struct grid_cell *cell = used ? cell_at(g, row, column + used - 1) : NULL;

	if (cell && !cell->len && used > 1)
		cell--; /* the left half of a wide character */
	if (!cell || cell->len + mark->len > CELL_BYTES)
		return;
	memcpy(cell->s + cell->len, mark->s, mark->len);
	cell->len += mark->len;
}

static void put_glyph(struct grid *g, size_t row, size_t column, unsigned look,
		      const struct glyph *glyph)
{
	if (!glyph->is_escape) {
		cell_set(g, row, column, look, glyph->s, glyph->len);
		if (glyph->width == 2)
			cell_set(g, row, column + 1, look, "", 0);
		return;
	}
	for (size_t i = 0; i < glyph->len; i++)
		cell_set(g, row, column + i, look, glyph->s + i, 1);
}

static size_t put_ellipsis(struct grid *g, size_t row, size_t column, unsigned look)
{
	cell_set(g, row, column, look, g->utf8 ? "…" : "~", strlen(g->utf8 ? "…" : "~"));
	return 1;
}

/* Writes what fits into `width` columns; returns the columns used, and the bytes that remain. */
static size_t put_fitting(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
			  const char **text, size_t *len)
{
	size_t used = 0;

	while (*len) {
		struct glyph glyph = glyph_next(g->utf8, *text, *len);

		if (used + glyph.width > width)
			break;
		if (glyph.width)
			put_glyph(g, row, column + used, look, &glyph);
		else
			add_mark(g, row, column, used, &glyph);
		used += glyph.width;
		*text += glyph.used;
		*len -= glyph.used;
	}
	return used;
}

size_t grid_put_bytes(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		      const char *text, size_t len)
{
	if (row >= g->rows || column >= g->columns)
		return 0;
	if (width > g->columns - column)
		width = g->columns - column;
	if (!width)
		return 0;

	const char *rest = text;
	size_t rest_len = len, used = put_fitting(g, row, column, width, look, &rest, &rest_len);

	if (!rest_len)
		return used;
	used = put_fitting(g, row, column, width - 1, look, &text, &len);
	for (size_t i = used; i < width; i++)
		*cell_at(g, row, column + i) = blank;
	return used + put_ellipsis(g, row, column + used, look);
}

size_t grid_put(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		const char *text)
{
	return grid_put_bytes(g, row, column, width, look, text, strlen(text));
}

/* The end of a text in at most `width` columns. */
static const char *text_end(const struct grid *g, const char *text, size_t width)
{
	size_t len = strlen(text), wanted = grid_width(g, text, len);

	while (wanted > width) {
		struct glyph glyph = glyph_next(g->utf8, text, len);

		wanted -= glyph.width;
		text += glyph.used;
		len -= glyph.used;
	}
	return text;
}

void grid_put_ends(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		   const char *text)
{
	if (row >= g->rows || column >= g->columns)
		return;
	if (width > g->columns - column)
		width = g->columns - column;

	const char *end = text_end(g, text, width / 2);

	if (width < 3 || grid_width(g, text, strlen(text)) <= width) {
		grid_put(g, row, column, width, look, text);
		return;
	}
	column += grid_put_bytes(g, row, column, width - width / 2, look, text, end - text);
	grid_put(g, row, column, width / 2, look, end);
}

void grid_put_right(struct grid *g, size_t row, size_t column, size_t width, unsigned look,
		    const char *text)
{
	size_t wanted = grid_width(g, text, strlen(text));
	size_t blanks = wanted < width ? width - wanted : 0;

	grid_put(g, row, column + blanks, width - blanks, look, text);
}

void grid_repeat(struct grid *g, size_t row, size_t column, size_t count, unsigned look,
		 const char *utf8, char ascii)
{
	if (row >= g->rows)
		return;
	for (size_t i = 0; i < count && column + i < g->columns; i++)
		cell_set(g, row, column + i, look, g->utf8 ? utf8 : &ascii,
			 g->utf8 ? strlen(utf8) : 1);
}

void grid_look(struct grid *g, size_t row, unsigned look)
{
	if (row >= g->rows)
		return;
	for (size_t i = 0; i < g->columns; i++)
		cell_at(g, row, i)->look = look;
}

/* Number of columns up to the last cell that is not blank, or whose blank these flags show. */
static size_t row_length(const struct grid *g, size_t row, unsigned visible)
{
	size_t n = g->columns;

	for (; n; n--) {
		const struct grid_cell *cell = cell_at(g, row, n - 1);

		if (cell->len != 1 || cell->s[0] != ' ' || cell->look & visible)
			break;
	}
	return n;
}

void grid_print(const struct grid *g, struct out *out)
{
	size_t rows = g->rows;

	while (rows && !row_length(g, rows - 1, 0))
		rows--;
	for (size_t row = 0; row < rows; row++) {
		size_t length = row_length(g, row, 0);

		for (size_t i = 0; i < length; i++)
			out_bytes(out, cell_at(g, row, i)->s, cell_at(g, row, i)->len);
		out_char(out, '\n');
	}
}

static void append(screen_bytes *to, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*vec_push(to) = s[i];
}

static void append_look(screen_bytes *to, bool colour, unsigned look)
{
	char sequence[32];
	unsigned number = colour ? look & LOOK_COLOURS : 0;
	int n = snprintf(sequence, sizeof(sequence), "\033[0%s%s%s", look & LOOK_BOLD ? ";1" : "",
			 look & LOOK_DIM ? ";2" : "", look & LOOK_REVERSE ? ";7" : "");

	if (number)
		n += snprintf(sequence + n, sizeof(sequence) - n, ";3%u", number);
	append(to, sequence, n);
	append(to, "m", 1);
}

static void append_number(screen_bytes *to, const char *format, size_t number)
{
	char sequence[32];

	append(to, sequence, snprintf(sequence, sizeof(sequence), format, number));
}

static void draw_row(const struct grid *g, size_t row, bool colour, screen_bytes *to)
{
	size_t length = row_length(g, row, LOOK_REVERSE);
	unsigned look = LOOK_PLAIN;
	bool column_known = true;

	append_number(to, "\033[%zu;1H\033[0m", row + 1);
	for (size_t i = 0; i < length; i++) {
		const struct grid_cell *cell = cell_at(g, row, i);
		bool is_ascii = cell->len == 1;

		if (!column_known && is_ascii)
			append_number(to, "\033[%zuG", i + 1);
		column_known = is_ascii;
		if (cell->look != look)
			append_look(to, colour, look = cell->look);
		append(to, cell->s, cell->len);
	}
	if (!column_known && length < g->columns)
		append_number(to, "\033[%zuG", length + 1);
	append(to, "\033[0m", 4);
	if (length < g->columns)
		append(to, "\033[K", 3);
}

void grid_draw(const struct grid *g, bool colour, screen_bytes *ret)
{
	for (size_t row = 0; row < g->rows; row++)
		draw_row(g, row, colour, ret);
}
