/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/threshold.h"

#include <errno.h>
#include <string.h>

#include "analyse/latency.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

enum {
	SUB_BITS = 5, /* buckets per power of two: 32, so that one is at most 3 % wide */
	SUB_COUNT = 1 << SUB_BITS,
	BUCKETS = (64 - SUB_BITS + 1) * SUB_COUNT,
	ENTRIES_MAX = 256,
	ABOVE_MIN = 10,      /* requests above the percentile, on average, before it is used */
	HALVE_AFTER = 16,    /* times the number of requests that are needed */
	PER_CENT = 1000,     /* unit of a percentile */
	RECOMPUTE_SHARE = 64 /* compute the percentile again after 1/64 more requests */
};

struct histogram {
	uint64_t entry;
	uint64_t count;
	uint64_t recompute_at; /* count at which the limit is computed again */
	nsec_t limit;          /* the percentile; 0 if there are too few requests */
	uint32_t buckets[BUCKETS];
};

struct threshold {
	nsec_t time; /* or, if 0: */
	unsigned int percentile;
	uint64_t needs;
	VEC(struct histogram *) histograms;
	struct map index; /* entry -> index in `histograms` */
};

int threshold_new(const char *text, struct threshold **ret, struct err *err)
{
	_cleanup_(threshold_freep) struct threshold *t = must_alloc(sizeof(*t));

	t->percentile = latency_parse_percentile(text);
	if (t->percentile)
		t->needs = (uint64_t)ABOVE_MIN * 100 * PER_CENT / (100 * PER_CENT - t->percentile);
	else if (parse_time(text, &t->time) < 0 || !t->time)
		return err_set(err, -EINVAL,
			       "--when requires a time such as 500ms or a percentile such as "
			       "p99.9, not '%s'",
			       text);
	*ret = TAKE(t);
	return 0;
}

void threshold_free(struct threshold *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->histograms.count; i++)
		free(t->histograms.items[i]);
	vec_done(&t->histograms);
	map_done(&t->index);
	free(t);
}

uint64_t threshold_needs(const struct threshold *t)
{
	return t->needs;
}

static size_t bucket_of(nsec_t latency)
{
	if (latency < SUB_COUNT)
		return latency;

	unsigned int shift = 63 - __builtin_clzll(latency) - SUB_BITS;

	return (size_t)shift * SUB_COUNT + (latency >> shift);
}

/* The largest latency of a bucket. */
static nsec_t bucket_end(size_t bucket)
{
	if (bucket < SUB_COUNT)
		return bucket;

	unsigned int shift = bucket / SUB_COUNT - 1;

	return ((bucket % SUB_COUNT + SUB_COUNT + 1) << shift) - 1;
}

static nsec_t percentile_of(const struct histogram *h, unsigned int percentile)
{
	uint64_t above = h->count * (100 * PER_CENT - percentile) / (100 * PER_CENT), sum = 0;
	size_t at = BUCKETS;

	while (at > 0 && (sum += h->buckets[--at]) <= above)
		;
	return bucket_end(at);
}

static void halve(struct histogram *h)
{
	h->count = 0;
	for (size_t i = 0; i < BUCKETS; i++)
		h->count += h->buckets[i] /= 2;
}

static void histogram_add(struct histogram *h, const struct threshold *t, nsec_t latency)
{
	h->buckets[bucket_of(latency)]++;
	h->count++;
	if (h->count < t->needs || h->count < h->recompute_at)
		return;
	if (h->count >= HALVE_AFTER * t->needs)
		halve(h);
	h->limit = percentile_of(h, t->percentile);
	h->recompute_at = h->count + h->count / RECOMPUTE_SHARE + 1;
}

/* The histogram to give up for a new entry. */
static size_t fewest(const struct threshold *t)
{
	size_t least = 0;

	for (size_t i = 1; i < t->histograms.count; i++)
		if (t->histograms.items[i]->count < t->histograms.items[least]->count)
			least = i;
	return least;
}

static struct histogram *histogram_of(struct threshold *t, uint64_t entry)
{
	const uint64_t *found = map_find(&t->index, entry);
	size_t at = t->histograms.count;

	if (found)
		return t->histograms.items[*found];
	if (at < ENTRIES_MAX) {
		*vec_push(&t->histograms) = must_alloc(sizeof(struct histogram));
	} else {
		at = fewest(t);
		map_remove(&t->index, t->histograms.items[at]->entry);
		memset(t->histograms.items[at], 0, sizeof(struct histogram));
	}
	t->histograms.items[at]->entry = entry;
	*map_insert(&t->index, entry) = at;
	return t->histograms.items[at];
}

bool threshold_exceeded(struct threshold *t, uint64_t entry, nsec_t latency, nsec_t *ret_limit)
{
	*ret_limit = t->time;
	if (t->time)
		return latency > t->time;

	struct histogram *h = histogram_of(t, entry);

	*ret_limit = h->limit;
	histogram_add(h, t, latency);
	return *ret_limit && latency > *ret_limit;
}
