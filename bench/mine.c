/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine - the speed of the pattern search.
 *
 * usage: mine KIND COUNT LENGTH SHARE LEAST MOST CLOSED [THREADS]
 *        mine KIND COUNT LENGTH
 *
 * Makes COUNT sequences of LENGTH letters, from a fixed seed, and mines them with a minimum support
 * of SHARE, the gap [LEAST,MOST] and CLOSED ends or all.  Prints a line: the number of patterns,
 * the length of the first, whether the search was complete, ns of CPU time and of elapsed time, and
 * the peak resident size in KiB, which includes the sequences.  Without SHARE, prints the
 * sequences.
 *
 * Of KIND random, each sequence is a walk over eight letters in which no letter is repeated.  Other
 * kinds are a percentage: a common walk, in which that share of the letters is deleted, another
 * letter is inserted before that share, and that share is replaced, all at random.  The start of
 * the walk is repeated to fill the length.
 */
#include "analyse/mine.h"
#include "clock.h"

static const char alphabet[] = "DILNRTU?";
static uint64_t state = 20261118;

static uint32_t random_below(uint32_t limit)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}

/* A random letter other than the one before. */
static uint8_t step(uint8_t before)
{
	uint8_t letter;

	do
		letter = (uint8_t)alphabet[random_below(8)];
	while (letter == before);
	return letter;
}

static void fill_random(uint8_t *letters, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		letters[i] = step(i ? letters[i - 1] : 0);
}

static void fill_like(uint8_t *letters, uint32_t length, const uint8_t *walk, double percent)
{
	uint32_t limit = (uint32_t)(percent * 10000);

	for (uint32_t i = 0, from = 0; i < length;) {
		uint8_t before = i ? letters[i - 1] : 0, letter = walk[from % length];

		if (random_below(1000000) < limit) { /* insert */
			letters[i++] = step(before);
			continue;
		}
		from++;
		if (random_below(1000000) < limit) /* delete */
			continue;
		if (random_below(1000000) < limit) /* replace */
			letter = step(before);
		if (letter != before)
			letters[i++] = letter;
	}
}

static struct mine_sequence *make(const char *kind, size_t count, uint32_t length)
{
	struct mine_sequence *sequences = must_alloc(count * sizeof(*sequences));
	uint8_t *letters = must_alloc(count * length), *walk = must_alloc(length);

	fill_random(walk, length);
	for (size_t i = 0; i < count; i++, letters += length) {
		if (strcmp(kind, "random") == 0)
			fill_random(letters, length);
		else
			fill_like(letters, length, walk, atof(kind));
		sequences[i] = (struct mine_sequence){ letters, length, 1 };
	}
	free(walk);
	return sequences;
}

/* Unlike ru_maxrss, without the memory of the process that started this one. */
static long peak_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

static void measure(const struct mine_sequence *sequences, size_t count,
		    const struct mine_options *options)
{
	nsec_t cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID), begin = clock_now(CLOCK_MONOTONIC);
	struct mine_result result;

	mine_patterns(sequences, count, options, &result);
	cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	begin = clock_now(CLOCK_MONOTONIC) - begin;
	printf("%zu %u %d %llu %llu %ld\n", result.count,
	       result.count ? result.patterns[0].length : 0, !result.is_truncated,
	       (unsigned long long)cpu, (unsigned long long)begin, peak_kib());
	mine_result_done(&result);
}

int main(int argc, char **argv)
{
	struct mine_options options = mine_defaults;

	if (argc < 4) {
		fprintf(stderr,
			"usage: mine KIND COUNT LENGTH [SHARE LEAST MOST CLOSED [THREADS]]\n");
		return 2;
	}

	size_t count = strtoull(argv[2], NULL, 10);
	uint32_t length = (uint32_t)atoi(argv[3]);
	struct mine_sequence *sequences = make(argv[1], count, length);

	if (argc < 8) {
		for (size_t i = 0; i < count; i++)
			printf("%.*s\n", (int)length, (const char *)sequences[i].letters);
		return 0;
	}
	options.support = mine_support(atof(argv[4]), count);
	options.gap = (struct mine_gap){ (uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6]) };
	options.closed = strcmp(argv[7], "all") == 0 ? MINE_CLOSED_ALL : MINE_CLOSED_ENDS;
	options.threads = argc > 8 ? (unsigned)atoi(argv[8]) : 1;
	measure(sequences, count, &options);
	return 0;
}
