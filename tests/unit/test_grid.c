/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/char_width.h"
#include "report/grid.h"
#include "test.h"

/* A row as text. */
static const char *row_text(const struct grid *g, size_t row)
{
	static char text[4096];
	size_t len = 0;

	for (size_t i = 0; i < g->columns; i++) {
		const struct grid_cell *cell = &g->cells[row * g->columns + i];

		memcpy(text + len, cell->s, cell->len);
		len += cell->len;
	}
	text[len] = '\0';
	return text;
}

/* A text in a grid of one row. */
static const char *put(bool utf8, size_t columns, const char *text)
{
	struct grid g;

	grid_init(&g, columns, 1, utf8);
	grid_put(&g, 0, 0, SIZE_MAX, LOOK_PLAIN, text);

	const char *result = row_text(&g, 0);

	grid_done(&g);
	return result;
}

TEST(text_is_cut_at_the_width_with_an_ellipsis)
{
	CHECK_STR(put(true, 5, "abcde"), "abcde");
	CHECK_STR(put(true, 5, "abcdef"), "abcd…");
	CHECK_STR(put(false, 5, "abcdef"), "abcd~");
	CHECK_STR(put(true, 1, "abc"), "…");
	CHECK_STR(put(true, 5, "ab"), "ab   ");
}

TEST(control_characters_and_malformed_bytes_are_escaped)
{
	CHECK_STR(put(true, 12, "a\033[2J"), "a\\x1b[2J    ");
	CHECK_STR(put(true, 9, "\xff\n"), "\\xff\\x0a ");
	CHECK_STR(put(true, 12, "\u202e"), "\\xe2\\x80\\xae");
	CHECK_STR(put(true, 8, "\xc2\x9b"), "\\xc2\\x9b");
	CHECK_STR(put(true, 3, "\033"), "…  "); /* an escape is not cut in two */
}

TEST(wide_characters_take_two_columns)
{
	CHECK_STR(put(true, 6, "表示"), "表示  ");
	CHECK_STR(put(true, 3, "表示"), "表…");
	CHECK_STR(put(true, 2, "表示"), "… ");
	CHECK_STR(put(false, 4, "表示"), "??  ");
	CHECK_STR(put(false, 6, "12 µs"), "12 us ");
}

TEST(a_pile_of_marks_is_bounded)
{
	char text[4096] = "e";

	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\u0301", 3);
	CHECK_INT(strlen(put(true, 2, text)), CELL_BYTES - 1 + 1);
	CHECK_STR(put(true, 2, "\u0301x"), "x "); /* a mark without a character is left out */
}

TEST(the_middle_of_a_long_name_is_left_out)
{
	struct grid g;

	grid_init(&g, 9, 2, true);
	grid_put_ends(&g, 0, 0, 9, LOOK_PLAIN, "front 127.0.0.1 > (contacts)");
	CHECK_STR(row_text(&g, 0), "fron…cts)");
	grid_put_ends(&g, 1, 2, SIZE_MAX, LOOK_PLAIN, "contact");
	CHECK_STR(row_text(&g, 1), "  contact");
	grid_put_ends(&g, 2, 0, 9, LOOK_PLAIN, "below");
	grid_put_ends(&g, 0, 9, 9, LOOK_PLAIN, "beside");
	grid_done(&g);
}

TEST(text_outside_of_the_grid_is_not_written)
{
	struct grid g;

	grid_init(&g, 4, 2, true);
	CHECK_INT(grid_put(&g, 2, 0, 4, LOOK_PLAIN, "below"), 0);
	CHECK_INT(grid_put(&g, 0, 4, 4, LOOK_PLAIN, "beside"), 0);
	CHECK_INT(grid_put(&g, 0, 0, 0, LOOK_PLAIN, "narrow"), 0);
	grid_put_right(&g, 0, 2, 8, LOOK_PLAIN, "abc");
	grid_repeat(&g, 1, 3, 9, LOOK_PLAIN, "█", '#');
	grid_repeat(&g, 5, 0, 1, LOOK_PLAIN, "█", '#');
	grid_look(&g, 7, LOOK_BOLD);
	CHECK_STR(row_text(&g, 0), "    ");
	CHECK_STR(row_text(&g, 1), "   █");
	grid_done(&g);
}

TEST(a_drawn_grid_moves_the_cursor_after_other_than_ascii)
{
	screen_bytes bytes = { 0 };
	struct grid g;

	grid_init(&g, 6, 1, true);
	grid_put(&g, 0, 0, 6, LOOK_RED | LOOK_BOLD, "表a");
	grid_draw(&g, true, &bytes);
	*vec_push(&bytes) = '\0';
	CHECK_STR(bytes.items, "\033[1;1H\033[0m\033[0;1;31m表\033[3Ga\033[0m\033[K");
	bytes.count = 0;
	grid_draw(&g, false, &bytes);
	*vec_push(&bytes) = '\0';
	CHECK_STR(bytes.items, "\033[1;1H\033[0m\033[0;1m表\033[3Ga\033[0m\033[K");
	vec_done(&bytes);
	grid_done(&g);
}

TEST(widths_of_characters)
{
	CHECK_INT(char_width('a'), 1);
	CHECK_INT(char_width(0xb5), 1);
	CHECK_INT(char_width(0x301), 0);
	CHECK_INT(char_width(0x200b), 0);
	CHECK_INT(char_width(0x8868), 2);
	CHECK_INT(char_width(0x1f642), 2);
	CHECK_INT(char_width(0x2581), 1);
	CHECK_INT(char_width(0x10ffff), 1);
}
