/* SPDX-License-Identifier: Apache-2.0 */
#include "read/perf/merge.h"

#include <errno.h>

void perf_merge_done(struct perf_merge *m)
{
	for (size_t i = 0; i < m->parts.count; i++) {
		perf_stream_done(&m->parts.items[i]->stream);
		free(m->parts.items[i]);
	}
	vec_done(&m->parts);
	file_set_done(&m->files);
}

void perf_merge_init(struct perf_merge *m, struct perf_file *file)
{
	struct perf_part *first = must_alloc(sizeof(*first));

	*m = (struct perf_merge){ 0 };
	perf_stream_init(&first->stream, file);
	*vec_push(&m->parts) = first;
}

static void advance_part(struct perf_part *part)
{
	part->record = perf_stream_next(&part->stream, &part->time);
}

static void add_part(struct perf_merge *m, const struct trace_file *from)
{
	struct perf_part *part = must_alloc(sizeof(*part));

	part->file = *m->parts.items[0]->stream.file;
	part->file.name = from->name;
	part->file.data = from->data;
	part->file.size = part->file.end = from->size;
	part->file.begin = 0;
	part->file.is_part = true;
	perf_stream_init(&part->stream, &part->file);
	advance_part(part);
	*vec_push(&m->parts) = part;
}

static bool is_part(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strncmp(name, "data.", 5) == 0 && name[5] &&
	       !name[5 + strspn(name + 5, "0123456789")];
}

int perf_merge_add(struct perf_merge *m, const char *directory, struct err *err)
{
	int r = file_set_map(&m->files, directory, err);

	if (r < 0)
		return r;
	file_set_sort(&m->files);
	for (size_t i = 0; i < m->files.items.count; i++)
		if (is_part(m->files.items.items[i].name))
			add_part(m, &m->files.items.items[i]);
	if (m->parts.count == 1 && m->parts.items[0]->stream.file->about.is_directory)
		return err_set(err, -EBADMSG, "'%s' is incomplete: files data.0, ... are missing",
			       directory);
	advance_part(m->parts.items[0]);
	/* records without a time belong to the start of the trace */
	for (size_t i = 0; i < m->parts.count; i++) {
		nsec_t time = m->parts.items[i]->time;

		if (time && (!m->now || time < m->now))
			m->now = time;
	}
	return 0;
}

static struct perf_part *earliest(const struct perf_merge *m)
{
	struct perf_part *first = NULL;

	for (size_t i = 0; i < m->parts.count; i++) {
		struct perf_part *part = m->parts.items[i];

		if (part->record && (!first || part->time < first->time))
			first = part;
	}
	return first;
}

const uint8_t *perf_merge_next(struct perf_merge *m, nsec_t *ret_time)
{
	const uint8_t *record;

	if (m->parts.count == 1) {
		record = perf_stream_next(&m->parts.items[0]->stream, &m->now);
	} else {
		if (m->last) /* a record is valid until the next call for its part */
			advance_part(m->last);
		m->last = earliest(m);
		record = m->last ? m->last->record : NULL;
		if (record && m->last->time > m->now)
			m->now = m->last->time;
	}
	*ret_time = m->now;
	return record;
}
