/* SPDX-License-Identifier: Apache-2.0 */
#include "read/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mapping.h"
#include "read/input_internal.h"
#include "read/file/packed.h"
#include "read/file/spool.h"

/* In the order in which detection tries them. */
static const struct input_format *const formats[] = {
	&sonde_format,    &otlp_format,   &otlp_json_format, &zipkin_format,
	&jaeger_format,   &ftrace_format, &bpftrace_format,  &bpftrace_meta_format,
	&tracedat_format, &perf_format,   &ctf_format
};

enum { HEAD_SIZE = 4096 };

/* The names of all formats, as in "sonde, jaeger". */
static char *format_list(void)
{
	char *list = must_strdup(formats[0]->name);

	for (size_t i = 1; i < ARRAY_LEN(formats); i++) {
		_cleanup_(freep) char *before = list;

		list = must_printf("%s, %s", before, formats[i]->name);
	}
	return list;
}

/* NULL if there is none. */
static const struct input_format *format_named(const char *name, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	_cleanup_(freep) char *list = format_list();
	err_set(err, -EINVAL, "unknown format '%s'; the formats are %s", name, list);
	return NULL;
}

int input_check_format(const char *name, struct err *err)
{
	return format_named(name, err) ? 0 : -EINVAL;
}

/* Returns the number of bytes in head; -EISDIR, without a message, for a directory. */
static ssize_t read_head(const char *path, char head[HEAD_SIZE], struct err *err)
{
	/* O_NONBLOCK: opening a pipe must not wait for a writer */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "cannot read '%s': not a regular file; to read a pipe, redirect it "
			       "to stdin and use the name '-'",
			       path);

	ssize_t size = pread(fd, head, HEAD_SIZE, 0);

	if (size < 0)
		return err_errno(err, "cannot read '%s'", path);
	if (size == 0)
		return err_set(err, -EBADMSG, "'%s' is empty", path);
	return size;
}

static bool matches(const struct input_format *format, const char *path, const char *head,
		    ssize_t size)
{
	if (size == -EISDIR)
		return format->matches_dir && format->matches_dir(path);
	return format->matches_file && format->matches_file(head, size);
}

static const struct input_format *detect_format(const char *path, const char *head, ssize_t size,
						struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (matches(formats[i], path, head, size))
			return formats[i];
	_cleanup_(freep) char *list = format_list();
	err_set(err, -EBADMSG, "cannot read '%s': not in one of the formats %s", path, list);
	return NULL;
}

static int open_plain(const char *path, const char *format, const char *head, ssize_t size,
		      struct input **ret, struct err *err)
{
	const struct input_format *found =
		format ? format_named(format, err) : detect_format(path, head, size, err);

	return found ? found->open(path, ret, err) : -EINVAL;
}

static int truncated(const char *path, struct err *err)
{
	return err_set(err, -EIO, "'%s' was truncated while sonde read it", path);
}

static int open_path(const char *path, const char *format, struct input **ret, struct err *err)
{
	unsigned int losses = mapping_losses();
	char head[HEAD_SIZE];
	ssize_t size = read_head(path, head, err);

	if (size < 0 && size != -EISDIR)
		return size;

	_cleanup_(input_freep) struct input *input = NULL;
	int r = size > 0 && packed_matches(head, size)
			? packed_open(path, format, &input, err)
			: open_plain(path, format, head, size, &input, err);

	if (mapping_losses() != losses)
		return truncated(path, err);
	if (r >= 0)
		*ret = TAKE(input);
	return r;
}

int input_open(const char *path, const char *format, struct input **ret, struct err *err)
{
	int fd = spool_descriptor(path);
	int r = fd < 0 ? 0 : spool_save(fd, path, err);

	if (r == 0)
		r = strcmp(path, "-") == 0 ? packed_open_content(path, fd, format, ret, err)
					   : open_path(path, format, ret, err);
	if (r >= 0) {
		free((*ret)->path);
		(*ret)->path = must_strdup(path);
	}
	return r;
}

void input_free(struct input *input)
{
	if (!input)
		return;
	free(input->path);
	free(input->content);
	free(input->warning);
	input->format->free(input);
}

const char *input_format_name(const struct input *input)
{
	return input->format->name;
}

int input_next(struct input *input, const struct record **ret, struct err *err)
{
	unsigned int losses = mapping_losses();
	const struct record *record;
	int r = input->format->next(input, &record, err);

	if (mapping_losses() != losses)
		return truncated(input->path, err);
	if (r > 0)
		*ret = record;
	if (r < 0 && input->content)
		packed_rename(err, input->content, input->path);
	return r;
}

const char *input_string(const struct input *input, uint32_t id)
{
	return input->format->string(input, id);
}

int64_t input_realtime_offset(const struct input *input)
{
	return input->realtime_offset;
}

bool input_has_realtime(const struct input *input)
{
	return input->has_realtime;
}

bool input_is_monotonic(const struct input *input)
{
	return input->is_monotonic;
}

const struct input_host *input_host(const struct input *input)
{
	return input->host.name ? &input->host : NULL;
}

const char *input_record_host(const struct input *input)
{
	return input->record_host ?: "";
}

const struct input_meta *input_meta(const struct input *input)
{
	return &input->meta;
}

bool input_is_timeless(const struct input *input)
{
	return input->is_timeless;
}

const char *input_warning(const struct input *input)
{
	return input->warning;
}

const char *input_note(const struct input *input, size_t i)
{
	return input->format->note ? input->format->note(input, i) : NULL;
}

nsec_t input_start(const struct input *input)
{
	return input->start;
}

uint64_t input_events(const struct input *input)
{
	return input->events;
}

struct raw_source *input_raw(struct input *input)
{
	return input->raw;
}
