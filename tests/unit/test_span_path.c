/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Span trees with their expected path; and those of other projects, if their files exist.
 */
#include <dirent.h>
#include <yyjson.h>

#include "analyse/span_path.h"
#include "build.h"
#include "read/merge.h"
#include "test.h"

static const char *no_string(const void *arg, uint32_t id)
{
	return "";
}

static const struct source nowhere = { .get_string = no_string };

static void add_span(struct model *model, uint64_t id, uint64_t parent, nsec_t start, nsec_t end,
		     uint8_t flags)
{
	struct record_span r = {
		.head = { .time = end, .kind = RECORD_SPAN, .words = sizeof(r) / 8 },
		.start = start,
		.flags = flags
	};

	memcpy(r.span, &id, sizeof(id));
	memcpy(r.parent, &parent, sizeof(parent));
	model_add(model, &nowhere, &r.head);
}

static span_id find_span(const struct model *model, uint64_t id)
{
	for (uint32_t i = 1; i < model_span_count(model); i++)
		if (memcmp(model_span(model, (span_id){ i })->id, &id, sizeof(id)) == 0)
			return (span_id){ i };
	return (span_id){ 0 };
}

/* As "C 60-101, E 50-60", from the end to the start. */
static char *path_text(const struct model *model, span_id root)
{
	struct span_path path = { 0 };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	span_path_find(&(struct span_set){ .model = model }, root, &path);
	for (size_t i = 0; i < path.items.count; i++) {
		const struct span_section *s = &path.items.items[i];

		fprintf(file, "%s%c %" PRIu64 "-%" PRIu64, i ? ", " : "",
			model_span(model, s->span)->id[0], s->start, s->end);
	}
	fclose(file);
	span_path_done(&path);
	return text;
}

struct tree_span {
	char id, parent;
	nsec_t start, end;
	uint8_t flags;
};

static void check_tree(const struct tree_span *spans, size_t count, const char *want)
{
	_cleanup_(model_freep) struct model *model = model_new();

	for (size_t i = 0; i < count; i++)
		add_span(model, spans[i].id, spans[i].parent, spans[i].start, spans[i].end,
			 spans[i].flags);
	model_finish(model);
	_cleanup_(freep) char *got = path_text(model, find_span(model, spans[0].id));
	CHECK_STR(got, want);
}

/* The first span is the root; each is { id, parent, start, end, flags }. */
#define TREE(want, ...) \
	do { \
		const struct tree_span spans_[] = { __VA_ARGS__ }; \
		check_tree(spans_, ARRAY_LEN(spans_), want); \
	} while (0)

TEST(a_span_alone_is_its_own_path)
{
	TREE("A 1-31", { 'A', 0, 1, 31, 0 });
}

TEST(consecutive_children_are_all_on_the_path)
{
	TREE("A 60-101, C 50-60, A 40-50, B 20-40, A 1-20", { 'A', 0, 1, 101, 0 },
	     { 'B', 'A', 20, 40, 0 }, { 'C', 'A', 50, 60, 0 });
}

TEST(the_last_concurrent_child_to_end_is_on_the_path)
{
	TREE("A 60-100, C 20-60, A 0-20", { 'A', 0, 0, 100, 0 }, { 'B', 'A', 10, 50, 0 },
	     { 'C', 'A', 20, 60, 0 });
	/* one within the other */
	TREE("A 60-100, B 10-60, A 0-10", { 'A', 0, 0, 100, 0 }, { 'B', 'A', 10, 60, 0 },
	     { 'C', 'A', 20, 50, 0 });
}

TEST(adjacent_children_leave_no_time_to_their_parent)
{
	TREE("D 60-90, C 30-60, B 0-30", { 'A', 0, 0, 90, 0 }, { 'B', 'A', 0, 30, 0 },
	     { 'C', 'A', 30, 60, 0 }, { 'D', 'A', 60, 90, 0 });
}

TEST(the_last_child_to_begin_wins_a_tie_of_ends)
{
	TREE("A 50-60, C 30-50, A 20-30, D 15-20, A 0-15", { 'A', 0, 0, 60, 0 },
	     { 'B', 'A', 10, 50, 0 }, { 'C', 'A', 30, 50, 0 }, { 'D', 'A', 15, 20, 0 });
}

TEST(children_are_clipped_to_their_parents)
{
	TREE("B 25-30, C 15-25, A 1-15", { 'A', 0, 1, 30, 0 }, { 'B', 'A', 15, 35, 0 },
	     { 'C', 'B', 10, 25, 0 });
	/* before, after, and on both sides */
	TREE("A 20-40, B 10-20", { 'A', 0, 10, 40, 0 }, { 'B', 'A', 0, 20, 0 });
	TREE("B 30-40, A 10-30", { 'A', 0, 10, 40, 0 }, { 'B', 'A', 30, 99, 0 });
	TREE("B 10-40", { 'A', 0, 10, 40, 0 }, { 'B', 'A', 0, 99, 0 });
	/* a grandchild is clipped to its clipped parent */
	TREE("B 35-40, C 30-35, A 10-30", { 'A', 0, 10, 40, 0 }, { 'B', 'A', 30, 99, 0 },
	     { 'C', 'B', 0, 35, 0 }, { 'D', 'B', 50, 60, 0 });
}

TEST(children_outside_of_the_parent_are_omitted_with_their_descendants)
{
	TREE("A 1-31", { 'A', 0, 1, 31, 0 }, { 'B', 'A', 40, 80, 0 }, { 'C', 'B', 10, 20, 0 });
	TREE("A 10-31", { 'A', 0, 10, 31, 0 }, { 'B', 'A', 2, 10, 0 }, { 'C', 'A', 31, 40, 0 });
}

TEST(follows_from_spans_are_not_on_the_path)
{
	TREE("A 1-31", { 'A', 0, 1, 31, 0 }, { 'B', 'A', 10, 20, SPAN_FOLLOWS },
	     { 'C', 'B', 12, 14, 0 });
	TREE("A 20-31, C 10-20, A 1-10", { 'A', 0, 1, 31, 0 }, { 'B', 'A', 10, 25, SPAN_FOLLOWS },
	     { 'C', 'A', 10, 20, 0 });
}

TEST(children_of_no_length_take_no_time)
{
	TREE("A 0-30", { 'A', 0, 0, 30, 0 }, { 'B', 'A', 30, 30, 0 }, { 'C', 'A', 0, 0, 0 });
	TREE("A 0-30", { 'A', 0, 0, 30, 0 }, { 'B', 'A', 10, 10, 0 });
	TREE("", { 'A', 0, 30, 30, 0 }, { 'B', 'A', 10, 40, 0 });
}

TEST(a_small_overlap_counts_as_a_sequence)
{
	/* each keeps its length and moves to an earlier time */
	TREE("A 608-1000, D 308-608, C 208-308, B 8-208, A 0-8", { 'A', 0, 0, 1000, 0 },
	     { 'B', 'A', 10, 210, 0 }, { 'C', 'A', 209, 309, 0 }, { 'D', 'A', 308, 608, 0 });
	/* with its descendants */
	TREE("A 400-500, C 200-400, B 150-200, D 50-150, B 0-50", { 'A', 0, 0, 500, 0 },
	     { 'B', 'A', 2, 202, 0 }, { 'D', 'B', 52, 152, 0 }, { 'C', 'A', 200, 400, 0 });
	/* but not before its parent */
	TREE("A 400-500, C 200-400, B 0-200", { 'A', 0, 0, 500, 0 }, { 'B', 'A', 0, 202, 0 },
	     { 'C', 'A', 200, 400, 0 });
	/* with a gap before it, the next one stays */
	TREE("A 400-500, C 200-400, B 100-200, A 50-100, D 10-50, A 0-10", { 'A', 0, 0, 500, 0 },
	     { 'D', 'A', 10, 50, 0 }, { 'B', 'A', 101, 201, 0 }, { 'C', 'A', 200, 400, 0 });
	/* more than a hundredth of the parent: they ran concurrently */
	TREE("A 400-500, C 200-400, A 0-200", { 'A', 0, 0, 500, 0 }, { 'B', 'A', 10, 206, 0 },
	     { 'C', 'A', 200, 400, 0 });
}

TEST(a_small_overlap_anywhere_does_not_hide_a_sibling)
{
	/* a long call before a short one, */
	TREE("A 1005-2000, C 1000-1005, B 99-1000, A 0-99", { 'A', 0, 0, 2000, 0 },
	     { 'B', 'A', 100, 1001, 0 }, { 'C', 'A', 1000, 1005, 0 });
	/* a short one before a long one, */
	TREE("A 1010-2000, C 110-1010, B 99-110, A 0-99", { 'A', 0, 0, 2000, 0 },
	     { 'B', 'A', 100, 111, 0 }, { 'C', 'A', 110, 1010, 0 });
	/* between others, */
	TREE("A 1500-2000, D 1200-1500, A 1105-1200, C 1100-1105, B 999-1100, A 900-999, E "
	     "500-900, A 0-500",
	     { 'A', 0, 0, 2000, 0 }, { 'E', 'A', 500, 900, 0 }, { 'B', 'A', 1000, 1101, 0 },
	     { 'C', 'A', 1100, 1105, 0 }, { 'D', 'A', 1200, 1500, 0 });
	/* at the end of their parent, */
	TREE("C 1995-2000, B 994-1995, A 0-994", { 'A', 0, 0, 2000, 0 }, { 'B', 'A', 995, 1996, 0 },
	     { 'C', 'A', 1995, 2000, 0 });
	/* and further down */
	TREE("A 1900-2000, F 1800-1900, C 1000-1800, B 99-1000, F 50-99, A 0-50",
	     { 'A', 0, 0, 2000, 0 }, { 'F', 'A', 50, 1900, 0 }, { 'B', 'F', 100, 1001, 0 },
	     { 'C', 'F', 1000, 1800, 0 });
}

TEST(short_overlapping_calls_are_not_a_sequence)
{
	TREE("A 600-1000, D 510-600, A 0-510", { 'A', 0, 0, 1000, 0 }, { 'B', 'A', 500, 520, 0 },
	     { 'D', 'A', 510, 600, 0 });
	/* in a chain, each by half: every other one is waited for */
	TREE("A 520-10000, D 500-520, A 490-500, B 480-490, A 0-480", { 'A', 0, 0, 10000, 0 },
	     { 'B', 'A', 480, 490, 0 }, { 'C', 'A', 490, 510, 0 }, { 'D', 'A', 500, 520, 0 });
}

TEST(the_path_descends_and_returns)
{
	TREE("A 95-100, B 80-95, D 60-80, E 40-60, B 20-40, C 10-20, A 0-10", { 'A', 0, 0, 100, 0 },
	     { 'C', 'A', 10, 20, 0 }, { 'B', 'A', 20, 95, 0 }, { 'E', 'B', 40, 60, 0 },
	     { 'D', 'B', 60, 80, 0 }, { 'F', 'B', 30, 70, 0 });
}

TEST(the_order_of_the_input_does_not_matter)
{
	const struct tree_span spans[] = { { 'A', 0, 0, 100, 0 },   { 'B', 'A', 10, 50, 0 },
					   { 'C', 'A', 20, 60, 0 }, { 'D', 'C', 30, 60, 0 },
					   { 'E', 'A', 60, 70, 0 }, { 'F', 'B', 0, 99, 0 } };

	for (size_t from = 0; from < ARRAY_LEN(spans); from++) {
		_cleanup_(model_freep) struct model *model = model_new();

		for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
			const struct tree_span *s = &spans[(5 * i + from) % ARRAY_LEN(spans)];

			add_span(model, s->id, s->parent, s->start, s->end, s->flags);
		}
		model_finish(model);
		_cleanup_(freep) char *got = path_text(model, find_span(model, 'A'));
		CHECK_STR(got, "A 70-100, E 60-70, D 30-60, C 20-30, A 0-20");
	}
}

TEST(a_span_below_the_root_has_its_own_path)
{
	_cleanup_(model_freep) struct model *model = model_new();

	add_span(model, 'A', 0, 0, 20, 0);
	add_span(model, 'B', 'A', 10, 50, 0);
	add_span(model, 'C', 'B', 30, 40, 0);
	model_finish(model);
	_cleanup_(freep) char *got = path_text(model, find_span(model, 'B'));
	CHECK_STR(got, "B 40-50, C 30-40, B 10-30");
}

/* Each one is shorter than its parent by one at both ends. */
TEST(a_chain_of_100000_spans_needs_no_stack_and_little_time)
{
	enum { DEPTH = 100000 };
	_cleanup_(model_freep) struct model *model = model_new();
	struct span_path path = { 0 };
	nsec_t total = 0;

	for (uint64_t i = DEPTH; i > 0; i--)
		add_span(model, i, i - 1, i, 2 * DEPTH + 2 - i, 0);
	model_finish(model);
	span_path_find(&(struct span_set){ .model = model }, find_span(model, 1), &path);
	CHECK_INT(path.items.count, 2 * DEPTH - 1);
	for (size_t i = 0; i < path.items.count; i++) {
		total += path.items.items[i].end - path.items.items[i].start;
		CHECK(i == 0 || path.items.items[i].end == path.items.items[i - 1].start);
	}
	CHECK_INT(total, 2 * DEPTH);
	span_path_done(&path);
}

TEST(many_children_take_little_time)
{
	enum { COUNT = 200000 };
	_cleanup_(model_freep) struct model *model = model_new();
	struct span_path path = { 0 };

	for (uint64_t i = 1; i <= COUNT; i++)
		add_span(model, i + 1, 1, 10 * i, 10 * i + 5, 0);
	add_span(model, 1, 0, 1, 10 * COUNT + 100, 0);
	model_finish(model);
	span_path_find(&(struct span_set){ .model = model }, find_span(model, 1), &path);
	CHECK_INT(path.items.count, 2 * COUNT + 1);
	span_path_done(&path);
}

TEST(cycles_of_parents_are_broken)
{
	_cleanup_(model_freep) struct model *model = model_new();
	size_t roots = 0;

	add_span(model, 'A', 'A', 0, 10, 0); /* its own parent */
	add_span(model, 'B', 'D', 0, 30, 0);
	add_span(model, 'C', 'B', 0, 20, 0);
	add_span(model, 'D', 'C', 5, 15, 0);
	add_span(model, 'E', 'D', 6, 7, 0); /* a child of the cycle */
	model_finish(model);
	for (uint32_t i = 1; i < model_span_count(model); i++)
		roots += !model_span(model, (span_id){ i })->parent.i;
	CHECK_INT(roots, 2);
	for (uint32_t i = 1; i < model_span_count(model); i++) {
		_cleanup_(freep) char *got = path_text(model, (span_id){ i });
		CHECK(strlen(got) > 0);
	}
}

/* A large cycle takes no longer than a chain. */
TEST(a_large_cycle_takes_little_time)
{
	enum { COUNT = 100000 };
	_cleanup_(model_freep) struct model *model = model_new();
	size_t roots = 0;

	for (uint64_t i = 1; i <= COUNT; i++)
		add_span(model, i, i == 1 ? COUNT : i - 1, i, 2 * COUNT + 2 - i, 0);
	model_finish(model);
	for (uint32_t i = 1; i < model_span_count(model); i++)
		roots += !model_span(model, (span_id){ i })->parent.i;
	CHECK_INT(roots, 1);
}

TEST(a_span_in_two_inputs_counts_once)
{
	_cleanup_(model_freep) struct model *model = model_new();

	add_span(model, 'A', 0, 0, 20, 0);
	add_span(model, 'B', 'A', 5, 10, 0);
	add_span(model, 'B', 'A', 5, 10, 0);
	model_finish(model);
	_cleanup_(freep) char *got = path_text(model, find_span(model, 'A'));
	CHECK_STR(got, "A 10-20, B 5-10, A 0-5");
	CHECK_INT(model_span_count(model), 3);
}

/* Random trees: sections follow each other without gap from the end to the start, within their
 * spans. */
static void check_sections(const struct model *model, span_id root)
{
	const struct span *top = model_span(model, root);
	struct span_path path = { 0 };
	nsec_t at = top->end;

	span_path_find(&(struct span_set){ .model = model }, root, &path);
	for (size_t i = 0; i < path.items.count; i++) {
		const struct span_section *s = &path.items.items[i];
		const struct span *span = model_span(model, s->span);

		CHECK(s->end == at && s->start < s->end);
		CHECK(s->start >= span->start && s->end <= span->end);
		at = s->start;
		for (span_id up = s->span; up.i != root.i; up = model_span(model, up)->parent)
			CHECK(!(model_span(model, up)->flags & SPAN_FOLLOWS));
	}
	CHECK_INT(at, top->start);
	span_path_done(&path);
}

TEST(sections_cover_random_trees)
{
	srandom(7);
	for (int round = 0; round < 500; round++) {
		_cleanup_(model_freep) struct model *model = model_new();
		int count = 1 + random() % 40;

		for (uint64_t i = 1; i <= (uint64_t)count; i++) {
			nsec_t start = random() % 100;

			add_span(model, i, i == 1 ? 0 : 1 + random() % (i - 1), start,
				 start + random() % 60, random() % 8 ? 0 : SPAN_FOLLOWS);
		}
		model_finish(model);
		for (uint32_t i = 1; i < model_span_count(model); i++)
			check_sections(model, (span_id){ i });
	}
}

/*
 * From here on, cases in files: those in tests/data, and those of other projects if they
 * exist.
 */

static const char *text_of(yyjson_val *object, const char *key)
{
	return yyjson_get_str(yyjson_obj_get(object, key)) ?: "";
}

static uint64_t number_of(yyjson_val *value)
{
	return yyjson_get_uint(value);
}

static char *expected_text(yyjson_val *sections)
{
	char *text = NULL;
	size_t size, i, count;
	yyjson_val *s;
	FILE *file = open_memstream(&text, &size);

	yyjson_arr_foreach(sections, i, count, s)
		fprintf(file, "%s%s %" PRIu64 "-%" PRIu64, i ? ", " : "",
			yyjson_get_str(yyjson_arr_get(s, 0)), number_of(yyjson_arr_get(s, 1)),
			number_of(yyjson_arr_get(s, 2)));
	fclose(file);
	return text;
}

static void check_ui_case(yyjson_val *test)
{
	yyjson_val *spans = yyjson_obj_get(test, "spans"), *s;
	_cleanup_(model_freep) struct model *model = model_new();
	size_t i, count;

	yyjson_arr_foreach(spans, i, count, s)
	{
		nsec_t start = number_of(yyjson_obj_get(s, "start"));
		bool follows = strcmp(text_of(s, "ref"), "FOLLOWS_FROM") == 0;

		add_span(model, text_of(s, "id")[0], text_of(s, "parent")[0], start,
			 start + number_of(yyjson_obj_get(s, "duration")),
			 follows ? SPAN_FOLLOWS : 0);
	}
	model_finish(model);
	_cleanup_(freep) char *got =
		path_text(model, find_span(model, text_of(yyjson_arr_get_first(spans), "id")[0]));
	_cleanup_(freep) char *want = expected_text(yyjson_obj_get(test, "expected"));
	CHECK_STR(got, want);
}

static void check_ui_cases(const char *data)
{
	_cleanup_(freep) char *path = must_printf("%s/span-critical-path.json", data);
	yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
	size_t i, count = 0;
	yyjson_val *test;

	if (!doc)
		return;
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "cases"), i, count, test)
		check_ui_case(test);
	CHECK_INT(count, 5);
	yyjson_doc_free(doc);
}

static struct model *load_model(char *path)
{
	_cleanup_(merge_freep) struct merge *merge = NULL;
	struct model *model = model_new();
	const struct source *source;
	const struct record *r;
	struct err err = { "" };

	CHECK_INT(merge_open((char *[]){ path, NULL }, NULL, &merge, &err), 0);
	while (merge && merge_next(merge, &r, &source, &err) > 0)
		model_add(model, source, r);
	model_finish(model);
	CHECK_STR(err.text, "");
	return model;
}

/* Time of "[service] operation" on the path. */
static nsec_t time_of(const struct model *model, const struct span_path *path, const char *name)
{
	nsec_t total = 0;

	for (size_t i = 0; i < path->items.count; i++) {
		const struct span_section *s = &path->items.items[i];
		const struct span *span = model_span(model, s->span);
		_cleanup_(freep) char *own =
			must_printf("[%s] %s", model_string(model, span->service),
				    model_string(model, span->operation));

		total += strcmp(own, name) == 0 ? s->end - s->start : 0;
	}
	return total;
}

static void check_crisp_case(yyjson_val *expected, char *path_name)
{
	_cleanup_(model_freep) struct model *model = load_model(path_name);
	struct span_path path = { 0 };
	nsec_t sum = 0, total = 0;
	yyjson_val *key, *value;
	size_t i, count;

	for (uint32_t k = 1; k < model_span_count(model); k++)
		if (!model_span(model, (span_id){ k })->parent.i)
			span_path_find(&(struct span_set){ .model = model }, (span_id){ k }, &path);
	yyjson_obj_foreach(expected, i, count, key, value)
	{
		nsec_t want = NSEC_PER_USEC * number_of(value);

		CHECK_INT(time_of(model, &path, yyjson_get_str(key)), want);
		sum += want;
	}
	for (i = 0; i < path.items.count; i++)
		total += path.items.items[i].end - path.items.items[i].start;
	CHECK_INT(total, sum); /* so the others have none */
	CHECK(count > 0);
	if (test_failures)
		printf("# in %s\n", path_name);
	span_path_done(&path);
}

/* Returns the number of cases in the directory, each a Jaeger trace with its result beside it. */
static int check_crisp_cases(const char *data, const char *name)
{
	_cleanup_(freep) char *directory = must_printf("%s/%s", data, name);
	DIR *dir = opendir(directory);
	int count = 0;

	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		if (!strstr(e->d_name, ".json"))
			continue;
		_cleanup_(freep) char *path = must_printf("%s/%s", directory, e->d_name);
		yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
		yyjson_val *testing = yyjson_obj_get(yyjson_doc_get_root(doc), "testing");

		check_crisp_case(yyjson_is_arr(testing)
					 ? yyjson_arr_get_first(testing)
					 : yyjson_obj_get(testing, "opTimeExclusive"),
				 path);
		yyjson_doc_free(doc);
		count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

TEST(all_rules_at_once_give_the_path)
{
	/* E is outside, F follows, D starts before its parent B */
	TREE("A 95-100, C 70-95, A 50-70, B 40-50, D 20-40, A 1-20", { 'A', 0, 1, 100, 0 },
	     { 'B', 'A', 20, 50, 0 }, { 'C', 'A', 70, 95, 0 }, { 'D', 'B', 10, 40, 0 },
	     { 'E', 'A', 120, 140, 0 }, { 'F', 'A', 55, 65, SPAN_FOLLOWS },
	     { 'G', 'F', 57, 60, 0 });
	check_ui_cases(getenv("SONDE_SHARED_DATA") ?: "");
}

TEST(traces_in_files_give_their_time_by_operation)
{
	int others;

	CHECK_INT(check_crisp_cases(getenv("SONDE_TEST_DATA"), "span-paths"), 9);
	others = check_crisp_cases(getenv("SONDE_SHARED_DATA") ?: "", "crisp");
	CHECK(others == 0 || others == 15);
}
