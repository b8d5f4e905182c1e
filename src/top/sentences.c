/* SPDX-License-Identifier: Apache-2.0 */
#include "top/sentences.h"

#include "report/explain.h"

enum {
	PER_SECOND = 24,  /* sentences made */
	OF_A_SUM = 4,     /* largest causes of a sum that get one */
	SHARE_LEAST = 20, /* one in so many parts of the time, to get one */
	FRESH = 5,        /* seconds until a sentence is made again */
	GROWN = 2,        /* or sooner, if the example is so many times as long */
	KEPT = 60,        /* seconds until it is dropped */
};

struct sentence {
	uint64_t second; /* when it was made */
	nsec_t longest;  /* time of the example */
	struct phrase text;
};

void sentences_done(struct sentences *sentences)
{
	size_t pos = 0;
	uint64_t key, value;

	while (map_next(&sentences->index, &pos, &key, &value))
		free((void *)(uintptr_t)value);
	map_done(&sentences->index);
}

static void make(struct sentences *sentences, const struct span_set *spans,
		 const struct cause_group *cause, uint64_t second)
{
	struct sentence *s = map_find_ptr(&sentences->index, cause->key);

	if (!sentences->budget ||
	    (s && second - s->second < FRESH && cause->longest < GROWN * s->longest))
		return;
	sentences->budget--;
	if (!s) {
		s = must_alloc(sizeof(*s));
		map_insert_ptr(&sentences->index, cause->key, s);
	}
	s->second = second;
	s->longest = cause->longest;
	s->text = explain_cause(spans, NULL, cause);
}

void sentences_add(struct sentences *sentences, const struct span_set *spans,
		   const struct cause_sum *causes, uint64_t second)
{
	for (size_t i = 0; i < causes->groups.count && i < OF_A_SUM; i++)
		if (causes->groups.items[i].time >= causes->total / SHARE_LEAST)
			make(sentences, spans, &causes->groups.items[i], second);
}

const char *sentences_find(const struct sentences *sentences, uint64_t key)
{
	const struct sentence *s = map_find_ptr(&sentences->index, key);

	return s ? s->text.s : NULL;
}

void sentences_advance(struct sentences *sentences, uint64_t second)
{
	VEC(uint64_t) old = { 0 };
	size_t pos = 0;
	uint64_t key, value;

	sentences->budget = PER_SECOND;
	while (map_next(&sentences->index, &pos, &key, &value))
		if (second - ((struct sentence *)(uintptr_t)value)->second > KEPT)
			*vec_push(&old) = key;
	for (size_t i = 0; i < old.count; i++) {
		free(map_find_ptr(&sentences->index, old.items[i]));
		map_remove(&sentences->index, old.items[i]);
	}
	vec_done(&old);
}
