/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/path_share.h"

#include <string.h>

#include "analyse/requests/sum.h"
#include "base/hash.h"

void path_shares_done(struct path_shares *shares)
{
	vec_done(&shares->items);
	map_done(&shares->index);
}

static void add_leaf(struct path_shares *shares, const struct span_set *spans,
		     const struct node *node, double weight)
{
	const struct span *span = span_set_at(spans, node->span);
	const char *service = node->thread.i ? request_service(spans->model, node->thread)
					     : span_set_string(spans, span->service);
	uint8_t state = node->state ? node->state : STATE_GAP;
	uint64_t key = hash_bytes(service, strlen(service)) ^ state;
	uint64_t *at = map_insert(&shares->index, key);

	if (!*at) {
		*vec_push(&shares->items) = (struct path_share){ service, state, 0 };
		*at = shares->items.count;
	}
	shares->items.items[*at - 1].time += account_weighted(node->time, weight);
}

void path_shares_add(struct path_shares *shares, const struct span_set *spans,
		     const struct account *account, double weight)
{
	for (size_t i = 1; i < account->nodes.count; i++)
		if (account->nodes.items[i].is_leaf)
			add_leaf(shares, spans, &account->nodes.items[i], weight);
}

static int larger_first(const void *a, const void *b)
{
	const struct path_share *x = a, *y = b;
	int names = strcmp(x->service, y->service);

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return names ? names : x->state - y->state;
}

void path_shares_finish(struct path_shares *shares)
{
	if (shares->items.count)
		qsort(shares->items.items, shares->items.count, sizeof(struct path_share),
		      larger_first);
}

void path_states_by_span(const struct span_set *spans, span_id root, struct map *ret)
{
	struct path path = { 0 };

	path_of_span(spans, root, &path);
	for (size_t i = 0; i < path.steps.count; i++) {
		const struct step *step = &path.steps.items[i];

		if (step->is_leaf)
			*map_insert(ret, (uint64_t)step->span.i << 8 | step->state) +=
				step->end - step->start;
	}
	path_done(&path);
}
