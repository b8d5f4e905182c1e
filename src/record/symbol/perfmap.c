/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_perfmap - functions that a process made at run time.
 *
 * Run-time compilers tell about their code in /tmp/perf-PID.map, one line
 * `start size name` each, numbers in hexadecimal.  They only ever add to it, so
 * when code is thrown away and its place used again, the later line is right:
 * the file is read from begin to end, and each line takes the wanted addresses
 * that it covers from those before it.  Such a file may grow without limit; of
 * a huge one we read the end.
 */
#include "record/symbol/internal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/search.h"

#define READ_MAX (256ll << 20)

struct line {
	uint64_t start, size;
	char *name;
};

static bool parse(char *text, struct line *ret)
{
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 " %" SCNx64 " %n", &ret->start, &ret->size, &at) != 2)
		return false;
	ret->name = text + at;
	return at > 0 && *ret->name;
}

static size_t first_from(const struct job *job, uint64_t address)
{
	return partition_point(job->count, i, job->keys[i] < address);
}

/* The last line for each key; name is NULL where there is none. */
static void read_lines(const struct job *job, FILE *file, struct line *best)
{
	_cleanup_(freep) char *text = NULL;
	size_t room = 0;
	struct line line;

	while (getline(&text, &room, file) > 0) {
		if (!parse(text, &line))
			continue;
		for (size_t i = first_from(job, line.start);
		     i < job->count && job->keys[i] - line.start < line.size; i++) {
			free(best[i].name);
			best[i] = line;
			best[i].name = must_strdup(line.name);
		}
	}
}

void perfmap_resolve(const struct job *job, FILE *to)
{
	FILE *file = fdopen(job->fd, "r");
	struct line *best = must_alloc(job->count * sizeof(*best));
	char buf[NAME_ROOM];
	struct stat st;

	if (!file || fstat(job->fd, &st) != 0 ||
	    fseeko(file, st.st_size > READ_MAX ? st.st_size - READ_MAX : 0, SEEK_SET) != 0)
		return;
	read_lines(job, file, best);
	for (size_t i = 0; i < job->count; i++) {
		struct symbol_function chain = { .source = "",
						 .offset = job->keys[i] - best[i].start };

		if (best[i].name) {
			chain.name = name_clean(best[i].name, buf);
			answer(to, i, &chain, 1);
		}
		free(best[i].name);
	}
	free(best);
	fclose(file);
}
