/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"

#include <string.h>

#include "diagnose/feature.h"

/* Numbers of an interval: its runs, and six times. */
enum { INTERVAL_NUMBERS = 7 };

static void put_number(packed_bytes *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*vec_push(to) = 0x80 | (n & 0x7f);
	*vec_push(to) = n;
}

void pack_states(const struct kept_span *s, packed_bytes *intervals, packed_bytes *runs)
{
	intervals->count = runs->count = 0;
	for (uint32_t i = 0; i < s->interval_count; i++) {
		const struct own_interval *of = &s->intervals[i];
		const uint64_t numbers[INTERVAL_NUMBERS] = { of->run_count, of->total, of->ready,
							     of->throttled, of->irq,   of->queued,
							     of->gap };

		for (int n = 0; n < INTERVAL_NUMBERS; n++)
			put_number(intervals, numbers[n]);
		for (uint32_t run = of->run; run < of->run + of->run_count; run++) {
			*vec_push(runs) = s->runs[run].letter;
			put_number(runs, s->runs[run].time);
		}
	}
}

/* How many numbers the bytes contain: the last byte of each has no highest bit. */
static size_t count_numbers(struct view bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes.len; i++)
		count += !(bytes.s[i] & 0x80);
	return count;
}

/* Takes a number off the bytes.  Fails on one that is cut, or has more than 64 bits. */
static bool take_number(struct view *bytes, uint64_t *ret)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; bytes->len && shift < 64; shift += 7) {
		uint8_t byte = *bytes->s++;

		bytes->len--;
		if (shift == 63 && byte > 1)
			return false;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = n;
			return true;
		}
	}
	return false;
}

/* Takes a time, and adds it to the sum of all of them. */
static bool take_time(struct view *bytes, nsec_t *sum, nsec_t *ret)
{
	if (!take_number(bytes, ret) || *ret > INT64_MAX - *sum)
		return false;
	*sum += *ret;
	return true;
}

static bool is_letter(uint8_t letter)
{
	for (enum span_feature f = 0; f < FEATURE_READY; f++)
		if (feature_letter(f) == letter)
			return true;
	return false;
}

static const char *take_intervals(struct view bytes, uint32_t count, uint32_t run_count,
				  struct own_interval *to, nsec_t *sum)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < count; i++) {
		nsec_t *times[] = { &to[i].total, &to[i].ready,  &to[i].throttled,
				    &to[i].irq,   &to[i].queued, &to[i].gap };
		uint64_t runs;

		if (!take_number(&bytes, &runs) || runs > run_count - next)
			return "an interval has more runs than there are";
		to[i].run = next;
		to[i].run_count = runs;
		next += runs;
		for (size_t t = 0; t < ARRAY_LEN(times); t++)
			if (!take_time(&bytes, sum, times[t]))
				return "a time of an interval is invalid";
	}
	if (bytes.len)
		return "the last interval is incomplete";
	return next < run_count ? "there are more runs than those of the intervals" : NULL;
}

static const char *take_runs(struct view bytes, uint32_t count, struct state_run *to, nsec_t *sum)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!bytes.len || !is_letter(*bytes.s))
			return "a run has an unknown state";
		to[i].letter = *bytes.s++;
		bytes.len--;
		if (!take_time(&bytes, sum, &to[i].time))
			return "the time of a run is invalid";
	}
	return bytes.len ? "the last run is incomplete" : NULL;
}

const char *unpack_states(struct view intervals, struct view runs, struct arena *arena,
			  struct kept_span *ret)
{
	size_t interval_count = count_numbers(intervals) / INTERVAL_NUMBERS;
	size_t run_count = count_numbers(runs) / 2; /* a letter counts as a number */
	const char *why;
	nsec_t sum = 0;

	if (interval_count > UINT32_MAX || run_count > UINT32_MAX)
		return "there are too many intervals or runs";

	struct own_interval *to = arena_alloc(arena, interval_count * sizeof(*to) + 1);
	struct state_run *to_runs = arena_alloc(arena, run_count * sizeof(*to_runs) + 1);

	why = take_intervals(intervals, interval_count, run_count, to, &sum);
	if (!why)
		why = take_runs(runs, run_count, to_runs, &sum);
	if (why)
		return why;
	ret->interval_count = interval_count;
	ret->run_count = run_count;
	ret->intervals = to;
	ret->runs = to_runs;
	return NULL;
}

/* Kinds of values, in the lowest bit of the first number of a trait. */
enum { TRAIT_NUMBER, TRAIT_TEXT };

static void put_text(packed_bytes *to, const char *text)
{
	put_number(to, strlen(text));
	for (; *text; text++)
		*vec_push(to) = *text;
}

/* Small negative numbers take one byte, too: the sign becomes the lowest bit. */
static uint64_t fold_sign(int64_t n)
{
	return (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0);
}

static int64_t unfold_sign(uint64_t n)
{
	return (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

void pack_traits(const struct kept_span *s, packed_bytes *to)
{
	to->count = 0;
	for (uint32_t i = 0; i < s->trait_count; i++) {
		const struct span_trait *t = &s->traits[i];

		put_number(to, t->kind << 1 | (t->text ? TRAIT_TEXT : TRAIT_NUMBER));
		put_text(to, t->key);
		if (t->text)
			put_text(to, t->text);
		else
			put_number(to, fold_sign(t->number));
	}
}

/* Takes a text without a NUL, in memory of the arena; NULL if it is invalid. */
static const char *take_text(struct view *bytes, struct arena *arena)
{
	uint64_t length;
	char *text;

	if (!take_number(bytes, &length) || length > SPAN_TRAIT_LONGEST || length > bytes->len ||
	    memchr(bytes->s, '\0', length))
		return NULL;
	text = arena_alloc(arena, length + 1);
	memcpy(text, bytes->s, length);
	text[length] = '\0';
	bytes->s += length;
	bytes->len -= length;
	return text;
}

static bool take_trait(struct view *bytes, struct arena *arena, struct span_trait *ret)
{
	uint64_t kind, number = 0;

	if (!take_number(bytes, &kind) || kind >> 1 > SPAN_TRAIT_PROBES)
		return false;
	*ret = (struct span_trait){ .kind = kind >> 1, .key = take_text(bytes, arena) };
	if (!ret->key)
		return false;
	if ((kind & 1) == TRAIT_TEXT) {
		ret->text = take_text(bytes, arena);
		return ret->text;
	}
	if (!take_number(bytes, &number))
		return false;
	ret->number = unfold_sign(number);
	return true;
}

const char *unpack_traits(struct view bytes, struct arena *arena, struct kept_span *ret)
{
	struct span_trait traits[SPAN_TRAITS_MAX], *to;
	uint32_t count = 0;

	while (bytes.len) {
		if (count == SPAN_TRAITS_MAX)
			return "a span has too many traits";
		if (!take_trait(&bytes, arena, &traits[count++]))
			return "a trait is invalid";
	}
	to = arena_alloc(arena, count * sizeof(*to) + 1);
	memcpy(to, traits, count * sizeof(*to));
	ret->traits = to;
	ret->trait_count = count;
	return NULL;
}
