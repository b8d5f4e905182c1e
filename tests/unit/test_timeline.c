/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "model/timeline.h"
#include "test.h"

struct item {
	nsec_t time;
	uint64_t value;
};

static void push(struct timeline *line, nsec_t time, uint64_t value)
{
	*(struct item *)timeline_push(line) = (struct item){ time, value };
}

TEST(an_empty_timeline_has_no_items)
{
	struct timeline line;
	timeline_pos pos;

	timeline_init(&line, sizeof(struct item));
	CHECK(!timeline_last(&line));
	CHECK(!timeline_find(&line, UINT64_MAX, &pos));
	CHECK(!timeline_first(&line, &pos));
	CHECK_INT(timeline_count(&line), 0);
	CHECK_INT(timeline_memory(&line), 0);
	timeline_forget(&line, UINT64_MAX);
	timeline_done(&line);
}

TEST(the_last_of_several_items_at_one_time_is_found)
{
	struct timeline line;
	timeline_pos pos;

	timeline_init(&line, sizeof(struct item));
	for (uint64_t i = 0; i < 100; i++)
		push(&line, i / 10, i);
	for (nsec_t t = 0; t < 10; t++) {
		CHECK(timeline_find(&line, t, &pos));
		CHECK_INT(((struct item *)timeline_at(&line, pos))->value, 10 * t + 9);
	}
	CHECK_INT(((struct item *)timeline_last(&line))->value, 99);
	timeline_done(&line);
}

TEST(the_first_item_at_or_after_a_time_is_found)
{
	enum { COUNT = 5000 };
	struct timeline line;
	timeline_pos pos;

	CHECK(!timeline_from(NULL, 0, &pos));
	timeline_init(&line, sizeof(struct item));
	CHECK(!timeline_from(&line, 0, &pos));
	for (uint64_t i = 0; i < COUNT; i++)
		push(&line, 10 + i / 10 * 10, i); /* ten items at 10, ten at 20, ... */
	for (nsec_t t = 0; t <= COUNT; t++) {
		CHECK(timeline_from(&line, t, &pos));
		CHECK_INT(((struct item *)timeline_at(&line, pos))->value,
			  t ? (t - 1) / 10 * 10 : 0);
	}
	CHECK(!timeline_from(&line, COUNT + 1, &pos));
	CHECK(!timeline_from(&line, UINT64_MAX, &pos));
	timeline_done(&line);
}

TEST(a_loop_over_a_time_range_visits_that_range_only)
{
	struct timeline line;
	uint64_t sum = 0, count = 0;

	TIMELINE_EACH_BETWEEN(struct item, item, (struct timeline *)NULL, 0, 100)
	count++;
	CHECK_INT(count, 0);
	timeline_init(&line, sizeof(struct item));
	for (uint64_t i = 0; i < 5000; i++)
		push(&line, i, i);
	TIMELINE_EACH_BETWEEN(struct item, item, &line, 2000, 2010)
	sum += item->value;
	CHECK_INT(sum, 20045);
	TIMELINE_EACH_BETWEEN(struct item, item, &line, 4000, 9000)
	{
		if (item->value == 4007)
			break;
		count++;
	}
	CHECK_INT(count, 7);
	timeline_done(&line);
}

TEST(a_cut_timeline_can_grow_again)
{
	enum { COUNT = 5000 };

	for (uint64_t keep = 0; keep <= COUNT; keep += keep < 20 ? 1 : 498) {
		struct timeline line;
		timeline_pos pos;

		timeline_init(&line, sizeof(struct item));
		for (uint64_t i = 0; i < COUNT; i++)
			push(&line, i, i);
		timeline_first(&line, &pos);
		for (uint64_t i = 0; i < keep; i++)
			if (!timeline_next(&line, &pos))
				pos.item++; /* after the last one */
		timeline_cut(&line, pos);
		CHECK_INT(timeline_count(&line), keep);
		CHECK(keep ? ((struct item *)timeline_last(&line))->value == keep - 1
			   : !timeline_last(&line));
		push(&line, COUNT, COUNT);
		CHECK_INT(timeline_count(&line), keep + 1);
		CHECK(timeline_find(&line, COUNT, &pos));
		CHECK_INT(((struct item *)timeline_at(&line, pos))->value, COUNT);
		timeline_done(&line);
	}
}

TEST(a_short_timeline_is_small)
{
	struct timeline line;

	timeline_init(&line, sizeof(struct item));
	push(&line, 1, 1);
	CHECK(timeline_memory(&line) <= 128);
	timeline_done(&line);
}

TEST(a_long_timeline_wastes_little_memory)
{
	struct timeline line;

	timeline_init(&line, sizeof(struct item));
	for (uint64_t i = 0; i < 1000000; i++)
		push(&line, i, i);
	CHECK(timeline_memory(&line) < 1010000 * sizeof(struct item));
	timeline_done(&line);
}

/* The expected items of a timeline. */
struct shadow {
	VEC(struct item) items;
	size_t first; /* earlier ones may be dropped */
};

/* The last item that is not after t, or -1. */
static ssize_t shadow_find(const struct shadow *s, nsec_t t)
{
	for (size_t i = s->items.count; i-- > 0;)
		if (s->items.items[i].time <= t)
			return i;
	return -1;
}

static void check_find(const struct timeline *line, const struct shadow *s, nsec_t t)
{
	ssize_t want = shadow_find(s, t);
	timeline_pos pos, other;

	if (want < (ssize_t)s->first) /* may be dropped */
		return;
	CHECK(timeline_find(line, t, &pos));
	CHECK_INT(((struct item *)timeline_at(line, pos))->value, s->items.items[want].value);
	other = pos;
	CHECK_INT(timeline_next(line, &other), want + 1 < (ssize_t)s->items.count);
	if (want + 1 < (ssize_t)s->items.count) {
		CHECK_INT(((struct item *)timeline_at(line, other))->value, want + 1);
		CHECK(timeline_prev(line, &other));
		CHECK(other.chunk == pos.chunk && other.item == pos.item);
	}
}

static void check_walk(const struct timeline *line, const struct shadow *s)
{
	size_t count = timeline_count(line), i = s->items.count - count;
	timeline_pos pos;
	bool more = timeline_first(line, &pos);

	CHECK(i <= s->first);
	for (; more; more = timeline_next(line, &pos))
		CHECK_INT(((struct item *)timeline_at(line, pos))->value, i++);
	CHECK_INT(i, s->items.count);
}

TEST(random_timelines_find_their_items)
{
	for (int seed = 1; seed <= 20 && !test_failures; seed++) {
		struct shadow s = { 0 };
		struct timeline line;
		nsec_t t = 0;

		srandom(seed);
		timeline_init(&line, sizeof(struct item));
		for (int i = 0; i < 3000; i++) {
			t += random() % 3;
			push(&line, t, i);
			*vec_push(&s.items) = (struct item){ t, i };
			if (random() % 200 == 0) {
				nsec_t old = random() % (t + 1);
				ssize_t at = shadow_find(&s, old);

				timeline_forget(&line, old);
				/* the item valid at that time is still there */
				s.first = at > (ssize_t)s.first ? (size_t)at : s.first;
			}
			check_find(&line, &s, random() % (t + 2));
		}
		check_walk(&line, &s);
		vec_done(&s.items);
		timeline_done(&line);
	}
}

TEST(a_sliding_window_has_constant_size)
{
	struct timeline line;
	size_t most = 0;

	timeline_init(&line, sizeof(struct item));
	for (uint64_t i = 0; i < 300000; i++) {
		push(&line, i, i);
		if (i % 1000 == 0 && i > 10000)
			timeline_forget(&line, i - 10000);
		if (i > 100000 && timeline_memory(&line) > most)
			most = timeline_memory(&line);
	}
	CHECK(most < 2 * 10000 * sizeof(struct item));
	CHECK(timeline_count(&line) >= 10000);
	timeline_done(&line);
}
