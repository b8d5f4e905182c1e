/* SPDX-License-Identifier: Apache-2.0 */
#include "read/merge.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"

/* One input, and its next record. */
struct stream {
	char *path;
	struct input *input;
	struct source *sources;    /* one; of a foreign trace one for each host, and one for none */
	const struct record *next; /* NULL if it has not been asked for, or there is none */
	const struct source *source;
	uint64_t left_out;
	int failed; /* negative errno */
	struct err why;
	bool ended;
};

struct merge {
	VEC(struct stream) streams;
	VEC(const struct input_host *) hosts; /* by their numbers; borrowed from inputs */
	int64_t line;                         /* what to add to its times to get CLOCK_REALTIME */
	VEC(char *) notices;
};

/* Clocks are set while machines run, but hardly ever by more than this between two captures. */
enum { BOOT_SLACK = NSEC_PER_SEC };

static bool same_boot(const struct input_host *a, const struct input_host *b)
{
	int64_t between;

	return strcmp(a->name, b->name) == 0 &&
	       !__builtin_sub_overflow(a->boot, b->boot, &between) && between <= BOOT_SLACK &&
	       between >= -BOOT_SLACK;
}

/* The number of a captured machine, a new one if it has none yet. */
static uint16_t number_host(struct merge *merge, const struct input_host *host)
{
	for (size_t i = 0; i < merge->hosts.count; i++)
		if (same_boot(merge->hosts.items[i], host))
			return i;
	*vec_push(&merge->hosts) = host;
	return merge->hosts.count - 1;
}

static const char *get_string(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

static struct source *make_sources(const struct merge *merge, const struct stream *s, size_t count,
				   int64_t shift)
{
	struct source *sources = must_alloc(count * sizeof(*sources));

	for (size_t i = 0; i < count; i++)
		sources[i] = (struct source){ .get_string = get_string,
					      .arg = s->input,
					      .host = i,
					      .input = s - merge->streams.items,
					      .shift = shift };
	return sources;
}

static int64_t minus(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b; /* a file may say anything */
}

/* The captures first: they say which machines there are, and the first of them which line. */
static void place_captures(struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		struct stream *s = &merge->streams.items[i];
		const struct input_host *host = input_host(s->input);

		if (!host)
			continue;
		if (!merge->hosts.count)
			merge->line = input_realtime_offset(s->input);

		uint16_t number = number_host(merge, host);
		int64_t shift = minus(input_realtime_offset(s->input), merge->line);

		/* its clock is that of the line, however the other one was set meanwhile */
		s->sources = make_sources(merge, s, 1, number == 0 ? 0 : shift);
		s->sources[0].host = number;
	}
}

static void place_foreign(struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		struct stream *s = &merge->streams.items[i];

		if (!s->sources)
			s->sources =
				make_sources(merge, s, merge->hosts.count + 1,
					     minus(input_realtime_offset(s->input), merge->line));
	}
}

int merge_open(char **paths, const char *format, struct merge **ret, struct err *err)
{
	_cleanup_(merge_freep) struct merge *merge = must_alloc(sizeof(*merge));

	for (; *paths; paths++) {
		struct input *input;
		int r = input_open(*paths, format, &input, err);

		if (r < 0)
			return r;
		*vec_push(&merge->streams) =
			(struct stream){ .path = must_strdup(*paths), .input = input };
		if (input_notice(input))
			*vec_push(&merge->notices) = must_strdup(input_notice(input));
	}
	place_captures(merge);
	place_foreign(merge);
	*ret = TAKE(merge);
	return 0;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->streams.count; i++) {
		input_free(merge->streams.items[i].input);
		free(merge->streams.items[i].sources);
		free(merge->streams.items[i].path);
	}
	for (size_t i = 0; i < merge->notices.count; i++)
		free(merge->notices.items[i]);
	vec_done(&merge->streams);
	vec_done(&merge->hosts);
	vec_done(&merge->notices);
	free(merge);
}

/* Names are compared up to the domain, which some tools add and some do not. */
static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

static const struct source *source_of(const struct merge *merge, const struct stream *s)
{
	const char *name = input_record_host(s->input);
	size_t none = merge->hosts.count;

	if (input_host(s->input))
		return &s->sources[0];
	if (!name[0])
		return &s->sources[none == 1 ? 0 : none];
	for (size_t i = 0; i < none; i++)
		if (same_name(merge->hosts.items[i]->name, name))
			return &s->sources[i];
	return &s->sources[none];
}

/* When what a record tells of began; its own time, if it is of a moment. */
static nsec_t start_of(const struct record *r)
{
	switch (r->kind) {
	case RECORD_RUN:
		return ((const struct record_run *)r)->start;
	case RECORD_WAIT:
		return ((const struct record_wait *)r)->start;
	case RECORD_SYSCALL:
		return ((const struct record_syscall *)r)->start;
	case RECORD_BLOCK:
		return ((const struct record_block *)r)->start;
	case RECORD_LOSS:
		return ((const struct record_loss *)r)->start;
	case RECORD_SPAN:
		return ((const struct record_span *)r)->start;
	default:
		return r->time;
	}
}

static bool on_the_line(nsec_t t, int64_t shift)
{
	int64_t shifted;

	return t <= INT64_MAX && !__builtin_add_overflow((int64_t)t, shift, &shifted) &&
	       shifted >= 0;
}

static bool is_usable(const struct record *r, int64_t shift)
{
	return !shift || (on_the_line(r->time, shift) && on_the_line(start_of(r), shift));
}

static void end_stream(struct merge *merge, struct stream *s, int result)
{
	s->next = NULL;
	s->ended = true;
	s->failed = result;
	if (s->left_out)
		*vec_push(&merge->notices) = must_printf(
			"'%s': left out %" PRIu64 " record%s from before '%s' was started", s->path,
			s->left_out, s->left_out == 1 ? "" : "s", merge->hosts.items[0]->name);
}

static void advance(struct merge *merge, struct stream *s)
{
	int r;

	while ((r = input_next(s->input, &s->next, &s->why)) > 0) {
		s->source = source_of(merge, s);
		if (is_usable(s->next, s->source->shift))
			return;
		s->left_out++;
	}
	end_stream(merge, s, r);
}

static int end_of(const struct merge *merge, struct err *err)
{
	for (size_t i = 0; i < merge->streams.count; i++)
		if (merge->streams.items[i].failed) {
			*err = merge->streams.items[i].why;
			return merge->streams.items[i].failed;
		}
	return 0;
}

int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err)
{
	struct stream *first = NULL;
	nsec_t first_time = 0;

	for (size_t i = 0; i < merge->streams.count; i++) {
		struct stream *s = &merge->streams.items[i];

		if (!s->next && !s->ended)
			advance(merge, s);
		if (!s->next)
			continue;

		nsec_t time = source_time(s->source, s->next->time);

		if (!first || time < first_time) {
			first = s;
			first_time = time;
		}
	}
	if (!first)
		return end_of(merge, err);
	*ret = TAKE(first->next); /* the next call asks for another one */
	*ret_source = first->source;
	return 1;
}

const char *merge_notice(const struct merge *merge, size_t i)
{
	return i < merge->notices.count ? merge->notices.items[i] : NULL;
}

size_t merge_host_count(const struct merge *merge)
{
	return merge->hosts.count;
}

const char *merge_host_name(const struct merge *merge, size_t i)
{
	return merge->hosts.items[i]->name;
}

struct merge_clock merge_clock(const struct merge *merge, size_t host)
{
	return (struct merge_clock){ .host = merge->hosts.items[host]->name,
				     .reference = merge->hosts.items[0]->name,
				     .how = host ? MERGE_TOO_FEW : MERGE_REFERENCE,
				     .group = host,
				     .bound = host ? UINT64_MAX : 0,
				     .via = "" };
}

nsec_t merge_start(const struct merge *merge)
{
	nsec_t first = 0;

	for (size_t i = 0; i < merge->streams.count; i++) {
		nsec_t start = input_start(merge->streams.items[i].input);

		if (!start)
			continue;
		start = source_time(&merge->streams.items[i].sources[0], start);
		first = !first || start < first ? start : first;
	}
	return first;
}
