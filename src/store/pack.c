/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"

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
