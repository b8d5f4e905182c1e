/* SPDX-License-Identifier: Apache-2.0 */
#include "read/tracedat/tracedat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/heap.h"
#include "read/input_internal.h"
#include "read/raw/input.h"

/* Whether a has the earlier next event. */
static inline bool is_before(struct tracedat_ring *const *a, struct tracedat_ring *const *b)
{
	return (*a)->time < (*b)->time || ((*a)->time == (*b)->time && (*a)->order < (*b)->order);
}

static void init_heap(struct tracedat *t)
{
	t->has_begun = true;
	t->heap = must_alloc((t->rings.count + 1) * sizeof(t->heap[0]));
	for (size_t i = 0; i < t->rings.count; i++)
		if (tracedat_ring_next(t, &t->rings.items[i]))
			t->heap[t->heap_count++] = &t->rings.items[i];
	for (size_t i = t->heap_count; i--;)
		heap_sift_down(t->heap, t->heap_count, i, is_before);
}

/* Moves past the last event, whose data was valid until now. */
static void advance(struct tracedat *t)
{
	if (!t->has_begun) {
		init_heap(t);
		return;
	}
	if (!t->heap_count)
		return;
	if (!tracedat_ring_next(t, t->heap[0]))
		t->heap[0] = t->heap[--t->heap_count];
	if (t->heap_count)
		heap_sift_down(t->heap, t->heap_count, 0, is_before);
}

static void fill_loss(const struct tracedat_ring *ring, struct raw_event *ret)
{
	*ret = raw_event_empty(RAW_LOST);
	ret->lost.start = ring->last && ring->last < ring->time ? ring->last : ring->time;
	ret->lost.count = ring->lost;
}

static void fill_event(struct tracedat *t, const struct tracedat_ring *ring, struct raw_event *ret)
{
	uint16_t id = ring->size >= 2 ? tracepoint_number(ring->data, 2, false, t->abi.swap) : 0;

	t->format = kernel_formats_find(&t->formats, id);
	if (!t->format) {
		t->format = t->unknown;
		t->has_unknown = true;
	}
	kernel_format_decode(t->format, ring->data, ring->size, ret);

	const uint64_t *name = map_find(&t->comms, ret->tid);

	if (name)
		ret->comm = t->names.items[*name - 1];
}

/* Warns of skipped data, after the last event. */
static void warn_of_damage(struct tracedat *t)
{
	uint64_t limit = t->unpack ? unpack_exceeded(t->unpack) : 0;

	if (t->source.warning)
		return;
	if (limit)
		t->source.warning =
			must_printf("the decompressed size of '%s' exceeds the limit of %" PRIu64
				    " MiB; the rest counts as lost",
				    t->path, limit >> 20);
	else if (t->is_damaged)
		t->source.warning = must_printf(
			"'%s' is damaged or truncated; unreadable parts count as lost", t->path);
	else if (t->has_unknown)
		t->source.warning = must_printf("'%s' contains events of unknown format", t->path);
}

static int tracedat_next(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct tracedat *t = (struct tracedat *)source;

	advance(t);
	t->format = NULL;
	if (!t->heap_count) {
		warn_of_damage(t);
		return 0;
	}

	const struct tracedat_ring *ring = t->ring = t->heap[0];

	if (ring->data)
		fill_event(t, ring, ret);
	else
		fill_loss(ring, ret);
	/* callers rely on the order, so time does not go back */
	t->time = ring->time > t->time ? ring->time : t->time;
	ret->time = t->time;
	ret->cpu = ring->cpu;
	return 1;
}

static const char *tracedat_name(struct raw_source *source)
{
	const struct tracedat *t = (const struct tracedat *)source;

	return t->format ? t->format->full_name : "lost";
}

static void tracedat_fields(struct raw_source *source, const struct raw_visitor *visitor, void *arg)
{
	const struct tracedat *t = (const struct tracedat *)source;

	if (t->format)
		kernel_format_visit(t->format, t->ring->data, t->ring->size, visitor, arg);
}

static const struct kernel_format *format_of(struct raw_source *source, uint32_t type)
{
	struct tracedat *t = (struct tracedat *)source;
	const struct kernel_format *format =
		type < KERNEL_FORMAT_IDS ? kernel_formats_find(&t->formats, type) : NULL;

	return format ?: t->unknown;
}

static const char *tracedat_type_name(struct raw_source *source, uint32_t type)
{
	return format_of(source, type)->full_name;
}

/* Binary data is only passed on in the byte order of this host. */
static const char *tracedat_type_format(struct raw_source *source, uint32_t type)
{
	const struct kernel_format *format = format_of(source, type);

	return format->abi.swap ? NULL : format->text;
}

static const void *tracedat_data(struct raw_source *source, size_t *ret_size)
{
	const struct tracedat *t = (const struct tracedat *)source;

	if (!t->format || t->abi.swap)
		return NULL;
	*ret_size = t->ring->size;
	return t->ring->data;
}

static void tracedat_free(struct raw_source *source)
{
	struct tracedat *t = (struct tracedat *)source;

	for (size_t i = 0; i < t->rings.count; i++)
		free(t->rings.items[i].decompressed);
	vec_done(&t->rings);
	for (size_t i = 0; i < t->sections.count; i++)
		free(t->sections.items[i]);
	vec_done(&t->sections);
	vec_done(&t->names);
	map_done(&t->comms);
	kernel_formats_done(&t->formats);
	kernel_format_free(t->unknown);
	unpack_free(t->unpack);
	if (t->is_mapped)
		file_unmap(&t->file);
	free(t->heap);
	free(t->host);
	free(t->release);
	free(t->path);
	free(t->source.warning);
	free(t);
}

static const struct raw_source methods = {
	.next = tracedat_next,
	.name = tracedat_name,
	.fields = tracedat_fields,
	.type_name = tracedat_type_name,
	.type_format = tracedat_type_format,
	.data = tracedat_data,
	.free = tracedat_free,
};

/* The common fields that begin every event. */
static const char unknown_text[] =
	"name: unknown\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

/*
 * The recorded kinds of events follow from the formats: trace-cmd stores the formats
 * of the requested events.  If none were requested, or other tools enabled them,
 * trace-cmd stores all formats, and the kinds are unknown.
 */
static void set_kinds(struct tracedat *t)
{
	enum { ALL_SYSTEMS = 40 }; /* kernels have more systems, requests name fewer */

	if (t->formats.systems >= ALL_SYSTEMS)
		return;
	t->source.kinds = kernel_formats_kinds(&t->formats);
	t->source.has_kinds = true;
}

static void set_clock(struct tracedat *t)
{
	bool is_mono = view_is(t->clock, "mono");

	t->source.is_monotonic = is_mono && !t->offset && !t->mult;
	if (view_is(t->clock, "counter") || (view_is(t->clock, "x86-tsc") && !t->mult))
		t->source.warning = must_printf(
			"'%s' was recorded with the clock '%.*s', which does not measure time; "
			"its values are read as ns; record with -C mono",
			t->path, (int)t->clock.len, t->clock.s);
	else if (t->has_two_clocks)
		t->source.warning =
			must_printf("'%s' contains buffers with different clocks; only those with "
				    "the clock of the first one are read",
				    t->path);
}

static int tracedat_load(struct tracedat *t, struct err *err)
{
	int r = tracedat_read_head(t, err);

	if (r < 0)
		return r;
	t->unknown = kernel_format_new("", unknown_text, sizeof(unknown_text) - 1, t->abi);
	t->source.host = t->host;
	t->source.states = kernel_formats_states(&t->formats, t->release);
	set_kinds(t);
	set_clock(t);
	return 0;
}

int tracedat_open_memory(const char *path, struct view file, struct raw_source **ret,
			 struct err *err)
{
	struct tracedat *t = must_alloc(sizeof(*t));

	t->source = methods;
	t->path = must_strdup(path);
	t->file = file;

	int r = tracedat_load(t, err);

	if (r < 0)
		tracedat_free(&t->source);
	else
		*ret = &t->source;
	return r;
}

static int tracedat_open(const char *path, struct input **ret, struct err *err)
{
	struct raw_source *source;
	struct view file;
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;
	r = tracedat_open_memory(path, file, &source, err);
	if (r < 0) {
		file_unmap(&file);
		return r;
	}
	((struct tracedat *)source)->is_mapped = true;
	*ret = raw_input_new(&tracedat_format, source);
	return 0;
}

const struct input_format tracedat_format = {
	.name = "trace-cmd",
	.matches_file = tracedat_has_magic,
	.open = tracedat_open,
	.next = raw_input_next,
	.string = raw_input_string,
	.free = raw_input_free,
};
