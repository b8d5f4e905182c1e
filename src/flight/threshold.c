/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/threshold.h"

#include <errno.h>

#include "base/quantile.h"
#include "base/text.h"

enum { ENTRIES_MAX = 256 };

struct threshold {
	nsec_t time;                 /* or, if 0: */
	struct quantiles *latencies; /* by entry */
};

int threshold_new(const char *text, struct threshold **ret, struct err *err)
{
	_cleanup_(threshold_freep) struct threshold *t = must_alloc(sizeof(*t));
	unsigned int percentile;

	if (parse_percentile(text, &percentile) == 0)
		t->latencies = quantiles_new(percentile, ENTRIES_MAX);
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
	quantiles_free(t->latencies);
	free(t);
}

uint64_t threshold_needs(const struct threshold *t)
{
	return t->latencies ? quantiles_needs(t->latencies) : 0;
}

bool threshold_exceeded(struct threshold *t, uint64_t entry, nsec_t latency, nsec_t *ret_limit)
{
	*ret_limit = t->latencies ? quantiles_add(t->latencies, entry, latency) : t->time;
	return *ret_limit && latency > *ret_limit;
}
