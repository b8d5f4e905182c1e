/* SPDX-License-Identifier: Apache-2.0 */
#include "top/operation.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
	CALLED_MAX = 12,                /* services in the name of an operation */
	TABLE_MAX = 4 * OPERATIONS_MAX, /* before operations_end_batch() */
};

static void operation_free(struct operation *op)
{
	if (!op)
		return;
	for (size_t i = 0; i < SECONDS_EXACT; i++)
		costs_done(&op->costs[i]);
	seconds_done(&op->seconds);
	vec_done(&op->batch);
	vec_done(&op->ages);
	free(op->service);
	free(op->name);
	free(op->explanation);
	free(op);
}

void operations_done(struct operations *operations)
{
	for (size_t i = 0; i < operations->items.count; i++)
		operation_free(operations->items.items[i]);
	vec_done(&operations->items);
	map_done(&operations->index);
	map_done(&operations->entries);
	operation_free(operations->rest);
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* The names of the services that a request called, other than its own. */
struct called {
	const char *names[CALLED_MAX];
	size_t count;
	uint64_t key; /* the same for each order of the names */
};

static void add_called(struct called *called, const char *name)
{
	for (size_t i = 0; i < called->count; i++)
		if (strcmp(called->names[i], name) == 0)
			return;
	if (called->count == CALLED_MAX)
		return;
	called->names[called->count++] = name;
	called->key += name_key(name);
}

/* A service that was not recorded has the address that was called. */
static void find_called(const struct span_set *spans, span_id root, struct called *ret)
{
	str_id own = span_set_at(spans, root)->service, last = own;

	*ret = (struct called){ 0 };
	for (span_id at = span_set_next(spans, root, root); at.i;
	     at = span_set_next(spans, root, at)) {
		const struct span *span = span_set_at(spans, at);
		bool is_outside = span->kind == SPAN_CLIENT && !span->first_child.i;
		str_id name = is_outside ? span->operation : span->service;

		if (name.i == last.i || (name.i == own.i && !is_outside))
			continue;
		last = name;
		add_called(ret, span_set_string(spans, name));
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "127.0.0.1:8080 > contacts, ledger" */
static char *name_of(const char *entry, struct called *called)
{
	char *name = must_strdup(entry);

	qsort(called->names, called->count, sizeof(called->names[0]), by_name);
	for (size_t i = 0; i < called->count; i++) {
		char *longer = must_printf("%s%s%s", name, i ? ", " : " > ", called->names[i]);

		free(name);
		name = longer;
	}
	return name;
}

/* Most requests have the names of the one before. */
static uint64_t entry_key(struct operations *operations, const struct span_set *spans,
			  const struct span *span)
{
	struct last_entry *last = &operations->last_entry;

	if (last->is_valid && last->service.i == span->service.i &&
	    last->operation.i == span->operation.i)
		return last->key;
	*last = (struct last_entry){ true, span->service, span->operation,
				     name_key(span_set_string(spans, span->service)) * 31 +
					     name_key(span_set_string(spans, span->operation)) };
	return last->key;
}

static struct operation *rest_of(struct operations *operations)
{
	if (!operations->rest) {
		operations->rest = must_alloc(sizeof(*operations->rest));
		operations->rest->service = must_strdup("");
		operations->rest->name = must_strdup("others");
		seconds_advance(&operations->rest->seconds, operations->second);
	}
	return operations->rest;
}

struct operation *operations_find(struct operations *operations, const struct span_set *spans,
				  span_id root)
{
	const struct span *span = span_set_at(spans, root);
	struct called called = { 0 };
	uint64_t entry = entry_key(operations, spans, span);

	if (span->source == SPAN_INFERRED)
		find_called(spans, root, &called);

	uint64_t key = entry ^ hash_number(called.key);
	const uint64_t *at = map_find(&operations->index, key);

	if (at)
		return operations->items.items[*at - 1];
	if (operations->items.count >= TABLE_MAX)
		return rest_of(operations);

	struct operation *op = must_alloc(sizeof(*op));

	op->key = key;
	op->entry = entry;
	op->service = must_strdup(span_set_string(spans, span->service));
	op->name = name_of(span_set_string(spans, span->operation), &called);
	op->last = operations->second;
	seconds_advance(&op->seconds, operations->second);
	*vec_push(&operations->items) = op;
	*map_insert(&operations->index, key) = operations->items.count;
	return op;
}

void operations_index_entries(struct operations *operations)
{
	struct operation **items = operations->items.items;

	map_done(&operations->entries);
	for (size_t i = 0; i < operations->items.count; i++) {
		uint64_t *at = map_insert(&operations->entries, items[i]->entry);

		if (!*at ||
		    seconds_total(&items[i]->seconds) > seconds_total(&items[*at - 1]->seconds))
			*at = i + 1;
	}
}

struct operation *operations_find_entry(struct operations *operations, const struct span_set *spans,
					span_id root)
{
	uint64_t entry = entry_key(operations, spans, span_set_at(spans, root));
	const uint64_t *at = map_find(&operations->entries, entry);

	if (at)
		return operations->items.items[*at - 1];

	struct operation *op = operations_find(operations, spans, root);

	if (op != operations->rest)
		*map_insert(&operations->entries, entry) = operations->items.count;
	return op;
}

static void advance(struct operation *op, uint64_t from, uint64_t second)
{
	uint64_t steps = second - from < SECONDS_EXACT ? second - from : SECONDS_EXACT;

	seconds_advance(&op->seconds, second);
	for (uint64_t i = 0; i < steps; i++)
		costs_done(&op->costs[(second - i) % SECONDS_EXACT]);
}

/* Removes the marked operations (NULL) from the table. */
static void compact(struct operations *operations)
{
	size_t kept = 0;

	map_done(&operations->index);
	for (size_t i = 0; i < operations->items.count; i++) {
		struct operation *op = operations->items.items[i];

		if (!op)
			continue;
		operations->items.items[kept++] = op;
		*map_insert(&operations->index, op->key) = kept;
	}
	operations->items.count = kept;
}

void operations_advance(struct operations *operations, uint64_t second)
{
	uint64_t from = operations->second;
	bool removed = false;

	if (second <= from)
		return;
	operations->second = second;
	if (operations->rest)
		advance(operations->rest, from, second);
	for (size_t i = 0; i < operations->items.count; i++) {
		struct operation *op = operations->items.items[i];

		advance(op, from, second);
		if (second - op->last <= TOP_SECONDS || op->in_flight)
			continue;
		operation_free(op);
		operations->items.items[i] = NULL;
		removed = true;
	}
	if (removed)
		compact(operations);
}

static int more_time_first(const void *a, const void *b)
{
	const struct operation *x = *(struct operation *const *)a,
			       *y = *(struct operation *const *)b;
	nsec_t xt = seconds_total(&x->seconds), yt = seconds_total(&y->seconds);

	if (xt != yt)
		return xt > yt ? -1 : 1;
	return x->last != y->last ? (x->last > y->last ? -1 : 1) : strcmp(x->name, y->name);
}

static void add_to_rest(struct operation *rest, const struct operation *op)
{
	seconds_merge(&rest->seconds, &op->seconds);
	for (size_t i = 0; i < SECONDS_EXACT; i++)
		costs_add(&rest->costs[i], &op->costs[i]);
	rest->last = op->last > rest->last ? op->last : rest->last;
	rest->in_flight += op->in_flight;
	rest->oldest = op->oldest > rest->oldest ? op->oldest : rest->oldest;
}

void operations_end_batch(struct operations *operations)
{
	operations->last_entry = (struct last_entry){ 0 };
	if (operations->items.count <= OPERATIONS_MAX)
		return;
	qsort(operations->items.items, operations->items.count, sizeof(operations->items.items[0]),
	      more_time_first);
	for (size_t i = OPERATIONS_MAX; i < operations->items.count; i++) {
		add_to_rest(rest_of(operations), operations->items.items[i]);
		operation_free(operations->items.items[i]);
		operations->items.items[i] = NULL;
	}
	compact(operations);
}
