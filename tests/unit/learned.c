/* SPDX-License-Identifier: Apache-2.0 */
#include "learned.h"

#include <math.h>
#include <stdio.h>
#include <xxhash.h>

#include "base/sort.h"
#include "story.h"

/* A model of 1,000 seconds; all names are in the set. */
const struct span_set *hand_spans(void)
{
	static struct span_set spans;

	if (!spans.model) {
		struct story s = { 0 };

		story_begin(&s, 1, 0);
		story_run(&s, 1, 0, 1000 * NSEC_PER_SEC);
		spans.model = story_model(&s);
		story_done(&s);
		for (size_t i = 0; i < 4; i++)
			span_set_intern(&spans, (const char *[]){ "shop", "GET /cart", "database",
								  "SELECT" }[i]);
	}
	return &spans;
}

static str_id name_of(const char *name)
{
	return span_set_intern((struct span_set *)hand_spans(), name);
}

static uint64_t digest_of(uint64_t number, uint64_t salt)
{
	uint64_t parts[2] = { number, salt };

	return XXH3_64bits(parts, sizeof(parts));
}

double random_share(uint64_t number, uint64_t salt)
{
	return (digest_of(number, salt) >> 11) * 0x1p-53;
}

double random_normal(uint64_t number, uint64_t salt)
{
	double share = random_share(number, 2 * salt + 1000),
	       angle = random_share(number, 2 * salt + 1001);

	return sqrt(-2 * log(share > 0 ? share : 0x1p-53)) * cos(2 * M_PI * angle);
}

static nsec_t time_around(uint64_t number, uint64_t salt, nsec_t middle)
{
	return middle * exp(0.3 * random_normal(number, salt));
}

static void add_run(struct observation *o, uint8_t letter, nsec_t time)
{
	struct own_interval *of = &o->intervals.items[o->intervals.count - 1];

	*vec_push(&o->runs) = (struct state_run){ time, letter };
	of->run_count++;
	of->total += time;
	o->own += time;
}

static void add_interval(struct observation *o)
{
	*vec_push(&o->intervals) = (struct own_interval){ .run = o->runs.count };
}

static void begin_observation(struct observation *o, uint64_t number, uint32_t position)
{
	__typeof__(o->intervals) intervals = o->intervals;
	__typeof__(o->runs) runs = o->runs;
	span_trait_list traits = o->traits;
	const char *service = position ? "database" : "shop";
	const char *operation = position ? "SELECT" : "GET /cart";

	intervals.count = runs.count = traits.count = 0;
	*o = (struct observation){
		.type = digest_of(1, 1),
		.folded = digest_of(1, 2),
		.position = position,
		.subtree = digest_of(position, 3),
		.name = digest_of(position, 4),
		.identity = digest_of(number, 10 + position),
		.span = { position + 1 },
		.root = { 1 },
		.depth = position,
		.start = number % 1000 * NSEC_PER_SEC,
		.service = name_of(service),
		.operation = name_of(operation),
		.has_states = true,
		.disk_bytes = number % 3 * 4096,
		.network_bytes = number % 1000,
		.intervals = intervals,
		.runs = runs,
		.traits = traits,
	};
}

static void add_traits(struct observation *o, uint64_t number)
{
	static const char *const customers[] = { "", "Zoë", "a\"b'c", "x" };

	*vec_push(&o->traits) =
		(struct span_trait){ .key = "customer", .text = customers[number % 4] };
	*vec_push(&o->traits) =
		(struct span_trait){ .key = "items", .number = (int64_t)(number % 9) - 4 };
	*vec_push(&o->traits) =
		(struct span_trait){ .key = "", .text = "main", .kind = SPAN_TRAIT_FUNCTION };
}

const struct hand_trace *hand_trace(uint64_t number)
{
	static struct hand_trace t;

	begin_observation(&t.database, number, 1);
	add_interval(&t.database);
	add_run(&t.database, 'R', time_around(number, 1, 200 * NSEC_PER_USEC));
	add_run(&t.database, 'D', time_around(number, 2, NSEC_PER_MSEC));
	t.database.duration = t.database.own;

	begin_observation(&t.shop, number, 0);
	t.shop.queueing = time_around(number, 3, 10 * NSEC_PER_USEC);
	add_interval(&t.shop);
	add_run(&t.shop, 'R', time_around(number, 4, NSEC_PER_MSEC));
	t.shop.intervals.items[0].ready = number % 7 * NSEC_PER_USEC;
	add_interval(&t.shop);
	add_run(&t.shop, 'R', time_around(number, 5, 2 * NSEC_PER_MSEC));
	if (number % 2) {
		add_run(&t.shop, 'L', time_around(number, 6, 500 * NSEC_PER_USEC));
		add_run(&t.shop, 'R', time_around(number, 7, 100 * NSEC_PER_USEC));
	}
	add_traits(&t.shop, number);
	t.shop.cpu = t.shop.own;
	t.shop.duration = t.shop.own + t.shop.queueing + t.database.duration;
	return &t;
}

bool learn_traces(struct baseline *b, uint64_t first, uint64_t count)
{
	struct observation_counts counts = { .traces = count };

	baseline_begin(b, hand_spans());
	for (uint64_t i = first; i < first + count; i++) {
		const struct hand_trace *t = hand_trace(i);

		baseline_add_observation(b, &t->database);
		baseline_add_observation(b, &t->shop);
	}
	return baseline_end(b, &counts) == RECORDING_LEARNED;
}

static void print_names(FILE *f, const struct baseline *b, str_id service, str_id operation)
{
	fprintf(f, " %s %s\n", strtab_get(b->strings, service), strtab_get(b->strings, operation));
}

static void print_sample(FILE *f, const struct baseline *b, const struct kept_span *s)
{
	fprintf(f, "sample %lx %lx %u %lx %lx %lx %lx %lu", s->identity, s->recording, s->quarter,
		s->keys[0], s->keys[1], s->keys[2], s->type, s->position);
	print_names(f, b, s->service, s->operation);
	fprintf(f, " %lu %lu %lu %lu %lu %lu %d %u\n", s->duration, s->queueing, s->own, s->cpu,
		s->disk_bytes, s->network_bytes, s->has_states, s->run_count);
	for (uint32_t i = 0; i < s->interval_count; i++) {
		const struct own_interval *of = &s->intervals[i];

		fprintf(f, " %u+%u %lu %lu %lu %lu %lu %lu", of->run, of->run_count, of->total,
			of->ready, of->throttled, of->irq, of->queued, of->gap);
		for (uint32_t run = of->run; run < of->run + of->run_count; run++)
			fprintf(f, " %c%lu", s->runs[run].letter, s->runs[run].time);
		fprintf(f, "\n");
	}
	for (uint32_t i = 0; i < s->trait_count; i++)
		fprintf(f, " trait %u '%s' '%s' %ld\n", s->traits[i].kind, s->traits[i].key,
			s->traits[i].text ?: "NULL", s->traits[i].number);
}

static bool is_number_first(const uint64_t *a, const uint64_t *b)
{
	return *a < *b;
}

static void print_counts(FILE *f, const struct map *counts)
{
	VEC(uint64_t) keys = { 0 };
	uint64_t key, count;

	for (size_t at = 0; map_next(counts, &at, &key, &count);)
		*vec_push(&keys) = key;
	sort_items(keys.items, keys.count, is_number_first);
	for (size_t i = 0; i < keys.count; i++)
		fprintf(f, "key %lx %lu\n", keys.items[i], *map_find(counts, keys.items[i]));
	vec_done(&keys);
}

char *baseline_text(const struct baseline *b)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "options %a %u %u %d %a %a\n", b->options.support, b->options.gap_least,
		b->options.gap_most, b->options.closed_at_ends, b->options.sigma, b->options.cv);
	for (size_t i = 0; i < b->recordings.count; i++) {
		const struct recording *r = &b->recordings.items[i];

		fprintf(f, "recording %lx %lu %lu %lu %lu %lu %lu\n", r->digest, r->length,
			r->traces, r->spans, r->cut, r->orphaned, r->lost);
	}
	for (size_t i = 0; i < b->types.count; i++) {
		const struct trace_type *t = &b->types.items[i];

		fprintf(f, "type %lx %lx %lu", t->type, t->folded, t->traces);
		print_names(f, b, t->service, t->operation);
	}
	for (enum key_kind kind = 0; kind < KEY_KINDS; kind++)
		print_counts(f, &b->counts[kind]);
	for (size_t i = 0; i < b->samples.count; i++)
		print_sample(f, b, &b->samples.items[i]);
	fclose(f);
	return text;
}

static void print_interval(FILE *f, const struct interval_profile *of)
{
	fprintf(f, " %lu %u %u %d %a\n", of->sequences, of->pattern_count, of->longest,
		of->is_truncated, of->score_if_missing);
	for (uint32_t i = 0; i < of->pattern_count; i++)
		fprintf(f, " %.*s %lu\n", of->patterns[i].length,
			(const char *)of->patterns[i].letters, of->patterns[i].support);
	for (enum span_feature i = 0; i < FEATURE_COUNT; i++) {
		const struct band *b = &of->bands[i];

		fprintf(f, " %s %a %a %a %a %a %d\n", feature_name(i), b->low, b->middle, b->high,
			b->mean, b->deviation, b->by_quantiles);
	}
}

static void print_profile(FILE *f, const struct baseline *b, const struct profile *p)
{
	fprintf(f, "profile %d %lx %lx %lu %lu %u %lu %a %a %lu %lu %lu %a %a %a", p->kind, p->key,
		p->type, p->position, p->observed, p->samples, p->band.floor, p->limit,
		p->mean_duration, p->p50, p->p95, p->p99, p->cpu, p->disk_bytes, p->network_bytes);
	print_names(f, b, p->service, p->operation);
	print_interval(f, &p->all);
	for (uint32_t n = 0; n < p->interval_count; n++)
		print_interval(f, &p->intervals[n]);
}

static void print_parts(FILE *f, const struct baseline *b, const struct split *split)
{
	fprintf(f, "split by %u '%s' %a\n", split->kind, split->key, split->explained);
	for (uint32_t i = 0; i < split->part_count; i++) {
		const struct split_part *part = &split->parts[i];

		fprintf(f, "part %ld to %ld '%s'\n", part->from, part->to, part->text ?: "NULL");
		print_profile(f, b, part->profile);
	}
}

char *profiles_text(const struct baseline *b, const struct profiles *profiles)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < profiles->items.count; i++) {
		const struct profile *p = &profiles->items.items[i];

		print_profile(f, b, p);
		if (p->split)
			print_parts(f, b, p->split);
	}
	fclose(f);
	return text;
}
