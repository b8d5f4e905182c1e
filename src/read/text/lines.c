/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/lines.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"

/* Reads a file of unknown size. */
static int read_all(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_(freep) char *data = NULL;
	size_t size = 0, capacity = 0;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	for (;;) {
		if (size == capacity) {
			capacity = capacity ? 2 * capacity : 1 << 16;
			data = must_realloc(data, capacity);
		}

		ssize_t n = read(fd, data + size, capacity - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, "cannot read '%s'", path);
		if (n == 0)
			break;
		size += n;
	}
	*ret = TAKE(data);
	*ret_size = size;
	return 0;
}

int text_lines_open(struct text_lines *lines, const char *path, struct err *err)
{
	int r = file_map(path, &lines->text, err);

	if (r < 0)
		return r;
	lines->file = lines->text;
	if (lines->file.len)
		return 0;
	r = read_all(path, &lines->copy, &lines->text.len, err);
	lines->text.s = lines->copy;
	return r;
}

/* The line at offset *at, which is set to that of the next line. */
static bool line_at(const struct text_lines *lines, size_t *at, struct view *ret)
{
	if (*at >= lines->text.len)
		return false;

	const char *s = lines->text.s + *at;
	size_t left = lines->text.len - *at;
	const char *end = memchr(s, '\n', left);
	size_t len = end ? (size_t)(end - s) : left;

	*at += len + (end != NULL);
	if (len && s[len - 1] == '\r')
		len--;
	*ret = (struct view){ s, len };
	return true;
}

/* Adds a line to the index; the *marks marks before an event get its time. */
static void add_to_index(struct text_lines *lines, size_t at, nsec_t time, bool is_mark,
			 size_t *marks)
{
	*vec_push(&lines->index) = (struct time_sort_item){ time, at };
	if (is_mark) {
		(*marks)++;
		return;
	}
	for (; *marks; (*marks)--)
		lines->index.items[lines->index.count - 1 - *marks].time = time;
}

/* One pass over all lines.  False if they are not in order and there is no index yet. */
static bool scan_all(struct text_lines *lines, text_classify_fn *classify, void *arg)
{
	size_t at = 0, marks = 0;
	uint64_t number = 0;
	nsec_t last = 0, time = 0;
	struct view line;

	lines->events = lines->unknown = 0;
	for (size_t begin = 0; line_at(lines, &at, &line); begin = at) {
		enum text_line_kind kind = classify(arg, line, &time);

		number++;
		if (kind == TEXT_UNKNOWN && !lines->unknown++)
			lines->first_unknown = number;
		if (kind != TEXT_EVENT && kind != TEXT_MARK)
			continue;
		lines->events += kind == TEXT_EVENT;
		if (lines->has_index)
			add_to_index(lines, begin, time, kind == TEXT_MARK, &marks);
		if (kind == TEXT_MARK)
			continue;
		if (time < last && !lines->has_index)
			return false;
		if (lines->events == 1 || time < lines->first)
			lines->first = time;
		last = time;
	}
	return true;
}

void text_lines_scan(struct text_lines *lines, text_classify_fn *classify, void *arg)
{
	lines->has_index = false;
	if (scan_all(lines, classify, arg))
		return;
	lines->has_index = true;
	scan_all(lines, classify, arg);
	lines->index.items = time_sort(lines->index.items, lines->index.count);
	lines->index.room = lines->index.count;
}

bool text_lines_next(struct text_lines *lines, struct view *ret)
{
	if (!lines->has_index)
		return line_at(lines, &lines->next, ret);
	if (lines->next == lines->index.count)
		return false;

	size_t at = lines->index.items[lines->next++].index;

	return line_at(lines, &at, ret);
}

void text_lines_done(struct text_lines *lines)
{
	file_unmap(&lines->file);
	free(lines->copy);
	free(lines->joined);
	vec_done(&lines->index);
}
