/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/slow.h"

#include <errno.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/quantile.h"
#include "relay/slow_rules.h"

enum {
	RECENT = 4096,        /* operations with a known rule; a power of two */
	OPERATIONS_MAX = 1024 /* with a percentile */
};

struct recent {
	uint64_t key;                   /* of service and operation */
	const struct slow_limit *limit; /* NULL if unused */
};

struct durations {
	unsigned int percentile;
	struct quantiles *by_operation;
};

struct slow {
	struct slow_limit standard;
	slow_rules rules;
	struct durations durations[SLOW_PERCENTILES_MAX];
	size_t percentiles;
	struct recent recent[RECENT];
};

static struct durations *durations_of(struct slow *slow, unsigned int percentile)
{
	for (size_t i = 0; i < slow->percentiles; i++)
		if (slow->durations[i].percentile == percentile)
			return &slow->durations[i];
	return NULL;
}

/* Adds a percentile if it is new; false if there are too many. */
static bool add_percentile(const struct slow_limit *limit, unsigned int *list, size_t *count)
{
	if (limit->kind != SLOW_PERCENTILE)
		return true;
	for (size_t i = 0; i < *count; i++)
		if (list[i] == limit->percentile)
			return true;
	if (*count == SLOW_PERCENTILES_MAX)
		return false;
	list[(*count)++] = limit->percentile;
	return true;
}

/* Keeps the durations of percentiles that stay, frees the others and adds new ones. */
static void set_percentiles(struct slow *slow, const unsigned int *list, size_t count)
{
	struct durations durations[SLOW_PERCENTILES_MAX];

	for (size_t i = 0; i < count; i++) {
		struct durations *old = durations_of(slow, list[i]);

		durations[i] =
			(struct durations){ list[i], old ? TAKE(old->by_operation)
							 : quantiles_new(list[i], OPERATIONS_MAX) };
	}
	for (size_t i = 0; i < slow->percentiles; i++)
		quantiles_free(slow->durations[i].by_operation);
	memcpy(slow->durations, durations, count * sizeof(durations[0]));
	slow->percentiles = count;
}

/* The percentiles of a default and of rules; false if there are too many. */
static bool list_percentiles(const struct slow_limit *standard, const slow_rules *rules,
			     unsigned int *list, size_t *count)
{
	bool fits = add_percentile(standard, list, count);

	for (size_t i = 0; i < rules->count; i++)
		fits &= add_percentile(&rules->items[i].limit, list, count);
	return fits;
}

static int parse_standard(const char *text, struct slow_limit *ret, struct err *err)
{
	if (slow_limit_parse(text, ret) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "a threshold is a time such as 5ms, a percentile such as p95, 'all' or "
		       "'none', not '%s'",
		       text);
}

int slow_new(const char *standard, struct slow **ret, struct err *err)
{
	_cleanup_(slow_freep) struct slow *slow = must_alloc(sizeof(*slow));
	int r = slow_change(slow, &(struct slow_change){ .standard = standard }, err);

	if (r < 0)
		return r;
	*ret = TAKE(slow);
	return 0;
}

void slow_free(struct slow *slow)
{
	if (!slow)
		return;
	set_percentiles(slow, NULL, 0);
	vec_done(&slow->rules);
	free(slow);
}

static void rules_done(slow_rules *rules)
{
	vec_done(rules);
}

int slow_change(struct slow *slow, const struct slow_change *change, struct err *err)
{
	_cleanup_(rules_done) slow_rules parsed = { 0 };
	slow_rules *rules = change->name ? &parsed : &slow->rules;
	struct slow_limit standard = slow->standard;
	unsigned int list[SLOW_PERCENTILES_MAX];
	size_t count = 0;
	int r = change->standard ? parse_standard(change->standard, &standard, err) : 0;

	if (r == 0 && change->name)
		r = slow_rules_parse(change->name, change->rules, &parsed, err);
	if (r < 0)
		return r;
	if (!list_percentiles(&standard, rules, list, &count))
		return err_set(err, -EINVAL, "'%s': more than %d different percentiles",
			       change->name ?: change->standard, SLOW_PERCENTILES_MAX);
	set_percentiles(slow, list, count);
	slow->standard = standard;
	if (change->name) {
		slow_rules old = slow->rules;

		slow->rules = parsed;
		parsed = old; /* freed below */
	}
	memset(slow->recent, 0, sizeof(slow->recent));
	return 0;
}

int slow_set_rules(struct slow *slow, const char *name, struct view text, struct err *err)
{
	return slow_change(slow, &(struct slow_change){ .name = name, .rules = text }, err);
}

int slow_load(struct slow *slow, const char *path, struct err *err)
{
	_cleanup_(file_unmap) struct view text = { 0 };
	int r = file_map(path, &text, err);

	return r < 0 ? r : slow_set_rules(slow, path, text, err);
}

/* Hashes have a random key, so that no sender can make two operations share one. */
static uint64_t key_of(struct view service, struct view operation)
{
	return hash_number(hash_bytes(service.s, service.len)) ^
	       hash_bytes(operation.s, operation.len);
}

static const struct slow_limit *limit_of(struct slow *slow, struct view service,
					 struct view operation, uint64_t key)
{
	struct recent *recent = &slow->recent[key % RECENT];

	if (!recent->limit || recent->key != key) {
		const struct slow_rule *rule = slow_rules_find(&slow->rules, service, operation);

		*recent = (struct recent){ key, rule ? &rule->limit : &slow->standard };
	}
	return recent->limit;
}

bool slow_exceeded(struct slow *slow, struct view service, struct view operation, nsec_t duration,
		   nsec_t *ret_limit)
{
	uint64_t key = key_of(service, operation);
	const struct slow_limit *limit = limit_of(slow, service, operation, key);

	*ret_limit = 0;
	switch (limit->kind) {
	case SLOW_NONE:
		return false;
	case SLOW_ALL:
		return true;
	case SLOW_TIME:
		*ret_limit = limit->time;
		return duration > limit->time;
	case SLOW_PERCENTILE:
		*ret_limit = quantiles_add(durations_of(slow, limit->percentile)->by_operation, key,
					   duration);
		return *ret_limit && duration > *ret_limit;
	}
	return false;
}
