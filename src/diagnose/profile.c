/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/profile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sort.h"
#include "diagnose/profile_internal.h"

/* Times below a tenth of a request, and below this, are not compared. */
#define MOST_FLOOR (100 * NSEC_PER_USEC)
#define LEAST_FLOOR (5 * NSEC_PER_USEC)

enum { THREADS_MAX = 64 };

static bool is_shorter(const nsec_t *a, const nsec_t *b)
{
	return *a < *b;
}

static void learn_durations(const struct group *g, struct profile *p)
{
	_cleanup_(freep) nsec_t *times = must_alloc(g->count * sizeof(*times));

	for (size_t i = 0; i < g->count; i++) {
		const struct kept_span *s = g->samples[i];

		times[i] = s->duration;
		p->mean_duration += (double)s->duration / g->count;
		p->cpu += (double)s->cpu / g->count;
		p->disk_bytes += (double)s->disk_bytes / g->count;
		p->network_bytes += (double)s->network_bytes / g->count;
	}
	sort_items(times, g->count, is_shorter);
	p->p50 = times[(g->count - 1) / 2];
	p->p95 = times[(g->count * 95 + 99) / 100 - 1];
	p->p99 = times[(g->count * 99 + 99) / 100 - 1];
}

static nsec_t floor_of(nsec_t typical)
{
	nsec_t floor = typical / 10;

	return floor > MOST_FLOOR ? MOST_FLOOR : floor < LEAST_FLOOR ? LEAST_FLOOR : floor;
}

/*
 * The number of intervals that most samples have: concurrent children overlap in some traces of a
 * type, and not in others.  0 if there is none, or too many.
 */
static uint32_t usual_interval_count(const struct group *g)
{
	uint32_t counts[INTERVALS_MAX + 1] = { 0 }, best = 0;

	for (size_t i = 0; i < g->count; i++)
		if (g->samples[i]->has_states && g->samples[i]->interval_count <= INTERVALS_MAX)
			counts[g->samples[i]->interval_count]++;
	for (uint32_t n = 1; n <= INTERVALS_MAX; n++)
		if (counts[n] > counts[best])
			best = n;
	return counts[best] >= LEAST_OBSERVATIONS ? best : 0;
}

static struct profile learn_profile(const struct group *g, enum key_kind kind, struct arena *arena)
{
	const struct kept_span *first = g->samples[0];
	const struct learn_options *o = &g->baseline->options;
	struct profile p = { .kind = kind,
			     .key = first->keys[kind],
			     .service = first->service,
			     .operation = first->operation,
			     .samples = g->count };

	p.observed = *map_find(&g->baseline->counts[kind], p.key);
	if (kind == KEY_POSITION) {
		p.type = first->type;
		p.position = first->position;
	}
	learn_durations(g, &p);
	p.band = (struct band_options){ floor_of(p.p50), o->sigma, o->cv };
	if (g->count < LEAST_OBSERVATIONS)
		return p;
	if (kind != KEY_OPERATION)
		p.interval_count = usual_interval_count(g);
	p.intervals = arena_alloc(arena, p.interval_count * sizeof(p.intervals[0]) + 1);
	for (uint32_t i = 0; i < p.interval_count; i++)
		patterns_learn(g, i, p.interval_count, arena, &p.intervals[i]);
	bands_learn(g, &p);
	return p;
}

/* Learns a part of a split: the samples with one of its values. */
static void learn_part(const struct group *g, const struct profile *whole, struct split *split,
		       uint32_t part, struct arena *arena)
{
	_cleanup_(freep) const struct kept_span **samples = must_alloc(g->count * sizeof(*samples));
	struct group of_part = { g->baseline, samples, 0 };
	struct profile *profile = arena_new_of(arena, struct profile);

	for (size_t i = 0; i < g->count; i++)
		if (split_part_of(split, g->samples[i]) == (int)part)
			samples[of_part.count++] = g->samples[i];
	*profile = learn_profile(&of_part, whole->kind, arena);
	profile->observed = of_part.count;
	profile->part_of = split;
	profile->part = part;
	split->parts[part].profile = profile;
}

static struct profile learn_group(const struct group *g, enum key_kind kind, struct arena *arena)
{
	struct profile p = learn_profile(g, kind, arena);
	struct split found, *split;

	if (g->count < LEAST_OBSERVATIONS || !split_find(g, &p.band, &found))
		return p;
	split = arena_new_of(arena, struct split);
	*split = found;
	for (uint32_t i = 0; i < split->part_count; i++)
		learn_part(g, &p, split, i, arena);
	p.split = split;
	return p;
}

const struct profile *profile_part(const struct profile *p, const struct kept_span *span)
{
	int part = p->split ? split_part_of(p->split, span) : -1;

	return part >= 0 ? p->split->parts[part].profile : p;
}

struct keyed_span {
	uint64_t key;
	const struct kept_span *sample;
};

static bool is_key_first(const struct keyed_span *a, const struct keyed_span *b)
{
	return a->key < b->key;
}

/* One key, to be learned by any thread. */
struct profile_job {
	struct group group;
	enum key_kind kind;
};

struct building {
	VEC(struct profile_job) jobs;
	struct profile *profiles; /* one per job */
	atomic_size_t next;
};

/* Divides all samples by one kind of key. */
static void add_jobs(struct building *b, const struct baseline *baseline, enum key_kind kind,
		     struct arena *arena)
{
	size_t count = baseline->samples.count;
	_cleanup_(freep) struct keyed_span *all = must_alloc(count * sizeof(*all) + 1);
	const struct kept_span **samples = arena_alloc(arena, count * sizeof(*samples) + 1);
	struct profile_job job = { .kind = kind, .group.baseline = baseline };

	for (size_t i = 0; i < count; i++)
		all[i] = (struct keyed_span){ baseline->samples.items[i].keys[kind],
					      &baseline->samples.items[i] };
	sort_items(all, count, is_key_first); /* stable: by identity within a key */
	for (size_t i = 0, first = 0; i < count; i++) {
		samples[i] = all[i].sample;
		if (i + 1 < count && all[i + 1].key == all[i].key)
			continue;
		job.group.samples = &samples[first];
		job.group.count = i + 1 - first < KEPT_MAX ? i + 1 - first : KEPT_MAX;
		*vec_push(&b->jobs) = job;
		first = i + 1;
	}
}

static void *build(void *building)
{
	struct building *b = building;
	struct arena *arena = arena_new();
	size_t at;

	while ((at = atomic_fetch_add(&b->next, 1)) < b->jobs.count)
		b->profiles[at] =
			learn_group(&b->jobs.items[at].group, b->jobs.items[at].kind, arena);
	return arena;
}

static void run_jobs(struct building *b, unsigned int threads, struct profiles *ret)
{
	pthread_t others[THREADS_MAX];
	unsigned int started = 0;
	void *arena;

	while (started + 1 < threads && started < THREADS_MAX &&
	       pthread_create(&others[started], NULL, build, b) == 0)
		started++;
	*vec_push(&ret->arenas) = build(b);
	while (started) {
		pthread_join(others[--started], &arena);
		*vec_push(&ret->arenas) = arena;
	}
}

void profiles_build(const struct baseline *baseline, unsigned int threads, struct profiles *ret)
{
	struct building b = { 0 };
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		add_jobs(&b, baseline, kind, arena);
	b.profiles = must_alloc(b.jobs.count * sizeof(*b.profiles) + 1);
	run_jobs(&b, threads, ret);
	for (size_t i = 0; i < b.jobs.count; i++) {
		*vec_push(&ret->items) = b.profiles[i];
		*map_insert(&ret->index[b.profiles[i].kind], b.profiles[i].key) = ret->items.count;
	}
	free(b.profiles);
	vec_done(&b.jobs);
}

void profiles_done(struct profiles *profiles)
{
	vec_done(&profiles->items);
	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		map_done(&profiles->index[kind]);
	for (size_t i = 0; i < profiles->arenas.count; i++)
		arena_free(profiles->arenas.items[i]);
	vec_done(&profiles->arenas);
}

const struct profile *profiles_find(const struct profiles *profiles, enum key_kind kind,
				    uint64_t key)
{
	const uint64_t *index = map_find(&profiles->index[kind], key);

	return index ? &profiles->items.items[*index - 1] : NULL;
}
