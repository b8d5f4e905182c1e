/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_traits.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/sort.h"

/* Samples below which the most frequent function is a matter of chance. */
enum { SAMPLES_LEAST = 4 };

const char *span_trait_kind_name(enum span_trait_kind kind)
{
	static const char *const names[] = { [SPAN_TRAIT_ATTRIBUTE] = "attribute",
					     [SPAN_TRAIT_FUNCTION] = "function",
					     [SPAN_TRAIT_PROBES] = "probes" };

	return names[kind];
}

void footprint_add(struct footprint *f, const struct model *model, thread_id thread, nsec_t from,
		   nsec_t to)
{
	struct timeline *const *of = model_thread(model, thread)->timelines;

	TIMELINE_EACH_BETWEEN(struct sample, sample, of[TIMELINE_SAMPLES], from, to)
	{
		if (f->stack_count == FOOTPRINT_SAMPLES)
			break;
		f->stacks[f->stack_count++] = sample->stack;
	}
	TIMELINE_EACH_BETWEEN(struct probe_event, event, of[TIMELINE_PROBE_EVENTS], from, to)
	{
		if (f->probe_count == FOOTPRINT_EVENTS)
			break;
		f->probes[f->probe_count++] = event->type;
	}
}

static bool is_short(const char *s)
{
	return strnlen(s, SPAN_TRAIT_LONGEST + 1) <= SPAN_TRAIT_LONGEST;
}

/* Whether a name ends in a word that is typical of values which no two requests share. */
static bool is_probably_unique(const char *key)
{
	static const char *const words[] = { "id",  "uuid", "port",      "address",
					     "url", "time", "timestamp", "traceparent" };
	const char *last = key;

	for (const char *s = key; *s; s++)
		if (strchr("._-", *s))
			last = s + 1;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(last, words[i]) == 0)
			return true;
	return false;
}

static bool trait_of(const struct model *model, const struct attribute *a, struct span_trait *ret)
{
	*ret = (struct span_trait){ .key = model_string(model, a->key),
				    .kind = SPAN_TRAIT_ATTRIBUTE };
	if (a->type == ATTRIBUTE_STRING)
		ret->text = model_string(model, (str_id){ a->value });
	else if (a->type == ATTRIBUTE_BOOL)
		ret->text = a->value ? "true" : "false";
	else if (a->type == ATTRIBUTE_INT)
		ret->number = (int64_t)a->value;
	else
		return false;
	return is_short(ret->key) && (!ret->text || is_short(ret->text));
}

static void add_attributes(const struct model *model, span_id span, bool unique,
			   span_trait_list *ret)
{
	struct attributes attributes = model_span_attributes(model, span);

	for (size_t i = 0; i < attributes.count && ret->count < SPAN_TRAITS_MAX; i++) {
		struct span_trait trait;

		if (trait_of(model, &attributes.items[i], &trait) &&
		    is_probably_unique(trait.key) == unique)
			*vec_push(ret) = trait;
	}
}

static bool is_name_first(const char *const *a, const char *const *b)
{
	return strcmp(*a, *b) < 0;
}

/* The function that most samples are in; the first one in the alphabet of several. */
static const char *frequent_function(const struct model *model, const struct footprint *f)
{
	const char *names[FOOTPRINT_SAMPLES], *best = "";
	uint32_t count = 0, most = 0;

	for (uint32_t i = 0; i < f->stack_count; i++)
		names[i] = model_stack_function(model, f->stacks[i]) ?: "";
	sort_items(names, f->stack_count, is_name_first);
	for (uint32_t i = 0; i < f->stack_count; i++) {
		count = i && strcmp(names[i], names[i - 1]) == 0 ? count + 1 : 1;
		if (count > most) {
			most = count;
			best = names[i];
		}
	}
	return best;
}

/* "a, b": the names of the probes in the order of the alphabet, or a digest if they are long. */
static void name_probes(const struct model *model, struct footprint *f)
{
	const char *names[FOOTPRINT_EVENTS];
	uint64_t digest = 0;
	size_t length = 0, distinct = 0;

	for (uint32_t i = 0; i < f->probe_count; i++)
		names[i] = model_probe_name(model, f->probes[i]) ?: "?";
	sort_items(names, f->probe_count, is_name_first);
	for (uint32_t i = 0; i < f->probe_count; i++) {
		if (i && strcmp(names[i], names[i - 1]) == 0)
			continue;
		digest = XXH3_64bits_withSeed(names[i], strlen(names[i]), digest);
		if (length < sizeof(f->text))
			length += snprintf(f->text + length, sizeof(f->text) - length, "%s%s",
					   distinct ? ", " : "", names[i]);
		distinct++;
	}
	if (length >= sizeof(f->text))
		snprintf(f->text, sizeof(f->text), "%zu probes (%016llx)", distinct,
			 (unsigned long long)digest);
}

static void add_footprint(const struct model *model, struct footprint *f, span_trait_list *ret)
{
	if (f->stack_count >= SAMPLES_LEAST) {
		const char *name = frequent_function(model, f);

		if (*name && is_short(name))
			*vec_push(ret) = (struct span_trait){ .key = "",
							      .text = name,
							      .kind = SPAN_TRAIT_FUNCTION };
	}
	if (f->probe_count) {
		name_probes(model, f);
		*vec_push(ret) = (struct span_trait){ .key = "",
						      .text = f->text,
						      .kind = SPAN_TRAIT_PROBES };
	}
}

void span_traits_find(const struct span_set *spans, span_id span, struct footprint *f,
		      span_trait_list *ret)
{
	ret->count = 0;
	add_footprint(spans->model, f, ret);
	if (span.i >= model_span_count(spans->model))
		return;
	add_attributes(spans->model, span, false, ret);
	add_attributes(spans->model, span, true, ret);
}
