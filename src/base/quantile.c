/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least used key is on top of a heap.  A use only increments a count; the heap contains an
 * earlier count of each key, which is never above the current one.  If the count on top is out of
 * date, it is updated and sinks.  Each update is preceded by a use, so giving up a key takes
 * logarithmic time, amortised.
 */
#include "base/quantile.h"

#include <assert.h>
#include <string.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"

enum {
	SUB_BITS = 5, /* buckets per power of two: 32, so that one is at most 3 % wide */
	SUB_COUNT = 1 << SUB_BITS,
	BUCKETS = (64 - SUB_BITS + 1) * SUB_COUNT,
	ALL = 100 * 1000,     /* per cent, in the unit of a percentile */
	ABOVE_MIN = 10,       /* values above the percentile, on average, before it is used */
	HALVE_AFTER = 16,     /* times the number of values that are needed */
	RECOMPUTE_SHARE = 64, /* compute the percentile again after 1/64 more values */
	AGE_AFTER = 4096      /* values per key, on average, after which uses are halved */
};

struct histogram {
	uint64_t key;
	uint64_t uses; /* values; halved with those of all keys */
	uint64_t count;
	uint64_t recompute_at; /* count at which the limit is computed again */
	uint64_t limit;        /* the percentile; 0 if there are too few values */
	uint32_t low, high;    /* buckets that are not zero are in low..high */
	uint32_t buckets[BUCKETS];
};

struct rank {
	uint64_t uses; /* at most those of the histogram */
	struct histogram *histogram;
};

struct quantiles {
	unsigned int thousandths;
	size_t keys_max;
	uint64_t needs, age_in; /* values */
	VEC(struct rank) ranks; /* heap, least used first */
	struct map index;       /* key -> histogram */
};

struct quantiles *quantiles_new(unsigned int thousandths, size_t keys_max)
{
	struct quantiles *q = must_alloc(sizeof(*q));

	assert(thousandths > 0 && thousandths < ALL && keys_max > 0);
	q->thousandths = thousandths;
	q->keys_max = keys_max;
	q->needs = (uint64_t)ABOVE_MIN * ALL / (ALL - thousandths);
	q->age_in = keys_max * AGE_AFTER;
	return q;
}

void quantiles_free(struct quantiles *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->ranks.count; i++)
		free(q->ranks.items[i].histogram);
	vec_done(&q->ranks);
	map_done(&q->index);
	free(q);
}

uint64_t quantiles_needs(const struct quantiles *q)
{
	return q->needs;
}

static size_t bucket_of(uint64_t value)
{
	if (value < SUB_COUNT)
		return value;

	unsigned int shift = 63 - __builtin_clzll(value) - SUB_BITS;

	return (size_t)shift * SUB_COUNT + (value >> shift);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	if (bucket < SUB_COUNT)
		return bucket;

	unsigned int shift = bucket / SUB_COUNT - 1;

	return ((bucket % SUB_COUNT + SUB_COUNT + 1) << shift) - 1;
}

static uint64_t percentile_of(const struct histogram *h, unsigned int thousandths)
{
	uint64_t above = h->count * (ALL - thousandths) / ALL, sum = 0;
	size_t at = h->high + 1;

	while (at > h->low && (sum += h->buckets[--at]) <= above)
		;
	return bucket_end(at);
}

static void halve(struct histogram *h)
{
	h->count = 0;
	for (size_t i = h->low; i <= h->high; i++)
		h->count += h->buckets[i] /= 2;
}

static void histogram_add(struct histogram *h, const struct quantiles *q, uint64_t value)
{
	uint32_t bucket = bucket_of(value);

	h->buckets[bucket]++;
	h->count++;
	h->uses++;
	if (bucket < h->low)
		h->low = bucket;
	if (bucket > h->high)
		h->high = bucket;
	if (h->count < q->needs || h->count < h->recompute_at)
		return;
	if (h->count >= HALVE_AFTER * q->needs)
		halve(h);
	h->limit = percentile_of(h, q->thousandths);
	h->recompute_at = h->count + h->count / RECOMPUTE_SHARE + 1;
}

static bool is_used_less(const struct rank *a, const struct rank *b)
{
	return a->uses < b->uses;
}

/* The histogram to give up for a new key: afterwards, it is on top of the heap. */
static struct histogram *least_used(struct quantiles *q)
{
	struct rank *top = q->ranks.items;

	while (top->uses != top->histogram->uses) {
		top->uses = top->histogram->uses;
		heap_sift_down(q->ranks.items, q->ranks.count, 0, is_used_less);
	}
	return top->histogram;
}

static void histogram_clear(struct histogram *h, uint64_t key)
{
	if (h->count)
		memset(h->buckets + h->low, 0, (h->high - h->low + 1) * sizeof(h->buckets[0]));
	h->key = key;
	h->uses = h->count = h->recompute_at = h->limit = 0;
	h->low = BUCKETS - 1;
	h->high = 0;
}

static struct histogram *histogram_of(struct quantiles *q, uint64_t key)
{
	struct histogram *h = map_find_ptr(&q->index, key);

	if (h)
		return h;
	if (q->ranks.count < q->keys_max) {
		/* this is a heap: until a key is given up, all counts in it are 0 */
		h = must_alloc(sizeof(*h));
		*vec_push(&q->ranks) = (struct rank){ 0, h };
	} else {
		h = least_used(q);
		q->ranks.items[0].uses = 0;
		map_remove(&q->index, h->key);
	}
	histogram_clear(h, key);
	map_insert_ptr(&q->index, key, h);
	return h;
}

/* Halving keeps the order of the heap. */
static void age(struct quantiles *q)
{
	q->age_in = q->keys_max * AGE_AFTER;
	for (size_t i = 0; i < q->ranks.count; i++) {
		q->ranks.items[i].uses /= 2;
		q->ranks.items[i].histogram->uses /= 2;
	}
}

uint64_t quantiles_add(struct quantiles *q, uint64_t key, uint64_t value)
{
	struct histogram *h = histogram_of(q, key);
	uint64_t limit = h->limit;

	histogram_add(h, q, value);
	if (--q->age_in == 0)
		age(q);
	return limit;
}
