/* SPDX-License-Identifier: Apache-2.0 */
#include "read/clock/host_clocks.h"

#include <inttypes.h>
#include <string.h>

void host_clocks_done(struct host_clocks *clocks)
{
	vec_done(&clocks->hosts);
	vec_done(&clocks->inputs);
}

void host_clocks_add(struct host_clocks *clocks, const char *path, struct input *input)
{
	*vec_push(&clocks->inputs) =
		(struct host_input){ .path = path, .input = input, .is_kernel = input_host(input) };
}

static int64_t minus(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b; /* a file may say anything */
}

/* Clocks are set while machines run, but hardly ever by more than this between two captures. */
enum { BOOT_SLACK = NSEC_PER_SEC };

static bool is_near(int64_t a, int64_t b)
{
	int64_t between;

	return !__builtin_sub_overflow(a, b, &between) && between <= BOOT_SLACK &&
	       between >= -BOOT_SLACK;
}

/* Names are compared up to the domain, which some tools add and some do not. */
static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

/* Whether an input is of this machine, and from the same boot as far as that is known. */
static bool is_of(const struct host_clock *host, const struct host_input *in)
{
	const struct input_host *named = input_host(in->input);

	if (!same_name(host->name, named->name))
		return false;
	if (!named->boot || !host->boot || is_near(named->boot, host->boot))
		return true;
	/* not all who tell know for how long it was asleep */
	return host->is_monotonic && input_is_monotonic(in->input) && host->has_realtime &&
	       input_has_realtime(in->input) &&
	       is_near(host->realtime, input_realtime_offset(in->input));
}

/* What leads from the clock of an input to that of its machine; false if that is not known. */
static bool find_shift(const struct host_clock *host, const struct input *input, int64_t *ret)
{
	if (host->is_monotonic && input_is_monotonic(input))
		*ret = 0;
	else if (host->has_realtime && input_has_realtime(input))
		*ret = minus(input_realtime_offset(input), host->realtime);
	else
		return false;
	return true;
}

static void join_host(struct host_clocks *clocks, struct host_input *in, size_t number,
		      int64_t shift)
{
	struct host_clock *host = &clocks->hosts.items[number];

	in->host = number;
	in->shift = shift;
	if (!host->has_realtime && input_has_realtime(in->input)) {
		host->has_realtime = true;
		host->realtime = minus(input_realtime_offset(in->input), shift);
	}
	if (!host->boot)
		host->boot = input_host(in->input)->boot;
}

static void new_host(struct host_clocks *clocks, struct host_input *in)
{
	const struct input_host *named = input_host(in->input);

	*vec_push(&clocks->hosts) =
		(struct host_clock){ .name = named->name,
				     .boot = named->boot,
				     .has_realtime = input_has_realtime(in->input),
				     .realtime = input_realtime_offset(in->input),
				     .is_monotonic = input_is_monotonic(in->input) };
	in->host = clocks->hosts.count - 1;
}

static void place_kernel(struct host_clocks *clocks, struct host_input *in)
{
	const char *name = input_host(in->input)->name;
	bool only = !name[0] && clocks->hosts.count == 1 && clocks->hosts.items[0].name[0];
	int64_t shift;

	for (size_t i = 0; i < clocks->hosts.count; i++) {
		if (!only && (!name[0] || !is_of(&clocks->hosts.items[i], in)))
			continue;
		if (find_shift(&clocks->hosts.items[i], in->input, &shift)) {
			join_host(clocks, in, i, shift);
			return;
		}
		break; /* it has to count as another machine */
	}
	new_host(clocks, in);
}

enum { RANKS = 4 };

/*
 * Machines get their numbers in the order of their inputs, but those of which
 * more is known come first: the line is the clock of the first, and others are
 * found by what is known of them.
 */
static int rank_of(const struct input *input)
{
	if (!input_host(input)->name[0])
		return 3;
	if (!input_has_realtime(input))
		return 2;
	return !input_is_monotonic(input);
}

static void place_kernels(struct host_clocks *clocks)
{
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < clocks->inputs.count; i++) {
			struct host_input *in = &clocks->inputs.items[i];

			if (in->is_kernel && rank_of(in->input) == rank)
				place_kernel(clocks, in);
		}
}

/* What is wrong with an input will be told when it is read for good. */
static void collect(struct align *align, const struct host_input *in, const char *format)
{
	_cleanup_(input_freep) struct input *input = NULL;
	const struct record *record;
	struct err err;

	if (input_open(in->path, format, &input, &err) < 0)
		return;
	while (input_next(input, &record, &err) > 0)
		align_add(align, in->host, in->shift, record);
}

static const char *name_of(const struct host_clock *host)
{
	return host->name[0] ? host->name : "a machine without a name";
}

/* Where a group's first machine stands on the line, as far as its own clock tells. */
static struct align_line own_timeline(const struct host_clocks *clocks, const struct align *align,
				      size_t number)
{
	const struct host_clock *host = &clocks->hosts.items[number];
	const struct host_clock *first = &clocks->hosts.items[0];

	if (number == 0)
		return (struct align_line){ 0 };
	if (host->has_realtime && first->has_realtime)
		return (struct align_line){ .shift = minus(host->realtime, first->realtime) };
	return (struct align_line){ .shift = minus(align_begin(align, 0),
						   align_begin(align, number)) };
}

/* By how much its time of day, at that moment of its clock, is behind that of the reference. */
static int64_t offset_at(const struct host_clocks *clocks, const struct host_clock *host, int64_t t)
{
	const struct host_clock *first = &clocks->hosts.items[0];
	int64_t raw = minus(align_apply(host->line, t), t);

	if (!host->has_realtime || !first->has_realtime)
		return raw;
	return minus(raw, minus(host->realtime, first->realtime));
}

static nsec_t whole_bound(double bound)
{
	return bound < 9e18 ? (nsec_t)bound + 2 : UINT64_MAX; /* and what was rounded */
}

static void set_link(const struct host_clocks *clocks, struct host_clock *host, size_t number,
		     const struct align_link *link)
{
	bool there = link->from == number;

	host->clock.via = clocks->hosts.items[there ? link->to : link->from].name;
	host->clock.to = there ? link->there : link->back;
	host->clock.from = there ? link->back : link->there;
	host->clock.dropped = link->dropped;
}

static void set_aligned(struct host_clocks *clocks, size_t number, const struct align_host *found,
			struct align_line root)
{
	struct host_clock *host = &clocks->hosts.items[number];
	const struct align_link *link = found->link;
	int64_t middle =
		link->from == number ? link->middle : align_apply(link->line, link->middle);

	host->line = align_compose(found->line, root);
	host->clock.alignment = MERGE_ALIGNED;
	host->clock.offset = offset_at(clocks, host, middle);
	host->clock.drift = host->line.drift * 1e6;
	host->clock.bound = whole_bound(found->bound);
}

static void set_root(struct host_clocks *clocks, size_t number, const struct align_host *found,
		     struct align_line own)
{
	struct host_clock *host = &clocks->hosts.items[number];
	const struct align_link *link = found->link;
	bool placed = host->has_realtime && clocks->hosts.items[0].has_realtime;

	host->line = own;
	host->clock.alignment = placed ? MERGE_TOO_FEW_MESSAGES : MERGE_UNALIGNED;
	host->clock.bound = UINT64_MAX;
	if (!link || !link->contradictory)
		return;
	host->clock.alignment = MERGE_CONTRADICTORY;
	host->line = align_compose(link->line, clocks->hosts.items[link->to].line);
	host->clock.offset = offset_at(clocks, host, link->middle);
	host->clock.bound = whole_bound(link->bound);
}

/* The first trace of a machine. */
static const char *path_of(const struct host_clocks *clocks, uint16_t host)
{
	size_t i = 0;

	while (!clocks->inputs.items[i].is_kernel || clocks->inputs.items[i].host != host)
		i++;
	return clocks->inputs.items[i].path;
}

static const char how_to_tell_time[] =
	"record with trace-cmd record -C mono --date, or perf record -k CLOCK_MONOTONIC";

static void tell(const struct host_clocks *clocks, size_t number, struct warnings *warnings)
{
	const struct host_clock *host = &clocks->hosts.items[number];
	const char *a = name_of(host), *b = name_of(&clocks->hosts.items[0]);
	const char *then = "nothing is concluded from the order of their times";

	if (strcmp(host->name, clocks->hosts.items[0].name) == 0 && host->boot)
		return; /* the same machine, started anew: nothing passes between the two */
	if (host->clock.alignment == MERGE_TOO_FEW_MESSAGES)
		*vec_push(&warnings->items) = must_printf(
			"the clocks of '%s' and '%s' cannot be aligned: of the messages between "
			"machines, %" PRIu64 " to and %" PRIu64 " from '%s' were recorded at both "
			"ends, and it takes %d each way; both are shown by their own time of day, "
			"and %s",
			a, b, host->clock.from, host->clock.to, a, ALIGN_MATCHES_MIN, then);
	else if (host->clock.alignment == MERGE_UNALIGNED)
		*vec_push(&warnings->items) = must_printf(
			"'%s': its clock cannot be compared with that of '%s', as one of them does "
			"not tell the time of day; it is shown as if both had begun at once, and "
			"%s; %s",
			path_of(clocks, number), b, then, how_to_tell_time);
	else if (host->clock.alignment == MERGE_CONTRADICTORY)
		*vec_push(&warnings->items) = must_printf(
			"the messages between '%s' and '%s' contradict each other, as if a clock "
			"had been set meanwhile: times of '%s' may be wrong by %.3f ms, and %s",
			a, host->clock.via[0] ? host->clock.via : name_of(&clocks->hosts.items[0]),
			a, host->clock.bound / 1e6, then);
}

static void place_hosts(struct host_clocks *clocks, struct align *align, struct warnings *warnings)
{
	const struct align_host *found = align_solve(align);

	for (size_t i = 0; i < clocks->hosts.count; i++) {
		struct host_clock *host = &clocks->hosts.items[i];
		uint16_t root = found[i].root;

		host->clock.group = root;
		host->clock.via = "";
		if (found[i].link)
			set_link(clocks, host, i, found[i].link);
		if (root != i)
			set_aligned(clocks, i, &found[i], clocks->hosts.items[root].line);
		else if (i > 0)
			set_root(clocks, i, &found[i], own_timeline(clocks, align, i));
		if (i > 0)
			tell(clocks, i, warnings);
	}
}

/* Spans tell the time of day; where a machine does not know it, they cannot be its own. */
static void tell_of_spans(const struct host_clocks *clocks, struct warnings *warnings)
{
	for (size_t i = 0; i < clocks->inputs.count; i++)
		if (!clocks->inputs.items[i].is_kernel && clocks->hosts.count &&
		    !input_is_timeless(clocks->inputs.items[i].input) &&
		    !clocks->hosts.items[0].has_realtime) {
			*vec_push(&warnings->items) = must_printf(
				"'%s' cannot be joined with '%s', which does not tell the time of "
				"day; %s",
				clocks->inputs.items[i].path, path_of(clocks, 0), how_to_tell_time);
			return;
		}
}

void host_clocks_solve(struct host_clocks *clocks, const char *format, struct warnings *warnings)
{
	place_kernels(clocks);

	_cleanup_(align_freep) struct align *align = align_new(clocks->hosts.count);

	for (size_t i = 0; i < clocks->inputs.count && clocks->hosts.count > 1; i++)
		if (clocks->inputs.items[i].is_kernel)
			collect(align, &clocks->inputs.items[i], format);
	place_hosts(clocks, align, warnings);
	for (size_t i = 0; i < clocks->hosts.count; i++) {
		clocks->hosts.items[i].clock.host = clocks->hosts.items[i].name;
		clocks->hosts.items[i].clock.reference = clocks->hosts.items[0].name;
	}
	tell_of_spans(clocks, warnings);
}

/* From a clock that is so far from that of a machine, to the line. */
static struct source source_via(const struct host_clock *host, uint16_t number, int64_t shift)
{
	double drift = host->line.drift * ((int64_t)1 << SOURCE_DRIFT_BITS);

	return (struct source){
		.host = number,
		.group = host->clock.group,
		.shift = minus(shift, minus(0, host->line.shift)),
		.drift = (int64_t)(drift < 0 ? drift - 0.5 : drift + 0.5),
		.origin = minus(host->line.origin, shift),
	};
}

struct source *host_clocks_sources(const struct host_clocks *clocks, size_t input)
{
	const struct host_input *in = &clocks->inputs.items[input];
	size_t none = clocks->hosts.count;
	struct source *sources = must_alloc((none + 1) * sizeof(*sources));

	if (in->is_kernel) {
		sources[0] = source_via(&clocks->hosts.items[in->host], in->host, in->shift);
		return sources;
	}
	sources[none] = (struct source){ .host = none, .group = none };
	if (none && clocks->hosts.items[0].has_realtime)
		sources[none].shift =
			minus(input_realtime_offset(in->input), clocks->hosts.items[0].realtime);
	for (size_t i = 0; i < none; i++) {
		const struct host_clock *host = &clocks->hosts.items[i];
		int64_t shift = minus(input_realtime_offset(in->input), host->realtime);

		if (input_is_timeless(in->input))
			sources[i] = (struct source){ .host = i, .group = host->clock.group };
		else
			sources[i] =
				host->has_realtime ? source_via(host, i, shift) : sources[none];
	}
	return sources;
}

size_t host_clocks_find(const struct host_clocks *clocks, const char *name)
{
	size_t none = clocks->hosts.count;

	if (!name[0])
		return none == 1 ? 0 : none;
	for (size_t i = 0; i < none; i++)
		if (same_name(clocks->hosts.items[i].name, name))
			return i;
	return none;
}
