/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/lines.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"

enum { DIGIT = 11, DIGITS = 1 << DIGIT }; /* in bits; counts of one digit fit the first cache */

/* Reads all of a file whose size is not known before its end. */
static int read_all(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_(freep) char *data = NULL;
	size_t size = 0, room = 0;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	for (;;) {
		if (size == room)
			data = must_realloc(data, room = room ? 2 * room : 1 << 16);

		ssize_t n = read(fd, data + size, room - size);

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

/* The line that begins at *at, which becomes where the next one does. */
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

/* Puts a line into the list; marks before an event take its time. */
static void note_place(struct text_lines *lines, size_t at, nsec_t time, bool is_mark,
		       size_t *marks)
{
	*vec_push(&lines->places) = (struct text_place){ time, at };
	if (is_mark) {
		(*marks)++;
		return;
	}
	for (; *marks; (*marks)--)
		lines->places.items[lines->places.count - 1 - *marks].time = time;
}

/* Whether it was all in order, or there is a list now. */
static bool look_at_all(struct text_lines *lines, text_look look, void *arg)
{
	size_t at = 0, marks = 0;
	uint64_t number = 0;
	nsec_t last = 0, time = 0;
	struct view line;

	lines->events = lines->strange = 0;
	for (size_t begin = 0; line_at(lines, &at, &line); begin = at) {
		enum text_line_kind kind = look(arg, line, &time);

		number++;
		if (kind == TEXT_STRANGE && !lines->strange++)
			lines->strange_1 = number;
		if (kind != TEXT_EVENT && kind != TEXT_MARK)
			continue;
		lines->events += kind == TEXT_EVENT;
		if (lines->sorted)
			note_place(lines, begin, time, kind == TEXT_MARK, &marks);
		if (kind == TEXT_MARK)
			continue;
		if (time < last && !lines->sorted)
			return false;
		if (lines->events == 1 || time < lines->first)
			lines->first = time;
		last = time;
	}
	return true;
}

static void sort_by_digit(const struct text_place *from, struct text_place *to, size_t count,
			  nsec_t first, unsigned shift)
{
	size_t begins[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		begins[(from[i].time - first) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t n = begins[i];

		begins[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[begins[(from[i].time - first) >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_places(struct text_lines *lines)
{
	size_t count = lines->places.count;
	struct text_place *from = lines->places.items;
	struct text_place *to = must_alloc((count + 1) * sizeof(*to));
	nsec_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		first = from[i].time < first ? from[i].time : first;
		last = from[i].time > last ? from[i].time : last;
	}
	for (unsigned shift = 0; shift < 64 && (last - first) >> shift; shift += DIGIT) {
		struct text_place *was = from;

		sort_by_digit(from, to, count, first, shift);
		from = to;
		to = was;
	}
	free(to);
	lines->places.items = from;
	lines->places.room = count;
}

void text_lines_look(struct text_lines *lines, text_look look, void *arg)
{
	lines->sorted = false;
	if (look_at_all(lines, look, arg))
		return;
	lines->sorted = true;
	look_at_all(lines, look, arg);
	sort_places(lines);
}

bool text_lines_next(struct text_lines *lines, struct view *ret)
{
	if (!lines->sorted)
		return line_at(lines, &lines->next, ret);
	if (lines->next == lines->places.count)
		return false;

	size_t at = lines->places.items[lines->next++].at;

	return line_at(lines, &at, ret);
}

void text_lines_done(struct text_lines *lines)
{
	file_unmap(&lines->file);
	free(lines->copy);
	free(lines->joined);
	vec_done(&lines->places);
}
