/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_perfmap - functions of JIT compilers, from perf maps.
 *
 * JIT compilers list their functions in /tmp/perf-PID.map, with a line `start size
 * name` each and numbers in hexadecimal.  They only append to it.  If code is
 * freed and its address range reused, the later line is valid, so later lines
 * override earlier ones.  The file can grow without limit; of a huge file we read
 * the end.
 */
#include "record/symbol/internal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/search.h"

#define READ_MAX (256ll << 20)

struct perfmap_line {
	uint64_t start, size;
	char *name;
};

static bool parse(char *text, struct perfmap_line *ret)
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

/* Find the last line for each key; its name is NULL if there is none. */
static void read_lines(const struct job *job, FILE *file, struct perfmap_line *best)
{
	_cleanup_(freep) char *text = NULL;
	size_t room = 0;
	struct perfmap_line line;

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
	struct perfmap_line *best = must_alloc(job->count * sizeof(*best));
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
			worker_reply(to, i, &chain, 1);
		}
		free(best[i].name);
	}
	free(best);
	fclose(file);
}
