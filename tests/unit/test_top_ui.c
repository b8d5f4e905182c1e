/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keys.h"
#include "cli/top_ui.h"
#include "test.h"

static struct top_row rows[] = {
	{ .service = "web",
	  .operation = "GET /a",
	  .total = 300,
	  .p50 = 1,
	  .slowest = 5000000,
	  .explanation = "one\ntwo\nthree\nfour\nfive\n" },
	{ .service = "web", .operation = "GET /b", .total = 200, .p50 = 9 },
	{ .service = "mail", .operation = "SEND", .total = 100, .p50 = 5 },
};
static const struct top_view view = { .rows = rows, .row_count = 3 };
static struct top_ui ui;

static bool press(uint32_t key)
{
	return top_ui_key(&ui, &view, key, 6);
}

static void type(const char *text)
{
	while (*text)
		CHECK(press((unsigned char)*text++));
}

static const char *selected(void)
{
	return ui.controls.operation ? ui.controls.operation : "none";
}

TEST(arrows_select_operations_in_the_order_of_the_table)
{
	top_ui_init(&ui);
	CHECK_STR(selected(), "none");
	press(KEY_DOWN);
	CHECK_STR(selected(), "GET /a");
	press('j');
	press(KEY_DOWN);
	press(KEY_DOWN);
	CHECK_STR(selected(), "SEND");
	press('k');
	CHECK_STR(selected(), "GET /b");
	press(KEY_HOME);
	press(KEY_UP);
	CHECK_STR(selected(), "GET /a");
	press(KEY_END);
	CHECK_STR(selected(), "SEND");
	press(KEY_ESC);
	CHECK_STR(selected(), "none");
	top_ui_done(&ui);
}

TEST(the_selection_stays_with_the_operation_when_the_order_changes)
{
	top_ui_init(&ui);
	press('j');
	press('s');
	press('s');
	press('s');
	CHECK_INT(ui.controls.sort, TOP_SORT_P50);
	CHECK_STR(selected(), "GET /a");
	press('k');
	CHECK_STR(selected(), "SEND");
	for (int i = 0; i < TOP_SORTS; i++)
		press('s');
	CHECK_INT(ui.controls.sort, TOP_SORT_P50);
	top_ui_done(&ui);
}

TEST(a_filter_is_typed_and_cleared)
{
	top_ui_init(&ui);
	type("/qs");
	press(0xe9);
	press(0x8868);
	press(0x1f642);
	CHECK_STR(ui.controls.filter, "qsé表🙂");
	press(KEY_BACKSPACE);
	press(KEY_BACKSPACE);
	press(KEY_BACKSPACE);
	press(KEY_BACKSPACE);
	CHECK_STR(ui.controls.filter, "q");
	press(KEY_BACKSPACE);
	press(KEY_BACKSPACE);
	CHECK_STR(ui.controls.filter, "");
	type("send");
	press(KEY_ENTER);
	press(KEY_DOWN);
	CHECK_STR(selected(), "SEND");
	press(KEY_ESC);
	CHECK_STR(ui.controls.filter, "");
	CHECK_STR(selected(), "SEND");
	type("/x");
	press(KEY_UP); /* keys without a character are ignored */
	press(KEY_ESC);
	CHECK_STR(ui.controls.filter, "");
	CHECK(!ui.controls.is_typing);
	top_ui_done(&ui);
}

TEST(a_long_filter_is_cut_at_a_character)
{
	top_ui_init(&ui);
	type("/");
	for (int i = 0; i < 100; i++)
		press(0x8868);
	CHECK_INT(strlen(ui.controls.filter), 63);
	press(KEY_CTRL_U);
	CHECK_STR(ui.controls.filter, "");
	top_ui_done(&ui);
}

TEST(enter_explains_the_selected_operation_or_the_first)
{
	top_ui_init(&ui);
	press(KEY_ENTER);
	CHECK_INT(ui.controls.page, TOP_PAGE_EXPLAIN);
	CHECK_STR(ui.controls.title, "slowest request of web GET /a: 5 ms");
	CHECK_STR(selected(), "GET /a");
	press(KEY_ESC);
	CHECK_INT(ui.controls.page, TOP_PAGE_MAIN);
	press('j');
	press('e');
	CHECK_STR(ui.controls.title, "slowest request of web GET /b: none yet");
	top_ui_done(&ui);
}

TEST(an_explanation_scrolls_within_its_text)
{
	top_ui_init(&ui);
	press(KEY_ENTER);
	press(KEY_UP);
	CHECK_INT(ui.controls.scroll, 0);
	press(KEY_DOWN);
	press(KEY_DOWN);
	CHECK_INT(ui.controls.scroll, 1); /* five lines, of which four are shown */
	press(KEY_PAGE_UP);
	CHECK_INT(ui.controls.scroll, 0);
	press(KEY_END);
	CHECK_INT(ui.controls.scroll, 1);
	press(KEY_LEFT);
	press(KEY_RIGHT);
	CHECK_INT(ui.controls.shift, 8);
	press('q');
	CHECK_INT(ui.controls.page, TOP_PAGE_EXPLAIN);
	top_ui_done(&ui);
}

TEST(keys_of_an_empty_screen_do_nothing)
{
	static const struct top_view empty = { 0 };

	top_ui_init(&ui);
	for (uint32_t key = 1; key < 128; key++)
		if (key != 'q' && key != 'Q' && key != KEY_CTRL_C)
			CHECK(top_ui_key(&ui, &empty, key, 0));
	CHECK_STR(selected(), "none");
	top_ui_done(&ui);
}

TEST(q_and_ctrl_c_quit)
{
	top_ui_init(&ui);
	CHECK(!press('q'));
	CHECK(!press(KEY_CTRL_C));
	type("/q");
	CHECK(!press(KEY_CTRL_C));
	top_ui_done(&ui);
}

TEST(freeze_and_help_are_switched_on_and_off)
{
	top_ui_init(&ui);
	type("f");
	CHECK(ui.controls.is_frozen);
	type(" ");
	CHECK(!ui.controls.is_frozen);
	type("?");
	CHECK_INT(ui.controls.page, TOP_PAGE_HELP);
	type("h");
	CHECK_INT(ui.controls.page, TOP_PAGE_MAIN);
	top_ui_done(&ui);
}
