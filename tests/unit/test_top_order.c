/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_order.h"
#include "test.h"

static const struct top_share a_shares[] = { { "db", 'D', 0.8 }, { "web", 'R', 0.2 } };
static const struct top_share b_shares[] = { { "db", 'D', 0.2 }, { "db", 'R', 0.5 } };
static const struct top_cause a_causes[] = { { 0.8, "db: fsync" } };
static const struct top_cause b_causes[] = { { 0.5, "db: runs" }, { 0.2, "db: fsync" } };

static const struct top_row rows[] = {
	{ .service = "web",
	  .operation = "GET /b",
	  .rate = 5,
	  .p50 = 7,
	  .p95 = 8,
	  .p99 = 90,
	  .total = 100,
	  .account = { a_shares, 2, a_causes, 1 } },
	{ .service = "web",
	  .operation = "GET /a",
	  .rate = 5,
	  .p50 = 9,
	  .p95 = 9,
	  .p99 = 9,
	  .total = 300,
	  .account = { b_shares, 2, b_causes, 2 } },
	{ .service = "Mail", .operation = "SEND", .rate = 9, .p50 = 8, .p95 = 10, .p99 = 10 },
};
static const struct top_view view = { .rows = rows, .row_count = 3 };

/* First letters of the operations and of the services of those that are listed. */
static const char *order(enum top_sort sort, const char *filter)
{
	static char letters[16];
	top_rows list = { 0 };
	size_t n = 0;

	top_order(&view, sort, filter, &list);
	for (size_t i = 0; i < list.count; i++)
		letters[n++] = list.items[i] == &rows[0]   ? 'b'
			       : list.items[i] == &rows[1] ? 'a'
							   : 'm';
	letters[n] = '\0';
	vec_done(&list);
	return letters;
}

TEST(operations_are_sorted_by_any_column_largest_first)
{
	CHECK_STR(order(TOP_SORT_TIME, ""), "abm");
	CHECK_STR(order(TOP_SORT_P50, ""), "amb");
	CHECK_STR(order(TOP_SORT_P95, ""), "mab");
	CHECK_STR(order(TOP_SORT_P99, ""), "bma");
}

TEST(equal_operations_are_in_the_order_of_their_names)
{
	CHECK_STR(order(TOP_SORT_RATE, ""), "mab");
}

TEST(a_filter_finds_services_and_operations_in_any_case)
{
	CHECK_STR(order(TOP_SORT_TIME, "get"), "ab");
	CHECK_STR(order(TOP_SORT_TIME, "mail"), "m");
	CHECK_STR(order(TOP_SORT_TIME, "nothing"), "");
}

TEST(accounts_are_added_up_weighted_by_time)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	top_rows list = { 0 };

	top_order(&view, TOP_SORT_TIME, "", &list);

	struct top_account sum = top_sum(&list, arena);

	CHECK_INT(sum.share_count, 3);
	CHECK_STR(sum.shares[0].service, "db");
	CHECK_INT(sum.shares[0].state, 'R');
	CHECK_INT(sum.shares[0].share * 1000 + 0.5, 375);
	CHECK_INT(sum.shares[1].share * 1000 + 0.5, 350); /* 0.8 of 100 and 0.2 of 300, of 400 */
	CHECK_INT(sum.shares[2].share * 1000 + 0.5, 50);
	CHECK_INT(sum.cause_count, 2);
	CHECK_STR(sum.causes[0].text, "db: runs");
	CHECK_INT(sum.causes[1].share * 1000 + 0.5, 350);
	vec_done(&list);
}

TEST(the_sum_of_no_accounts_is_empty)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	top_rows none = { 0 };
	struct top_account sum = top_sum(&none, arena);

	CHECK_INT(sum.share_count, 0);
	CHECK_INT(sum.cause_count, 0);
}
