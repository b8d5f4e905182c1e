/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/governor.h"

#define PERIOD (2 * NSEC_PER_SEC)
#define SETTLING (5 * NSEC_PER_SEC)
#define PATIENCE_MIN (10 * NSEC_PER_SEC)
#define PATIENCE_MAX (640 * NSEC_PER_SEC)

/* A gap this long ago is joined with the next one: annotations are seldom made later. */
#define GAP_MEMORY (30 * NSEC_PER_SEC)
/* The recorder obeys a moment later. */
#define GAP_MARGIN NSEC_PER_SEC

static const double calm_share = 0.7;

void governor_init(struct governor *g, nsec_t now)
{
	*g = (struct governor){ .patience = PATIENCE_MIN, .settled = now + SETTLING };
}

void governor_set_budget(struct governor *g, double budget)
{
	if (budget == g->budget)
		return;
	g->budget = budget;
	g->patience = PATIENCE_MIN;
	g->calm = 0;
	g->restored = 0;
}

/* The share of one CPU that a part used since the last period, on the clock of its own samples. */
static double share_of(struct cpu_usage *base, const struct cpu_usage *usage)
{
	struct cpu_usage before = *base;

	*base = *usage;
	if (!before.time || usage->time <= before.time)
		return 0;
	if (usage->cpu < before.cpu) /* a new process */
		before.cpu = 0;
	return (double)(usage->cpu - before.cpu) / (double)(usage->time - before.time);
}

static void begin_gap(struct detail_gap *gap, nsec_t now)
{
	if (!gap->from || gap->to + GAP_MEMORY < now)
		gap->from = now;
	gap->to = UINT64_MAX;
}

static void set_level(struct governor *g, unsigned int level, nsec_t now)
{
	bool before[DETAIL_COUNT];

	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++)
		before[d] = governor_sheds(g, d);
	g->level = level;
	g->calm = 0;
	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++) {
		if (!before[d] && governor_sheds(g, d))
			begin_gap(&g->gaps[d], now);
		else if (before[d] && !governor_sheds(g, d))
			g->gaps[d].to = now + GAP_MARGIN;
	}
}

static bool shed(struct governor *g, nsec_t now)
{
	unsigned int level = g->level + 1;

	while (level < DETAIL_COUNT && !g->recorded[level])
		level++;
	if (level == DETAIL_COUNT)
		return false;
	if (!g->restored || now - g->restored >= g->patience)
		g->patience = PATIENCE_MIN;
	else if (g->patience < PATIENCE_MAX)
		g->patience *= 2;
	set_level(g, level, now);
	return true;
}

static bool restore(struct governor *g, nsec_t now)
{
	unsigned int level = g->level;

	if (!level)
		return false;
	do
		level--;
	while (level && !g->recorded[level]);
	set_level(g, level, now);
	g->restored = now;
	return true;
}

bool governor_update(struct governor *g, nsec_t now, const struct cpu_usage usage[GOVERNOR_PARTS])
{
	nsec_t begun = g->period;
	double used = 0;

	if (begun && now < begun + PERIOD)
		return false;
	for (int i = 0; i < GOVERNOR_PARTS; i++)
		used += share_of(&g->base[i], &usage[i]);
	g->used = used;
	g->period = now;
	if (!begun)
		return false;
	if (g->budget > 0 && used > g->budget) {
		g->calm = 0;
		return now >= g->settled && shed(g, now);
	}
	if (g->budget > 0 && used > calm_share * g->budget) {
		g->calm = 0;
		return false;
	}
	g->calm += now - begun;
	return (g->budget <= 0 || g->calm >= g->patience) && restore(g, now);
}

void governor_restart(struct governor *g, nsec_t now)
{
	set_level(g, 0, now);
	g->settled = now + SETTLING;
	g->period = 0;
	g->base[GOVERNOR_RECORDER] = (struct cpu_usage){ 0 };
}

bool governor_has_gap(const struct governor *g, enum detail detail, nsec_t from, nsec_t to)
{
	const struct detail_gap *gap = &g->gaps[detail];

	return gap->from && from < gap->to && to > gap->from;
}
