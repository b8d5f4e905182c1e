/* SPDX-License-Identifier: Apache-2.0 */
#include "top/costs.h"

#include <string.h>

#include "base/hash.h"

void costs_done(struct costs *costs)
{
	vec_done(&costs->shares);
	vec_done(&costs->causes);
	*costs = (struct costs){ 0 };
}

/*
 * The item with this key, or a new one with all zero.  A full list gives the index of its smallest
 * item, which is replaced if it is smaller than `time`; otherwise NULL.
 */
#define item_of(list, max, key_, time_) \
	({ \
		__typeof__((list)->items) found_ = NULL, least_ = NULL; \
		for (size_t i_ = 0; i_ < (list)->count && !found_; i_++) { \
			__typeof__((list)->items) item_ = &(list)->items[i_]; \
			if (item_->key == (key_)) \
				found_ = item_; \
			else if (!least_ || item_->time < least_->time) \
				least_ = item_; \
		} \
		if (!found_ && (list)->count < (max)) \
			found_ = memset(vec_push(list), 0, sizeof(*found_)); \
		else if (!found_ && least_->time < (time_)) \
			found_ = memset(least_, 0, sizeof(*found_)); \
		if (found_) \
			found_->key = (key_); \
		found_; \
	})

static void add_share(struct costs *costs, uint64_t key, const struct cost_share *share)
{
	struct cost_share *to = item_of(&costs->shares, COST_SHARES, key, share->time);

	if (!to)
		return;
	to->time += share->time;
	to->state = share->state;
	memcpy(to->service, share->service, sizeof(to->service));
}

static void add_cause(struct costs *costs, const struct cost_cause *cause)
{
	struct cost_cause *to = item_of(&costs->causes, COST_CAUSES, cause->key, cause->time);

	if (!to)
		return;
	to->time += cause->time;
	to->is_pattern = cause->is_pattern;
	to->is_lost |= cause->is_lost;
}

void costs_add_accounts(struct costs *costs, const struct path_shares *shares,
			const struct cause_sum *causes)
{
	costs->total += causes->total;
	costs->accounts += causes->accounts;
	for (size_t i = 0; i < shares->items.count; i++) {
		const struct path_share *s = &shares->items.items[i];
		struct cost_share share = { .time = s->time, .state = s->state };

		strncpy(share.service, s->service, sizeof(share.service) - 1);
		add_share(costs, hash_bytes(s->service, strlen(s->service)) ^ s->state, &share);
	}
	for (size_t i = 0; i < causes->groups.count; i++) {
		const struct cause_group *g = &causes->groups.items[i];

		add_cause(costs,
			  &(struct cost_cause){ g->key, g->time, g->is_pattern, g->is_lost });
	}
}

void costs_add(struct costs *costs, const struct costs *other)
{
	costs->total += other->total;
	costs->accounts += other->accounts;
	costs->idle += other->idle;
	for (size_t i = 0; i < other->shares.count; i++)
		add_share(costs, other->shares.items[i].key, &other->shares.items[i]);
	for (size_t i = 0; i < other->causes.count; i++)
		add_cause(costs, &other->causes.items[i]);
}

static int larger_share(const void *a, const void *b)
{
	const struct cost_share *x = a, *y = b;
	int names = strcmp(x->service, y->service);

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return names ? names : x->state - y->state;
}

static int larger_cause(const void *a, const void *b)
{
	const struct cost_cause *x = a, *y = b;

	if (x->is_pattern != y->is_pattern)
		return x->is_pattern ? -1 : 1;
	if (x->is_lost != y->is_lost)
		return x->is_lost ? 1 : -1;
	return x->time > y->time ? -1 : x->time < y->time;
}

void costs_sort(struct costs *costs)
{
	if (costs->shares.count)
		qsort(costs->shares.items, costs->shares.count, sizeof(struct cost_share),
		      larger_share);
	if (costs->causes.count)
		qsort(costs->causes.items, costs->causes.count, sizeof(struct cost_cause),
		      larger_cause);
}
