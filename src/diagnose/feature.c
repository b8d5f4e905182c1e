/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/feature.h"

#include <string.h>

static const struct {
	char letter;
	const char *name;
} features[FEATURE_COUNT] = {
	[FEATURE_RUNNING] = { 'R', "running" }, [FEATURE_DISK] = { 'D', "disk" },
	[FEATURE_NETWORK] = { 'N', "network" }, [FEATURE_TIMER] = { 'T', "timer" },
	[FEATURE_LOCK] = { 'L', "lock" },       [FEATURE_PROCESS] = { 'I', "process" },
	[FEATURE_INPUT] = { 'U', "input" },     [FEATURE_UNKNOWN] = { '?', "unknown" },
	[FEATURE_READY] = { 'C', "ready" },     [FEATURE_THROTTLED] = { 'Q', "throttled" },
	[FEATURE_IRQ] = { 'X', "interrupts" },  [FEATURE_TOTAL] = { 0, "total" },
	[FEATURE_SKIPPED] = { 0, "skipped" },   [FEATURE_QUEUEING] = { 0, "queueing" },
};

char feature_letter(enum span_feature feature)
{
	return features[feature].letter;
}

const char *feature_name(enum span_feature feature)
{
	return features[feature].name;
}

static enum span_feature feature_of_letter(uint8_t letter)
{
	for (enum span_feature f = 0; f < FEATURE_READY; f++)
		if (features[f].letter == letter)
			return f;
	return FEATURE_UNKNOWN;
}

static void add_interval(const struct kept_span *sample, const struct own_interval *interval,
			 nsec_t ret[FEATURE_COUNT])
{
	for (uint32_t i = 0; i < interval->run_count; i++) {
		const struct state_run *run = &sample->runs[interval->run + i];

		ret[feature_of_letter(run->letter)] += run->time;
	}
	ret[FEATURE_READY] += interval->ready;
	ret[FEATURE_THROTTLED] += interval->throttled;
	ret[FEATURE_IRQ] += interval->irq;
	ret[FEATURE_TOTAL] += interval->total;
	ret[FEATURE_QUEUEING] += interval->queued;
}

void features_of(const struct kept_span *sample, uint32_t interval, nsec_t ret[FEATURE_COUNT])
{
	memset(ret, 0, FEATURE_COUNT * sizeof(ret[0]));
	if (interval != INTERVAL_ALL) {
		add_interval(sample, &sample->intervals[interval], ret);
		return;
	}
	for (uint32_t i = 0; i < sample->interval_count; i++)
		add_interval(sample, &sample->intervals[i], ret);
	ret[FEATURE_QUEUEING] += sample->queueing;
}
