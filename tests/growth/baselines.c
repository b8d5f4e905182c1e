/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baselines CASE N - learn a baseline from N items, save it and load it again.
 *
 * Each case is large in one dimension, among them those that a hostile file would choose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learned.h"
#include "store/baseline_file.h"

int test_failures; /* of story.c, which checks what it is given */

static void save_and_load(struct baseline *b)
{
	char path[] = "/tmp/sonde-baseline-XXXXXX";
	_cleanup_(baseline_freep) struct baseline *loaded = NULL;
	_cleanup_(closep) int fd = mkstemp(path);
	struct profiles profiles = { 0 };
	struct err err = { "" };

	baseline_finish(b);
	profiles_build(b, 1, &profiles);
	if (fd < 0 || baseline_save(b, &profiles, path, &err) < 0 ||
	    baseline_load(path, &loaded, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	profiles_done(&profiles);
	unlink(path);
}

static void traces(size_t n)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	learn_traces(b, 0, n);
	save_and_load(b);
}

static void recordings(size_t n)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	for (size_t i = 0; i < n; i++)
		learn_traces(b, i, 1);
	save_and_load(b);
}

/* Each trace has a type and keys of its own. */
static void types(size_t n)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);

	baseline_begin(b, hand_spans());
	for (size_t i = 0; i < n; i++) {
		struct observation o = hand_trace(i)->shop;

		o.type = o.folded = o.subtree = o.name = o.identity;
		baseline_add_observation(b, &o);
	}
	baseline_end(b, &(struct observation_counts){ .traces = n });
	save_and_load(b);
}

/* Spans of one key, too few to be compared, with n intervals or runs in all. */
static void learn_long_spans(size_t intervals, size_t runs)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	struct observation o = hand_trace(0)->database;

	memset(&o.intervals, 0, sizeof(o.intervals));
	memset(&o.runs, 0, sizeof(o.runs));
	for (size_t i = 0; i < intervals; i++)
		*vec_push(&o.intervals) =
			(struct own_interval){ .run = i * runs, .run_count = runs };
	for (size_t i = 0; i < intervals * runs; i++)
		*vec_push(&o.runs) = (struct state_run){ 1 + i % 1000, "RDRN"[i % 4] };
	baseline_begin(b, hand_spans());
	for (size_t i = 0; i < 10; i++) {
		o.identity = hand_trace(i)->database.identity;
		baseline_add_observation(b, &o);
	}
	baseline_end(b, &(struct observation_counts){ .traces = 10 });
	save_and_load(b);
	vec_done(&o.intervals);
	vec_done(&o.runs);
}

static void intervals(size_t n)
{
	learn_long_spans(n, 1);
}

static void runs(size_t n)
{
	learn_long_spans(1, n);
}

/* A number explains the time; other keys and texts are different in each span. */
static void add_traits(struct observation *o, size_t i)
{
	static char texts[SPAN_TRAITS_MAX][32];

	o->traits.count = 0;
	*vec_push(&o->traits) = (struct span_trait){ .key = "n", .number = i % 1000 };
	*vec_push(&o->traits) = (struct span_trait){ .key = "text", .text = texts[2] };
	for (size_t k = 2; k < SPAN_TRAITS_MAX; k++) {
		snprintf(texts[k], sizeof(texts[k]), "%zu of %zu", k, i);
		*vec_push(&o->traits) = (struct span_trait){ .key = texts[k], .number = i };
	}
	o->runs.items[0].time = (i % 1000 + 100) * (i % 1000 + 100) * 100;
	o->intervals.items[0].total = o->runs.items[0].time;
}

static void traits(size_t n)
{
	_cleanup_(baseline_freep) struct baseline *b = baseline_new(&learn_defaults);
	struct hand_trace *t = (struct hand_trace *)hand_trace(0);

	baseline_begin(b, hand_spans());
	for (size_t i = 0; i < n; i++) {
		hand_trace(i);
		add_traits(&t->shop, i);
		baseline_add_observation(b, &t->shop);
	}
	baseline_end(b, &(struct observation_counts){ .traces = n });
	save_and_load(b);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(size_t n);
	} cases[] = {
		{ "traces", traces }, { "recordings", recordings },
		{ "types", types },   { "intervals", intervals },
		{ "runs", runs },     { "traits", traits },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run(atoi(argv[2]));
	return 0;
}
