/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine_text SUPPORT LEAST MOST ends|all - patterns of the lines on stdin, each with its support.
 *
 * Prints the CPU time of the search in seconds first.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyse/mine.h"
#include "base/vec.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct mine_options options = mine_defaults;
	VEC(struct mine_sequence) sequences = { 0 };
	struct mine_result result;
	char *line = NULL;
	size_t room = 0;

	if (argc != 5)
		return 2;
	options.support = strtoull(argv[1], NULL, 10);
	options.gap = (struct mine_gap){ (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]) };
	options.closed = strcmp(argv[4], "all") == 0 ? MINE_CLOSED_ALL : MINE_CLOSED_ENDS;
	for (ssize_t length; (length = getline(&line, &room, stdin)) > 0; line = NULL)
		*vec_push(&sequences) =
			(struct mine_sequence){ (const uint8_t *)line, (uint32_t)length - 1, 1 };

	double begin = cpu_seconds();

	mine_patterns(sequences.items, sequences.count, &options, &result);
	printf("%.6f\n", cpu_seconds() - begin);
	for (size_t i = 0; i < result.count; i++)
		printf("%.*s %llu\n", (int)result.patterns[i].length,
		       (const char *)result.patterns[i].letters,
		       (unsigned long long)result.patterns[i].support);
	return result.is_truncated;
}
