/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/bpftrace_meta.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "read/input_internal.h"
#include "read/text/lines.h"
#include "read/text/value.h"

/* Removes the first cell from the line and returns it without quotes. */
static bool take_cell(struct view *line, struct view *ret)
{
	if (!line->s)
		return false;

	const char *bar = memchr(line->s, '|', line->len);
	size_t len = bar ? (size_t)(bar - line->s) : line->len;

	*ret = (struct view){ line->s, len };
	if (len >= 2 && ret->s[0] == '"' && ret->s[len - 1] == '"')
		*ret = (struct view){ ret->s + 1, len - 2 };
	*line = bar ? (struct view){ bar + 1, line->len - len - 1 } : (struct view){ 0 };
	return true;
}

static bool is_name(struct view cell)
{
	for (size_t i = 0; i < cell.len; i++)
		if ((unsigned char)cell.s[i] <= ' ')
			return false;
	return cell.len > 0 && cell.len < 256;
}

static bool is_address(struct view cell)
{
	static const char digits[] = "0123456789abcdefABCDEF.:";

	for (size_t i = 0; i < cell.len; i++)
		if (!memchr(digits, cell.s[i], sizeof(digits) - 1))
			return false;
	return cell.len < 64; /* can be empty */
}

/* False if the line is not a row. */
static bool read_row(struct bpftrace_meta *meta, struct view line, struct bpftrace_row *ret)
{
	struct view tid, name, ip, hash, more;
	uint64_t n;

	if (!take_cell(&line, &tid) || !take_cell(&line, &name) || !take_cell(&line, &ip) ||
	    !take_cell(&line, &hash) || take_cell(&line, &more))
		return false;
	if (text_decimal(tid.s, tid.s + tid.len, &n) != tid.s + tid.len || n == 0 ||
	    n > INT32_MAX || !is_name(name) || !is_address(ip) || !is_name(hash))
		return false;

	_cleanup_(freep) char *group = must_printf("container/%.*s%s%.*s", (int)name.len, name.s,
						   ip.len ? "/" : "", (int)ip.len, ip.s);

	if (!meta->strings)
		meta->strings = strtab_new();
	*ret = (struct bpftrace_row){ n, strtab_add(meta->strings, group) };
	return true;
}

void bpftrace_meta_read(struct bpftrace_meta *meta, struct view text)
{
	struct text_lines lines = { .text = text };
	struct bpftrace_row row;
	struct view line;

	while (text_lines_next(&lines, &line)) {
		if (!line.len)
			continue;
		if (!read_row(meta, line, &row)) {
			meta->invalid++;
			continue;
		}
		*vec_push(&meta->rows) = row;
		*map_insert(&meta->groups, row.tid) = row.group.i;
	}
}

void bpftrace_meta_open_for(struct bpftrace_meta *meta, const char *log)
{
	const char *slash = strrchr(log, '/');
	int folder = slash ? slash + 1 - log : 0;
	_cleanup_(freep) char *beside = must_printf("%.*smeta.psv", folder, log);
	_cleanup_(freep) char *named = must_printf("%s.meta", log);
	struct view text;
	struct err err;

	if (file_map(named, &text, &err) < 0 && file_map(beside, &text, &err) < 0)
		return;
	bpftrace_meta_read(meta, text);
	file_unmap(&text);
}

bool bpftrace_meta_fork(struct bpftrace_meta *meta, uint32_t parent, uint32_t child)
{
	const uint64_t *group = map_find(&meta->groups, parent);

	if (!group)
		return false;

	uint64_t same = *group; /* map_insert() can move it */

	*map_insert(&meta->groups, child) = same;
	return true;
}

const char *bpftrace_meta_group(const struct bpftrace_meta *meta, uint32_t tid)
{
	const uint64_t *group = map_find(&meta->groups, tid);

	return group ? strtab_get(meta->strings, (str_id){ *group }) : "";
}

void bpftrace_meta_done(struct bpftrace_meta *meta)
{
	vec_done(&meta->rows);
	map_done(&meta->groups);
	strtab_free(meta->strings);
}

/* The list as an input of its own: one PROCESS record for each row. */
struct meta_input {
	struct input input;
	struct bpftrace_meta meta;
	struct record_process record;
	size_t next;
};

/* There is no magic number, so all complete lines must be rows. */
static bool is_meta(const char *head, size_t size)
{
	struct bpftrace_meta meta = { 0 };
	const char *end = memrchr(head, '\n', size);

	bpftrace_meta_read(&meta, (struct view){ head, end ? (size_t)(end - head) : size });

	bool matches = meta.rows.count && !meta.invalid;

	bpftrace_meta_done(&meta);
	return matches;
}

int bpftrace_meta_open_memory(const char *name, const char *data, size_t size, struct input **ret,
			      struct err *err)
{
	struct meta_input *m = must_alloc(sizeof(*m));

	m->input.format = &bpftrace_meta_format;
	m->input.is_timeless = true;
	bpftrace_meta_read(&m->meta, (struct view){ data, size });
	if (!m->meta.rows.count) {
		input_free(&m->input);
		return err_set(err, -EBADMSG,
			       "'%s' is not a MiSeRTrace list: no row 'tid|container|address|id'",
			       name);
	}
	if (m->meta.invalid)
		m->input.warning = must_printf("'%s': skipped %" PRIu64 " lines that are not rows",
					       name, m->meta.invalid);
	*ret = &m->input;
	return 0;
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	struct view text;
	int r = file_map(path, &text, err);

	if (r < 0)
		return r;
	r = bpftrace_meta_open_memory(path, text.s, text.len, ret, err);
	file_unmap(&text);
	return r;
}

static int next_record(struct input *input, const struct record **ret, struct err *err)
{
	struct meta_input *m = (struct meta_input *)input;

	if (m->next == m->meta.rows.count)
		return 0;

	const struct bpftrace_row *row = &m->meta.rows.items[m->next++];

	input->events++;
	m->record = (struct record_process){
		.head = { .kind = RECORD_PROCESS, .words = sizeof(m->record) / 8, .tid = row->tid },
		.pid = row->tid,
		.cgroup = row->group.i
	};
	*ret = &m->record.head;
	return 1;
}

static const char *get_string(const struct input *input, uint32_t id)
{
	const struct meta_input *m = (const struct meta_input *)input;

	return strtab_get(m->meta.strings, (str_id){ id });
}

static void free_input(struct input *input)
{
	struct meta_input *m = (struct meta_input *)input;

	bpftrace_meta_done(&m->meta);
	free(m);
}

const struct input_format bpftrace_meta_format = {
	.name = "bpftrace-meta",
	.matches_file = is_meta,
	.open = open_file,
	.next = next_record,
	.string = get_string,
	.free = free_input,
};
