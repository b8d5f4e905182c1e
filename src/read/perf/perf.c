/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf - the input format "perf": perf sched record, perf trace record, perf record.
 *
 * file.h reads the description of the events, merge.h sorts the records by time,
 * event.h decodes them into raw events.  This file combines these parts and collects
 * the warnings.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "read/perf/event.h"
#include "read/perf/merge.h"
#include "read/raw/input.h"

struct perf_source {
	struct raw_source raw;
	struct perf_file file;
	struct perf_merge merge;
	struct perf_decoder decoder;
	char *tool;
	bool has_warned;
};

/* Appends to the warning of the trace. */
__attribute__((format(printf, 2, 3))) static void add_warning(struct perf_source *s,
							      const char *fmt, ...)
{
	_cleanup_(freep) char *before = s->raw.warning;
	va_list args;

	va_start(args, fmt);
	_cleanup_(freep) char *more = must_vprintf(fmt, args);
	va_end(args);
	if (before)
		s->raw.warning = must_printf("%s; %s", before, more);
	else
		s->raw.warning = must_printf("'%s' %s", s->file.name, more);
}

/* Adds the warnings that are known after the last record. */
static void warn_at_end(struct perf_source *s)
{
	uint64_t unknown = s->decoder.unknown, late = 0;

	if (s->has_warned)
		return;
	s->has_warned = true;
	for (size_t i = 0; i < s->merge.parts.count; i++) {
		const struct perf_stream *stream = &s->merge.parts.items[i]->stream;
		const char *name = stream->file->name;

		unknown += stream->unknown;
		late += stream->late;
		if (stream->damage && i)
			add_warning(s, "contains a file '%s' that %s", name, stream->damage);
		else if (stream->damage)
			add_warning(s, "%s", stream->damage);
	}
	if (unknown)
		add_warning(s, "contains %" PRIu64 " record%s of unknown events", unknown,
			    unknown == 1 ? "" : "s");
	if (late)
		add_warning(s,
			    "contains %" PRIu64 " record%s out of order, moved to the time of the "
			    "preceding record",
			    late, late == 1 ? "" : "s");
}

static int next_event(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct perf_source *s = (struct perf_source *)source;
	const uint8_t *record;
	nsec_t time;

	while ((record = perf_merge_next(&s->merge, &time)))
		if (perf_decode(&s->decoder, record, time, ret))
			return 1;
	warn_at_end(s);
	s->raw.missing_cpus = s->decoder.missing_cpus;
	return perf_decode_final(&s->decoder, s->merge.now, ret);
}

static const char *event_name(struct raw_source *source)
{
	return perf_event_name(&((struct perf_source *)source)->decoder);
}

static void event_fields(struct raw_source *source, const struct raw_visitor *visitor, void *arg)
{
	perf_event_fields(&((struct perf_source *)source)->decoder, visitor, arg);
}

static const char *type_name(struct raw_source *source, uint32_t type)
{
	return perf_type_name(&((struct perf_source *)source)->decoder, type);
}

static const char *type_format(struct raw_source *source, uint32_t type)
{
	struct perf_file *file = &((struct perf_source *)source)->file;
	const struct kernel_format *format = type < PERF_OTHER_TYPES && file->has_formats
						     ? kernel_formats_find(&file->formats, type)
						     : NULL;

	return format ? format->text : NULL;
}

static const void *event_data(struct raw_source *source, size_t *ret_size)
{
	const struct perf_decoder *d = &((struct perf_source *)source)->decoder;

	*ret_size = d->size;
	return d->data;
}

static void free_source(struct raw_source *source)
{
	struct perf_source *s = (struct perf_source *)source;

	perf_decoder_done(&s->decoder);
	perf_merge_done(&s->merge);
	perf_file_done(&s->file);
	free(s->tool);
	free(s->raw.warning);
	free(s);
}

static void set_clock(struct perf_source *s)
{
	const struct perf_about *about = &s->file.about;
	int32_t clock = s->file.attrs.items[0].clock;

	s->raw.is_monotonic = clock == CLOCK_MONOTONIC;
	s->raw.has_realtime = about->has_realtime || clock == CLOCK_REALTIME;
	s->raw.realtime_offset = clock == CLOCK_REALTIME ? 0 : about->realtime_offset;
	if (clock < 0)
		add_warning(s,
			    "uses perf's default clock, so it cannot be aligned with other traces; "
			    "record with -k CLOCK_MONOTONIC");
}

/* Warns if formats of tracepoints, or tracepoints, are missing. */
static void warn_of_formats(struct perf_source *s)
{
	size_t known = 0, unknown = 0;

	for (size_t i = 0; i < s->file.attrs.count; i++) {
		known += s->file.attrs.items[i].format != NULL;
		unknown += !s->file.attrs.items[i].format &&
			   s->file.attrs.items[i].type == PERF_TRACEPOINT;
	}
	if (unknown)
		add_warning(s, "does not contain the formats of %zu of its tracepoints", unknown);
	else if (!known)
		add_warning(s, "contains no tracepoints; record with -e 'sched:*,raw_syscalls:*'");
}

static bool has_chains(const struct perf_file *file)
{
	for (size_t i = 0; i < file->attrs.count; i++)
		if (file->attrs.items[i].sample & PERF_HAS_CALLCHAIN)
			return true;
	return false;
}

/* directory is NULL for a single file. */
static int read_parts(struct perf_source *s, const char *directory, struct err *err)
{
	perf_merge_init(&s->merge, &s->file);
	if (directory) {
		free(s->file.name);
		s->file.name = must_strdup(directory);
		return perf_merge_add(&s->merge, directory, err);
	}
	if (s->file.about.is_directory)
		return err_set(
			err, -EINVAL,
			"'%s' has its records in other files of its directory; pass the directory",
			s->file.name);
	return 0;
}

static int check_attributes(const struct perf_file *file, struct err *err)
{
	if (file->attrs.count == 0)
		return err_set(err, -EBADMSG, "'%s' contains no events", file->name);
	for (size_t i = 0; i < file->attrs.count; i++)
		if (file->attrs.items[i].layout.time)
			return 0;
	return err_set(err, -EBADMSG, "'%s' contains no timestamps; record with perf record -T",
		       file->name);
}

static void describe(struct perf_source *s)
{
	s->raw.host = s->file.about.host;
	s->raw.has_kinds = true;
	s->raw.kinds = s->decoder.kinds;
	s->raw.states = s->file.has_formats
				? kernel_formats_states(&s->file.formats, s->file.about.release)
				: raw_states_of_release(s->file.about.release);
	set_clock(s);
	warn_of_formats(s);
	if (has_chains(&s->file))
		add_warning(s, "contains call chains, which sonde ignores");
	s->raw.is_partial = s->merge.parts.items[0]->stream.is_partial;
	if (s->raw.is_partial && s->decoder.tracepoints & (1u << RAW_SWITCH))
		add_warning(s,
			    "contains some processes only, without the context switches to them; "
			    "record with -a");
}

/* Takes ownership of s. */
static int open_source(struct perf_source *s, const char *directory, struct raw_source **ret,
		       struct err *err)
{
	s->raw = (struct raw_source){
		.next = next_event,
		.name = event_name,
		.fields = event_fields,
		.type_name = type_name,
		.type_format = type_format,
		.data = event_data,
		.free = free_source,
	};

	int r = read_parts(s, directory, err);

	if (r == 0)
		r = check_attributes(&s->file, err);

	if (r < 0) {
		free_source(&s->raw);
		return r;
	}
	perf_decoder_init(&s->decoder, &s->file);
	describe(s);
	*ret = &s->raw;
	return 0;
}

/* Takes ownership of s; result is that of opening its file. */
static int open_input(struct perf_source *s, int result, const char *directory, struct input **ret,
		      struct err *err)
{
	const struct perf_about *about = &s->file.about;
	struct raw_source *source;

	if (result < 0) {
		free(s);
		return result;
	}
	result = open_source(s, directory, &source, err);
	if (result < 0)
		return result;
	s->tool = must_printf("perf%s%s", about->version ? " " : "", about->version ?: "");
	*ret = raw_input_new(&perf_format, source);
	(*ret)->meta = (struct input_meta){
		.kernel = about->release,
		.machine = about->machine,
		.command = about->command,
		.tool = s->tool,
		.cpu_count = about->cpus,
	};
	return 0;
}

int perf_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		     struct err *err)
{
	struct perf_source *s = must_alloc(sizeof(*s));

	return open_input(s, perf_file_open_memory(&s->file, name, data, size, err), NULL, ret,
			  err);
}

static bool is_perf(const char *head, size_t size)
{
	return size >= PERF_PIPE_HEADER &&
	       (memcmp(head, "PERFILE2", 8) == 0 || memcmp(head, "2ELIFREP", 8) == 0);
}

static bool is_perf_dir(const char *path)
{
	_cleanup_(freep) char *data = must_printf("%s/data", path);
	_cleanup_(closep) int fd = open(data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[PERF_PIPE_HEADER];

	return fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
	       is_perf(head, sizeof(head));
}

static int open_path(const char *path, struct input **ret, struct err *err)
{
	struct perf_source *s = must_alloc(sizeof(*s));
	bool is_dir = is_perf_dir(path);
	_cleanup_(freep) char *file = must_printf("%s%s", path, is_dir ? "/data" : "");

	return open_input(s, perf_file_open(&s->file, file, err), is_dir ? path : NULL, ret, err);
}

/* Counts samples as events, as perf does. */
static int next_record(struct input *input, const struct record **ret, struct err *err)
{
	struct perf_source *s = (struct perf_source *)input->raw;
	int r = raw_input_next(input, ret, err);

	input->events = s->decoder.samples;
	return r;
}

const struct input_format perf_format = {
	.name = "perf",
	.matches_file = is_perf,
	.matches_dir = is_perf_dir,
	.open = open_path,
	.next = next_record,
	.string = raw_input_string,
	.free = raw_input_free,
};
