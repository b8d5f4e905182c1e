/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are kept while the window forgets them in parts. */
#include "annotate/history.h"

#include <string.h>

#include "test.h"

static void add_span(struct requests *r, uint8_t id, uint32_t parent)
{
	uint32_t index = r->spans.count;

	*vec_push(&r->spans) = (struct request_span){
		.parent = parent, .root = index, .start = 10, .end = 20, .id = { id }
	};
	if (!parent) {
		*vec_push(&r->roots) = index;
		return;
	}
	r->spans.items[index].root = r->spans.items[parent].root;
	r->spans.items[index].next = r->spans.items[parent].first_child;
	r->spans.items[parent].first_child = index;
}

/* A batch with the requests of these ids: each the child of the one before if `nested`. */
static void add_batch(struct history *h, const char *ids, bool nested)
{
	_cleanup_(requests_done) struct requests r = { 0 };

	*vec_push(&r.spans) = (struct request_span){ 0 };
	for (size_t i = 0; ids[i]; i++)
		add_span(&r, ids[i], nested ? i : 0);
	history_add(h, &(struct live_view){ .requests = &r });
}

/* The ids of what is kept, with a / before each root. */
static void check_kept(const struct history *h, const char *want)
{
	_cleanup_(requests_done) struct requests r;
	char text[32] = "";
	size_t size = 0;

	history_find(h, 0, 100, &r);
	for (size_t i = 1; i < r.spans.count; i++) {
		if (!r.spans.items[i].parent)
			text[size++] = '/';
		text[size++] = r.spans.items[i].id[0];
	}
	CHECK_STR(text, want);
}

TEST(a_request_that_grew_replaces_what_was_kept)
{
	_cleanup_(history_freep) struct history *h = history_new(1 << 20);

	add_batch(h, "a", true);
	add_batch(h, "abc", true);
	check_kept(h, "/abc");
}

TEST(what_is_left_of_a_request_does_not_replace_it)
{
	_cleanup_(history_freep) struct history *h = history_new(1 << 20);

	add_batch(h, "abc", true);
	add_batch(h, "ab", true);
	check_kept(h, "/abc");
	add_batch(h, "bc", true); /* without its root */
	check_kept(h, "/abc");
}

TEST(requests_that_are_joined_later_are_kept_once)
{
	_cleanup_(history_freep) struct history *h = history_new(1 << 20);

	add_batch(h, "ab", false);
	check_kept(h, "/a/b");
	add_batch(h, "ab", true);
	check_kept(h, "/ab");
}

TEST(a_request_that_was_dropped_can_come_back)
{
	_cleanup_(history_freep) struct history *h = history_new(1 << 20);

	add_batch(h, "ab", true);
	history_forget(h, 21);
	check_kept(h, "");
	add_batch(h, "b", true);
	check_kept(h, "/b");
}
