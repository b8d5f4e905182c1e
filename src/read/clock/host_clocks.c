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
	return (uint64_t)a - (uint64_t)b; /* wraps around if the file is damaged */
}

/* CLOCK_REALTIME can be set between two captures, but hardly ever by more than this, in ns. */
enum { BOOT_SLACK = NSEC_PER_SEC };

static bool is_near(int64_t a, int64_t b)
{
	int64_t between;

	return !__builtin_sub_overflow(a, b, &between) && between <= BOOT_SLACK &&
	       between >= -BOOT_SLACK;
}

/* Compares host names without the domain, which only some tools record. */
static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

/* Whether an input comes from this host and, as far as known, from the same boot. */
static bool is_from(const struct host_clock *host, const struct host_input *in)
{
	const struct input_host *named = input_host(in->input);

	if (!same_name(host->name, named->name))
		return false;
	if (!named->boot || !host->boot || is_near(named->boot, host->boot))
		return true;
	/* some tools compute the time of boot without the time in suspend */
	return host->is_monotonic && input_is_monotonic(in->input) && host->has_realtime &&
	       input_has_realtime(in->input) &&
	       is_near(host->realtime, input_realtime_offset(in->input));
}

/* Computes ns from the clock of an input to that of a host; false if unknown. */
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

static void assign_host(struct host_clocks *clocks, struct host_input *in)
{
	const char *name = input_host(in->input)->name;
	bool only = !name[0] && clocks->hosts.count == 1 && clocks->hosts.items[0].name[0];
	int64_t shift;

	for (size_t i = 0; i < clocks->hosts.count; i++) {
		if (!only && (!name[0] || !is_from(&clocks->hosts.items[i], in)))
			continue;
		if (find_shift(&clocks->hosts.items[i], in->input, &shift)) {
			join_host(clocks, in, i, shift);
			return;
		}
		break; /* treat it as another host, since the clocks cannot be related */
	}
	new_host(clocks, in);
}

enum { RANKS = 4 };

/*
 * Hosts are numbered in the order of their inputs, but traces with more metadata
 * come first: the clock of the first host is the timeline, and traces with less
 * metadata are assigned to the hosts of the others.
 */
static int rank_of(const struct input *input)
{
	if (!input_host(input)->name[0])
		return 3;
	if (!input_has_realtime(input))
		return 2;
	return !input_is_monotonic(input);
}

static void assign_hosts(struct host_clocks *clocks)
{
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < clocks->inputs.count; i++) {
			struct host_input *in = &clocks->inputs.items[i];

			if (in->is_kernel && rank_of(in->input) == rank)
				assign_host(clocks, in);
		}
}

/* Ignores errors: merge_next() reports them when it reads the input. */
static void collect_messages(struct align *align, const struct host_input *in, const char *format)
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
	return host->name[0] ? host->name : "(unknown host)";
}

/* The conversion for the root of a group: by CLOCK_REALTIME, or from start to start. */
static struct align_line unaligned_line(const struct host_clocks *clocks, const struct align *align,
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

/* ns that CLOCK_REALTIME of a host is behind that of the reference, at time t of its clock. */
static int64_t offset_at(const struct host_clocks *clocks, const struct host_clock *host, int64_t t)
{
	const struct host_clock *first = &clocks->hosts.items[0];
	int64_t raw = minus(align_apply(host->line, t), t);

	if (!host->has_realtime || !first->has_realtime)
		return raw;
	return minus(raw, minus(host->realtime, first->realtime));
}

static nsec_t round_bound(double bound)
{
	return bound < 9e18 ? (nsec_t)bound + 2 : UINT64_MAX; /* 2 ns for rounding */
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
	host->clock.bound = round_bound(found->bound);
}

static void set_root(struct host_clocks *clocks, size_t number, const struct align_host *found,
		     struct align_line unaligned)
{
	struct host_clock *host = &clocks->hosts.items[number];
	const struct align_link *link = found->link;
	bool by_realtime = host->has_realtime && clocks->hosts.items[0].has_realtime;

	host->line = unaligned;
	host->clock.alignment = by_realtime ? MERGE_TOO_FEW_MESSAGES : MERGE_UNALIGNED;
	host->clock.bound = UINT64_MAX;
	if (!link || !link->contradictory)
		return;
	host->clock.alignment = MERGE_CONTRADICTORY;
	host->line = align_compose(link->line, clocks->hosts.items[link->to].line);
	host->clock.offset = offset_at(clocks, host, link->middle);
	host->clock.bound = round_bound(link->bound);
}

/* The first trace of a host. */
static const char *path_of(const struct host_clocks *clocks, uint16_t host)
{
	size_t i = 0;

	while (!clocks->inputs.items[i].is_kernel || clocks->inputs.items[i].host != host)
		i++;
	return clocks->inputs.items[i].path;
}

static const char record_realtime[] =
	"record with 'trace-cmd record -C mono --date' or 'perf record -k CLOCK_MONOTONIC'";
static const char order_unreliable[] = "the order of events on different hosts is not reliable";

static char *alignment_warning(const struct host_clocks *clocks, size_t number)
{
	const struct host_clock *host = &clocks->hosts.items[number];
	const char *a = name_of(host), *b = name_of(&clocks->hosts.items[0]);

	switch (host->clock.alignment) {
	case MERGE_TOO_FEW_MESSAGES:
		return must_printf(
			"cannot align the clocks of '%s' and '%s': %" PRIu64 " messages to and "
			"%" PRIu64 " from '%s' were recorded at both ends, but %d in each "
			"direction are needed; using the time of day of each host, so %s",
			a, b, host->clock.from, host->clock.to, a, ALIGN_MATCHES_MIN,
			order_unreliable);
	case MERGE_UNALIGNED:
		return must_printf(
			"cannot align the clock of '%s' with '%s': one of the two traces does not "
			"contain the time of day; assuming that both started at the same time, so "
			"%s; %s",
			path_of(clocks, number), b, order_unreliable, record_realtime);
	case MERGE_CONTRADICTORY:
		return must_printf(
			"messages between '%s' and '%s' contradict each other, as if a clock was "
			"set during the recording: times of '%s' can be wrong by %.3f ms, so %s",
			a, host->clock.via[0] ? host->clock.via : b, a, host->clock.bound / 1e6,
			order_unreliable);
	default:
		return NULL;
	}
}

static void warn_of_alignment(const struct host_clocks *clocks, size_t number,
			      struct warnings *warnings)
{
	const struct host_clock *host = &clocks->hosts.items[number];

	if (strcmp(host->name, clocks->hosts.items[0].name) == 0 && host->boot)
		return; /* another boot of the first host: no message passes between the two */

	char *warning = alignment_warning(clocks, number);

	if (warning)
		*vec_push(&warnings->items) = warning;
}

static void align_hosts(struct host_clocks *clocks, struct align *align, struct warnings *warnings)
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
			set_root(clocks, i, &found[i], unaligned_line(clocks, align, i));
		if (i > 0)
			warn_of_alignment(clocks, i, warnings);
	}
}

/* The times of spans are CLOCK_REALTIME, so that of the first host must be known. */
static void warn_of_spans(const struct host_clocks *clocks, struct warnings *warnings)
{
	for (size_t i = 0; i < clocks->inputs.count; i++)
		if (!clocks->inputs.items[i].is_kernel && clocks->hosts.count &&
		    !input_is_timeless(clocks->inputs.items[i].input) &&
		    !clocks->hosts.items[0].has_realtime) {
			warnings_add(warnings,
				     "cannot correlate the spans of '%s' with '%s', which does not "
				     "contain the time of day; %s",
				     clocks->inputs.items[i].path, path_of(clocks, 0),
				     record_realtime);
			return;
		}
}

void host_clocks_solve(struct host_clocks *clocks, const char *format, struct warnings *warnings)
{
	assign_hosts(clocks);

	_cleanup_(align_freep) struct align *align = align_new(clocks->hosts.count);

	for (size_t i = 0; i < clocks->inputs.count && clocks->hosts.count > 1; i++)
		if (clocks->inputs.items[i].is_kernel)
			collect_messages(align, &clocks->inputs.items[i], format);
	align_hosts(clocks, align, warnings);
	for (size_t i = 0; i < clocks->hosts.count; i++) {
		clocks->hosts.items[i].clock.host = clocks->hosts.items[i].name;
		clocks->hosts.items[i].clock.reference = clocks->hosts.items[0].name;
	}
	warn_of_spans(clocks, warnings);
}

/* Converts from a clock that is shift ns from the clock of a host to the timeline. */
static struct source source_for(const struct host_clock *host, uint16_t number, int64_t shift)
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
		sources[0] = source_for(&clocks->hosts.items[in->host], in->host, in->shift);
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
				host->has_realtime ? source_for(host, i, shift) : sources[none];
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
