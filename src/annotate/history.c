/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

enum { INDEX_BYTES = 32 }; /* of a span in the index */

/* A request with its tree.  Indexes are those of the tree, in which the root is the first. */
struct kept_request {
	nsec_t start, end;
	uint64_t key; /* of the root; 0: replaced by a later one */
	size_t bytes;
	VEC(struct request_span) spans;
	VEC(struct request_work) work;
	VEC(struct request_reply) replies;
};

struct history {
	size_t bytes, bytes_max;
	VEC(struct kept_request) all; /* in the order in which they were added */
	size_t first;                 /* index of the oldest; those before it are gone */
	struct map index;             /* id of any of their spans -> index in `all` + 1 */
};

struct history *history_new(size_t bytes_max)
{
	struct history *h = must_alloc(sizeof(*h));

	h->bytes_max = bytes_max;
	return h;
}

static void kept_request_done(struct kept_request *k)
{
	vec_done(&k->spans);
	vec_done(&k->work);
	vec_done(&k->replies);
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (size_t i = h->first; i < h->all.count; i++)
		kept_request_done(&h->all.items[i]);
	vec_done(&h->all);
	map_done(&h->index);
	free(h);
}

/* A batch, with what its parts are found by. */
struct batch_index {
	const struct requests *requests;
	uint32_t *local;    /* by span: number in its tree + 1 */
	uint32_t *replies;  /* replies ordered by the root of their span, */
	uint32_t *reply_at; /* and by root: where its replies begin */
};

static void batch_index_done(struct batch_index *b)
{
	free(b->local);
	free(b->replies);
	free(b->reply_at);
}

/* A counting sort of the replies by root. */
static void index_replies(struct batch_index *b)
{
	const struct requests *r = b->requests;

	b->reply_at = must_alloc((r->spans.count + 1) * sizeof(*b->reply_at));
	b->replies = must_alloc((r->replies.count + 1) * sizeof(*b->replies));
	for (size_t i = 0; i < r->replies.count; i++)
		b->reply_at[r->spans.items[r->replies.items[i].span].root + 1]++;
	for (size_t i = 1; i <= r->spans.count; i++)
		b->reply_at[i] += b->reply_at[i - 1];

	_cleanup_(freep) uint32_t *next = must_alloc((r->spans.count + 1) * sizeof(*next));

	memcpy(next, b->reply_at, (r->spans.count + 1) * sizeof(*next));
	for (size_t i = 0; i < r->replies.count; i++)
		b->replies[next[r->spans.items[r->replies.items[i].span].root]++] = i;
}

static void batch_index_init(struct batch_index *b, const struct requests *requests)
{
	*b = (struct batch_index){ .requests = requests };
	b->local = must_alloc((requests->spans.count + 1) * sizeof(*b->local));
	index_replies(b);
}

static void copy_span(const struct batch_index *b, uint32_t index, struct kept_request *k)
{
	const struct request_span *from = &b->requests->spans.items[index];
	struct request_span span = *from;

	span.parent = from->parent ? b->local[from->parent] : 0;
	span.first_child = from->first_child ? b->local[from->first_child] : 0;
	span.next = from->next ? b->local[from->next] : 0;
	span.root = 1;
	span.first_work = k->work.count;
	for (uint32_t i = 0; i < from->work_count; i++) {
		struct request_work work = b->requests->work.items[from->first_work + i];

		work.span = b->local[index];
		*vec_push(&k->work) = work;
	}
	if (span.end > k->end)
		k->end = span.end;
	*vec_push(&k->spans) = span;
}

static void copy_replies(const struct batch_index *b, uint32_t root, struct kept_request *k)
{
	for (uint32_t i = b->reply_at[root]; i < b->reply_at[root + 1]; i++) {
		struct request_reply reply = b->requests->replies.items[b->replies[i]];

		reply.span = b->local[reply.span];
		*vec_push(&k->replies) = reply;
	}
}

/* Room for exactly so many items: most lists are shorter than the least room of a vector. */
#define reserve(list, n) \
	((list)->items = must_realloc(NULL, ((list)->room = (n)) * sizeof((list)->items[0])))

static uint64_t key_of(const struct request_span *span)
{
	uint64_t key;

	memcpy(&key, span->id, sizeof(key));
	return key;
}

static struct kept_request copy_tree(const struct batch_index *b, uint32_t root)
{
	const struct request_span *top = &b->requests->spans.items[root];
	struct kept_request k = { .start = top->start, .end = top->end };
	uint32_t count = 0, work = 0;

	for (uint32_t i = root; i; i = requests_next(b->requests, root, i, NULL)) {
		b->local[i] = ++count;
		work += b->requests->spans.items[i].work_count;
	}
	reserve(&k.spans, count);
	reserve(&k.work, work);
	reserve(&k.replies, b->reply_at[root + 1] - b->reply_at[root]);
	for (uint32_t i = root; i; i = requests_next(b->requests, root, i, NULL))
		copy_span(b, i, &k);
	copy_replies(b, root, &k);
	k.key = key_of(top);
	k.bytes = sizeof(k) + k.spans.room * (sizeof(k.spans.items[0]) + INDEX_BYTES) +
		  k.work.room * sizeof(k.work.items[0]) +
		  k.replies.room * sizeof(k.replies.items[0]);
	return k;
}

static void drop(struct history *h, size_t at)
{
	struct kept_request *k = &h->all.items[at];

	for (size_t i = 0; i < k->spans.count; i++) {
		uint64_t key = key_of(&k->spans.items[i]);
		const uint64_t *owner = map_find(&h->index, key);

		if (owner && *owner == at + 1)
			map_remove(&h->index, key);
	}
	h->bytes -= k->bytes;
	kept_request_done(k);
	*k = (struct kept_request){ 0 };
}

static void index_spans(struct history *h, size_t at)
{
	const struct kept_request *k = &h->all.items[at];

	for (size_t i = 0; i < k->spans.count; i++)
		*map_insert(&h->index, key_of(&k->spans.items[i])) = at + 1;
}

/* Indexes in `all` change. */
static void move_up(struct history *h)
{
	vec_drop_first(&h->all, h->first);
	h->first = 0;
	for (size_t i = 0; i < h->all.count; i++)
		index_spans(h, i);
}

static void drop_oldest(struct history *h)
{
	drop(h, h->first++);
	if (h->first > h->all.count / 2 && h->first > 64)
		move_up(h);
}

/* The request that has a span with this id, by its index; SIZE_MAX if there is none. */
static size_t owner_of(const struct history *h, uint64_t key)
{
	const uint64_t *at = map_find(&h->index, key);

	return at ? *at - 1 : SIZE_MAX;
}

/* Whether a tree is what is left of one that the history has: the window forgets it in parts. */
static bool is_remnant(const struct kept_request *k, const struct kept_request *old)
{
	size_t parts = k->work.count + k->replies.count;

	if (k->key != old->key || k->spans.count < old->spans.count)
		return true;
	return k->spans.count == old->spans.count && parts < old->work.count + old->replies.count;
}

/* Drops the trees that a tree contains, which were separate before. */
static void drop_parts(struct history *h, const struct kept_request *k)
{
	for (size_t i = 0; i < k->spans.count; i++) {
		uint64_t key = key_of(&k->spans.items[i]);
		size_t owner = owner_of(h, key);

		if (owner != SIZE_MAX && h->all.items[owner].key == key)
			drop(h, owner);
	}
}

static void keep(struct history *h, struct kept_request *k)
{
	size_t owner = owner_of(h, k->key);

	if (owner != SIZE_MAX && is_remnant(k, &h->all.items[owner])) {
		kept_request_done(k);
		return;
	}
	drop_parts(h, k);
	*vec_push(&h->all) = *k;
	index_spans(h, h->all.count - 1);
	h->bytes += k->bytes;
	while (h->bytes > h->bytes_max && h->first < h->all.count)
		drop_oldest(h);
}

void history_add(struct history *h, const struct live_view *view)
{
	const struct requests *requests = view->requests;
	_cleanup_(batch_index_done) struct batch_index b;

	batch_index_init(&b, requests);
	for (size_t i = 0; i < requests->roots.count; i++) {
		uint32_t root = requests->roots.items[i];
		struct kept_request k;

		if (requests->spans.items[root].no_reply)
			continue;
		k = copy_tree(&b, root);
		keep(h, &k);
	}
}

void history_forget(struct history *h, nsec_t t)
{
	while (h->first < h->all.count && h->all.items[h->first].end < t)
		drop_oldest(h);
}

static void append(const struct kept_request *k, struct requests *ret)
{
	uint32_t base = ret->spans.count - 1, work = ret->work.count;

	*vec_push(&ret->roots) = base + 1;
	for (size_t i = 0; i < k->spans.count; i++) {
		struct request_span span = k->spans.items[i];

		span.parent += span.parent ? base : 0;
		span.first_child += span.first_child ? base : 0;
		span.next += span.next ? base : 0;
		span.root = base + 1;
		span.first_work += work;
		*vec_push(&ret->spans) = span;
	}
	for (size_t i = 0; i < k->work.count; i++) {
		struct request_work item = k->work.items[i];

		item.span += base;
		*vec_push(&ret->work) = item;
	}
	for (size_t i = 0; i < k->replies.count; i++) {
		struct request_reply item = k->replies.items[i];

		item.span += base;
		*vec_push(&ret->replies) = item;
	}
}

void history_find(const struct history *h, nsec_t from, nsec_t to, struct requests *ret)
{
	*ret = (struct requests){ 0 };
	*vec_push(&ret->spans) = (struct request_span){ 0 };
	for (size_t i = h->first; i < h->all.count; i++) {
		const struct kept_request *k = &h->all.items[i];

		if (k->key && k->end >= from && k->start <= to)
			append(k, ret);
	}
}
