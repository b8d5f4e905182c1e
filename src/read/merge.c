/* SPDX-License-Identifier: Apache-2.0 */
#include "read/merge.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"
#include "event/times.h"
#include "read/clock/host_clocks.h"

/* One input, and its next record. */
struct stream {
	char *path;
	struct input *input;
	bool is_kernel;         /* a kernel trace, of one machine */
	struct source *sources; /* as host_clocks_sources() has them */
	const struct record *next;
	const struct source *source;
	uint64_t left_out;
	int failed; /* negative errno */
	struct err why;
};

/* A stream that has a next record, and when that was, on the common line. */
struct turn {
	nsec_t time;
	uint32_t stream;
};

struct merge {
	VEC(struct stream) streams;
	struct host_clocks clocks;
	struct warnings warnings;
	VEC(struct turn) heap; /* the earliest first */
	bool began;
};

static const char *get_string(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

static void make_sources(struct merge *merge, size_t i)
{
	struct stream *s = &merge->streams.items[i];
	size_t count = s->is_kernel ? 1 : merge->clocks.hosts.count + 1;

	s->sources = host_clocks_sources(&merge->clocks, i);
	for (size_t k = 0; k < count; k++) {
		s->sources[k].get_string = get_string;
		s->sources[k].arg = s->input;
		s->sources[k].input = i;
		s->sources[k].has_host_clock = s->is_kernel;
	}
}

int merge_open(char **paths, const char *format, struct merge **ret, struct err *err)
{
	_cleanup_(merge_freep) struct merge *merge = must_alloc(sizeof(*merge));

	for (; *paths; paths++) {
		struct stream stream = { 0 };
		int r = input_open(*paths, format, &stream.input, err);

		if (r < 0)
			return r;
		stream.path = must_strdup(*paths);
		stream.is_kernel = input_host(stream.input);
		*vec_push(&merge->streams) = stream;
		host_clocks_add(&merge->clocks, stream.path, stream.input);
	}
	host_clocks_solve(&merge->clocks, format, &merge->warnings);
	for (size_t i = 0; i < merge->streams.count; i++)
		make_sources(merge, i);
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
	for (size_t i = 0; i < merge->warnings.items.count; i++)
		free(merge->warnings.items.items[i]);
	vec_done(&merge->streams);
	vec_done(&merge->warnings.items);
	vec_done(&merge->heap);
	host_clocks_done(&merge->clocks);
	free(merge);
}

static const struct source *source_of(const struct merge *merge, const struct stream *s)
{
	if (s->is_kernel)
		return &s->sources[0];

	const char *name = input_record_host(s->input);
	size_t host = host_clocks_find(&merge->clocks, name);

	s->sources[host].host_name = name;
	s->sources[host].has_host_clock = *name && host < merge->clocks.hosts.count &&
					  merge->clocks.hosts.items[host].has_realtime;
	return &s->sources[host];
}

static bool on_the_line(nsec_t t, const struct source *source)
{
	__int128 since = (__int128)t - source->origin;
	__int128 shifted =
		(__int128)t + source->shift + (since * source->drift >> SOURCE_DRIFT_BITS);

	return shifted >= 0 && shifted <= INT64_MAX;
}

static bool is_usable(const struct record *r, const struct source *source)
{
	if (!source->shift && !source->drift)
		return true;
	return on_the_line(r->time, source) && on_the_line(record_start(r), source);
}

static void end_stream(struct merge *merge, struct stream *s, int result)
{
	s->next = NULL;
	s->failed = result;
	if (input_warning(s->input)) /* which may be known only now */
		*vec_push(&merge->warnings.items) = must_strdup(input_warning(s->input));
	if (s->left_out)
		*vec_push(&merge->warnings.items) = must_printf(
			"'%s': left out %" PRIu64 " record%s from before '%s' was started", s->path,
			s->left_out, s->left_out == 1 ? "" : "s", merge_host_name(merge, 0));
}

static void advance(struct merge *merge, struct stream *s)
{
	int r;

	while ((r = input_next(s->input, &s->next, &s->why)) > 0) {
		s->source = source_of(merge, s);
		if (is_usable(s->next, s->source))
			return;
		s->left_out++;
	}
	end_stream(merge, s, r);
}

/* Of records of the same time, those of the first input come first. */
static bool is_before(struct turn a, struct turn b)
{
	return a.time != b.time ? a.time < b.time : a.stream < b.stream;
}

/* Put the i-th of the heap where it belongs: those behind it are in order. */
static void sift(struct merge *merge, size_t i)
{
	struct turn *heap = merge->heap.items, moved = heap[i];
	size_t count = merge->heap.count;

	for (size_t child; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && is_before(heap[child + 1], heap[child]))
			child++;
		if (is_before(moved, heap[child]))
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

static struct turn slice_of(const struct merge *merge, uint32_t stream)
{
	const struct stream *s = &merge->streams.items[stream];

	return (struct turn){ source_time(s->source, s->next->time), stream };
}

/* Puts what has no time of its own where the others begin. */
static void place_timeless(struct merge *merge)
{
	nsec_t first = UINT64_MAX;

	for (size_t i = 0; i < merge->heap.count; i++)
		if (!input_is_timeless(merge->streams.items[merge->heap.items[i].stream].input) &&
		    merge->heap.items[i].time < first)
			first = merge->heap.items[i].time;
	for (size_t i = 0; i < merge->heap.count && first != UINT64_MAX; i++) {
		struct stream *s = &merge->streams.items[merge->heap.items[i].stream];

		if (!input_is_timeless(s->input))
			continue;
		for (size_t k = 0; k <= merge->clocks.hosts.count; k++)
			s->sources[k].shift = first;
		merge->heap.items[i].time = first;
	}
}

static void begin(struct merge *merge)
{
	merge->began = true;
	for (size_t i = 0; i < merge->streams.count; i++) {
		advance(merge, &merge->streams.items[i]);
		if (merge->streams.items[i].next)
			*vec_push(&merge->heap) = slice_of(merge, i);
	}
	place_timeless(merge);
	for (size_t i = merge->heap.count / 2; i-- > 0;)
		sift(merge, i);
}

/* The record that was given last is not needed any more. */
static void go_on(struct merge *merge)
{
	struct turn *first = merge->heap.items;
	struct stream *s = &merge->streams.items[first->stream];

	advance(merge, s);
	if (!s->next)
		*first = merge->heap.items[--merge->heap.count];
	if (merge->heap.count < 2)
		return; /* one alone is in order */
	if (s->next)
		*first = slice_of(merge, first->stream);
	sift(merge, 0);
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
	if (!merge->began)
		begin(merge);
	else if (merge->heap.count)
		go_on(merge);
	if (!merge->heap.count)
		return end_of(merge, err);

	const struct stream *first = &merge->streams.items[merge->heap.items[0].stream];

	*ret = first->next;
	*ret_source = first->source;
	return 1;
}

const char *merge_warning(const struct merge *merge, size_t i)
{
	return i < merge->warnings.items.count ? merge->warnings.items.items[i] : NULL;
}

size_t merge_host_count(const struct merge *merge)
{
	return merge->clocks.hosts.count;
}

const char *merge_host_name(const struct merge *merge, size_t i)
{
	return i < merge->clocks.hosts.count ? merge->clocks.hosts.items[i].name : "";
}

struct merge_clock merge_clock(const struct merge *merge, size_t host)
{
	return merge->clocks.hosts.items[host].clock;
}

int64_t merge_realtime_offset(const struct merge *merge)
{
	return merge->clocks.hosts.count ? merge->clocks.hosts.items[0].realtime : 0;
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
