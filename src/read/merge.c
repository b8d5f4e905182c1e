/* SPDX-License-Identifier: Apache-2.0 */
#include "read/merge.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/vec.h"
#include "event/times.h"
#include "read/clock/host_clocks.h"

/* One input, and its next record. */
struct merge_input {
	char *path;
	struct input *input;
	bool is_kernel;         /* a kernel trace, and therefore from one host */
	struct source *sources; /* from host_clocks_sources() */
	const struct record *next;
	const struct source *source;
	uint64_t dropped; /* records from before the start of the timeline */
	int failed;       /* 0 or a negative errno */
	struct err err;   /* set if failed */
};

/* The time of an input's next record, on the timeline. */
struct heap_entry {
	nsec_t time;
	uint32_t input; /* index */
};

struct merge {
	VEC(struct merge_input) inputs;
	struct host_clocks clocks;
	struct warnings warnings;
	VEC(struct heap_entry) heap; /* inputs that have a next record; the earliest first */
	bool started;
};

static const char *get_string(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

static void make_sources(struct merge *merge, size_t i)
{
	struct merge_input *in = &merge->inputs.items[i];
	size_t count = in->is_kernel ? 1 : merge->clocks.hosts.count + 1;

	in->sources = host_clocks_sources(&merge->clocks, i);
	for (size_t k = 0; k < count; k++) {
		in->sources[k].get_string = get_string;
		in->sources[k].arg = in->input;
		in->sources[k].input = i;
		in->sources[k].has_host_clock = in->is_kernel;
	}
}

int merge_open(char **paths, const char *format, struct merge **ret, struct err *err)
{
	_cleanup_(merge_freep) struct merge *merge = must_alloc(sizeof(*merge));

	for (; *paths; paths++) {
		struct merge_input in = { 0 };
		int r = input_open(*paths, format, &in.input, err);

		if (r < 0)
			return r;
		in.path = must_strdup(*paths);
		in.is_kernel = input_host(in.input);
		*vec_push(&merge->inputs) = in;
		host_clocks_add(&merge->clocks, in.path, in.input);
	}
	host_clocks_solve(&merge->clocks, format, &merge->warnings);
	for (size_t i = 0; i < merge->inputs.count; i++)
		make_sources(merge, i);
	*ret = TAKE(merge);
	return 0;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->inputs.count; i++) {
		input_free(merge->inputs.items[i].input);
		free(merge->inputs.items[i].sources);
		free(merge->inputs.items[i].path);
	}
	vec_done(&merge->inputs);
	warnings_done(&merge->warnings);
	vec_done(&merge->heap);
	host_clocks_done(&merge->clocks);
	free(merge);
}

static const struct source *source_of(const struct merge *merge, const struct merge_input *in)
{
	if (in->is_kernel)
		return &in->sources[0];

	const char *name = input_record_host(in->input);
	size_t host = host_clocks_find(&merge->clocks, name);

	in->sources[host].host_name = name;
	in->sources[host].has_host_clock = *name && host < merge->clocks.hosts.count &&
					   merge->clocks.hosts.items[host].has_realtime;
	return &in->sources[host];
}

static bool is_on_timeline(nsec_t t, const struct source *source)
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
	return is_on_timeline(r->time, source) && is_on_timeline(record_start(r), source);
}

static void end_input(struct merge *merge, struct merge_input *in, int result)
{
	in->next = NULL;
	in->failed = result;
	if (input_warning(in->input)) /* some readers set it at the end */
		warnings_add(&merge->warnings, "%s", input_warning(in->input));
	if (in->dropped)
		warnings_add(&merge->warnings,
			     "'%s': dropped %" PRIu64 " record%s from before '%s' booted", in->path,
			     in->dropped, in->dropped == 1 ? "" : "s", merge_host_name(merge, 0));
}

static void advance(struct merge *merge, struct merge_input *in)
{
	int r;

	while ((r = input_next(in->input, &in->next, &in->err)) > 0) {
		in->source = source_of(merge, in);
		if (is_usable(in->next, in->source))
			return;
		in->dropped++;
	}
	end_input(merge, in, r);
}

/* Records with equal times are ordered by input. */
static bool is_before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->input < b->input;
}

static struct heap_entry entry_of(const struct merge *merge, uint32_t input)
{
	const struct merge_input *in = &merge->inputs.items[input];

	return (struct heap_entry){ source_time(in->source, in->next->time), input };
}

/* Moves the records of timeless inputs to the first time of the other inputs. */
static void set_timeless_start(struct merge *merge)
{
	nsec_t first = UINT64_MAX;

	for (size_t i = 0; i < merge->heap.count; i++)
		if (!input_is_timeless(merge->inputs.items[merge->heap.items[i].input].input) &&
		    merge->heap.items[i].time < first)
			first = merge->heap.items[i].time;
	for (size_t i = 0; i < merge->heap.count && first != UINT64_MAX; i++) {
		struct merge_input *in = &merge->inputs.items[merge->heap.items[i].input];

		if (!input_is_timeless(in->input))
			continue;
		for (size_t k = 0; k <= merge->clocks.hosts.count; k++)
			in->sources[k].shift = first;
		merge->heap.items[i].time = first;
	}
}

static void start(struct merge *merge)
{
	merge->started = true;
	for (size_t i = 0; i < merge->inputs.count; i++) {
		advance(merge, &merge->inputs.items[i]);
		if (merge->inputs.items[i].next)
			*vec_push(&merge->heap) = entry_of(merge, i);
	}
	set_timeless_start(merge);
	for (size_t i = merge->heap.count / 2; i-- > 0;)
		heap_sift_down(merge->heap.items, merge->heap.count, i, is_before);
}

/* Replaces the record that was returned last. */
static void advance_first(struct merge *merge)
{
	struct heap_entry *first = merge->heap.items;
	struct merge_input *in = &merge->inputs.items[first->input];

	advance(merge, in);
	if (!in->next)
		*first = merge->heap.items[--merge->heap.count];
	if (merge->heap.count < 2)
		return; /* a single input is in order */
	if (in->next)
		*first = entry_of(merge, first->input);
	heap_sift_down(merge->heap.items, merge->heap.count, 0, is_before);
}

static int first_error(const struct merge *merge, struct err *err)
{
	for (size_t i = 0; i < merge->inputs.count; i++)
		if (merge->inputs.items[i].failed) {
			*err = merge->inputs.items[i].err;
			return merge->inputs.items[i].failed;
		}
	return 0;
}

int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err)
{
	if (!merge->started)
		start(merge);
	else if (merge->heap.count)
		advance_first(merge);
	if (!merge->heap.count)
		return first_error(merge, err);

	const struct merge_input *first = &merge->inputs.items[merge->heap.items[0].input];

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

	for (size_t i = 0; i < merge->inputs.count; i++) {
		nsec_t start = input_start(merge->inputs.items[i].input);

		if (!start)
			continue;
		start = source_time(&merge->inputs.items[i].sources[0], start);
		first = !first || start < first ? start : first;
	}
	return first;
}
