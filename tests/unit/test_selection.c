/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are reported, and which entry comes first. */
#include "load/selection.h"

#include "load/slowest.h"
#include "story.h"
#include "test.h"

/*
 * A request of 90 ns with a call of 20 ns, and one of 10 ns.  The service of all is string 20; the
 * operation of span n is string n.
 */
static void load_requests(struct loaded *loaded, nsec_t lost_at)
{
	struct story s = { 0 };

	story_begin(&s, 7, 0);
	story_run(&s, 7, 0, 1000);
	story_span(&s, 100, 190, 1, 0, 7);
	story_span(&s, 120, 140, 2, 1, 7);
	s.trace = 2;
	story_span(&s, 200, 210, 3, 0, 7);
	if (lost_at)
		story_add(&s, REC(LOSS, loss, lost_at + 5, 0, .start = lost_at, .end = lost_at + 5,
				  .count = 3));
	loaded->model = story_model(&s);
	loaded->spans.model = loaded->model;
	story_done(&s);
}

static void check_selected(const struct selection *selection, nsec_t lost_at, size_t count,
			   nsec_t first)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(selected_done) struct selected selected;

	load_requests(&loaded, lost_at);
	selection_find(&loaded, selection, &selected);
	CHECK_INT(selected.spans.count, count);
	if (count)
		CHECK_INT(span_set_at(&loaded.spans, selected.spans.items[0])->start, first);
}

static struct name_list one(const char *const *name)
{
	return (struct name_list){ name, 1 };
}

TEST(without_names_the_requests_of_clients_are_selected)
{
	check_selected(&(struct selection){ 0 }, 0, 2, 100);
}

TEST(a_name_selects_the_topmost_spans_with_it)
{
	static const char *const service[] = { "string 20" }, *const operation[] = { "string 2" },
				 *const none[] = { "string" };

	check_selected(&(struct selection){ .services = one(service) }, 0, 2, 100);
	check_selected(&(struct selection){ .operations = one(operation) }, 0, 1, 120);
	check_selected(&(struct selection){ .entries = one(operation) }, 0, 1, 120);
	check_selected(&(struct selection){ .operations = one(none) }, 0, 0, 0);
}

TEST(requests_are_selected_by_latency)
{
	check_selected(&(struct selection){ .above = "80ns" }, 0, 1, 100);
	check_selected(&(struct selection){ .above = "p95" }, 0, 2, 100);
	check_selected(&(struct selection){ .above = "91ns" }, 0, 0, 0);
}

TEST(a_malformed_latency_is_rejected)
{
	static const char *const good[] = { "p50", "p99.9", "20ms", "3" };
	static const char *const bad[] = { "", "p", "p100", "p9.", "95%", "p95x", "fast" };
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK_INT(selection_check(&(struct selection){ .above = good[i] }, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(selection_check(&(struct selection){ .above = bad[i] }, &err) < 0);
}

TEST(requests_with_lost_records_are_left_out_if_others_remain)
{
	check_selected(&(struct selection){ 0 }, 150, 1, 200);
	check_selected(&(struct selection){ .above = "80ns" }, 150, 0, 0);
	check_selected(&(struct selection){ 0 }, 500, 2, 100);
}

TEST(each_entry_has_its_own_percentiles_and_slow_requests)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(slowest_done) struct slowest found;
	struct err err;

	load_requests(&loaded, 0);
	CHECK_INT(slowest_find(&loaded, &(struct selection){ 0 }, 1, &found, &err), 0);
	CHECK_INT(found.entries.count, 2);
	CHECK_INT(found.list.count, 1);

	const struct request_entry *entry = &found.entries.items[found.list.items[0].entry - 1];

	CHECK_INT(entry->latency.count, 1);
	CHECK_INT(entry->latency.p95, 90);
	CHECK_INT(entry->slow, 1);
}
