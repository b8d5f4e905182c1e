/* SPDX-License-Identifier: Apache-2.0 */
#include "read/perf/stream.h"

#include <errno.h>
#include <inttypes.h>

#include "read/file/unpack.h"

enum {
	BATCH = 8192, /* minimum records in a batch: few sorts, but fits into the cache */
	AHEAD = 8,    /* prefetch distance, in records */
	MIN_BUDGET = 16 << 20,
	MAX_BUDGET = 256 << 20, /* limit for one COMPRESSED record, in bytes */
	HELD_RATIO = 16, /* limit for held memory above min_held, relative to the file size */
};

static const size_t min_held = 256 << 20;

void perf_stream_done(struct perf_stream *s)
{
	perf_unpack_done(&s->unpack);
	vec_done(&s->entries);
	free(s->spare);
	free(s->damage);
}

static void end_damaged(struct perf_stream *s, uint64_t offset, const char *why)
{
	s->ended = true;
	if (!s->damage)
		s->damage =
			must_printf("cannot be read beyond offset %" PRIu64 ": %s", offset, why);
}

/* The offset of the time in samples, or 0 if it differs between attributes. */
static uint16_t common_time(const struct perf_file *file)
{
	for (size_t i = 1; i < file->attrs.count; i++)
		if (file->attrs.items[i].layout.time != file->attrs.items[0].layout.time)
			return 0;
	return file->attrs.count ? file->attrs.items[0].layout.time : 0;
}

const struct perf_attr *perf_sample_attr(const struct perf_file *file, const uint8_t *record,
					 size_t size)
{
	size_t at = file->attrs.count ? file->attrs.items[0].layout.id : 0;

	return perf_file_attr(file, at && at + 8 <= size ? perf_u64(record + at, file->swap) : 0);
}

const struct perf_attr *perf_trailer_attr(const struct perf_file *file, const uint8_t *record,
					  size_t size)
{
	size_t at = file->attrs.count ? file->attrs.items[0].layout.trailer_id : 0;
	bool fits = at && at + sizeof(struct perf_record) <= size;

	return perf_file_attr(file, fits ? perf_u64(record + size - at, file->swap) : 0);
}

static void push(struct perf_stream *s, uint64_t time, const uint8_t *record)
{
	if (time == UINT64_MAX)
		time = 0;
	if (time > s->newest)
		s->newest = time;
	*vec_push(&s->entries) = (struct perf_entry){ time, record };
}

static void add_sample(struct perf_stream *s, const uint8_t *p, size_t size)
{
	size_t at = s->time_at;

	s->has_samples = true;
	if (!at) {
		const struct perf_attr *attr = perf_sample_attr(s->file, p, size);

		at = attr ? attr->layout.time : 0;
	}
	if (at && at + 8 <= size)
		push(s, perf_u64(p + at, s->file->swap), p);
	else
		s->unknown++;
}

/* Adds a record other than a sample, with the time in its trailer. */
static void add_other(struct perf_stream *s, const uint8_t *p, size_t size)
{
	const struct perf_attr *attr = perf_trailer_attr(s->file, p, size);
	size_t at = attr ? attr->layout.trailer_time : 0;

	if (at && at + sizeof(struct perf_record) <= size)
		push(s, perf_u64(p + size - at, s->file->swap), p);
	else
		push(s, 0, p);
}

/* The first recorded thread; -1 means all threads. */
static void read_thread_map(struct perf_stream *s, const uint8_t *p, size_t size)
{
	if (size >= 24)
		s->is_partial = perf_u64(p + 16, s->file->swap) != UINT64_MAX;
}

/* Adds a record that can occur anywhere; false if it has another type. */
static bool add_event(struct perf_stream *s, const uint8_t *p, struct perf_record head)
{
	switch (head.type) {
	case PERF_SAMPLE:
		add_sample(s, p, head.size);
		return true;
	case PERF_LOST:
	case PERF_COMM:
	case PERF_EXIT:
	case PERF_THROTTLE:
	case PERF_FORK:
	case PERF_LOST_SAMPLES:
	case PERF_SWITCH_CPU_WIDE:
		add_other(s, p, head.size);
		return true;
	default:
		return false;
	}
}

/* Adds the complete records among the decompressed data. */
static bool add_unpacked(struct perf_stream *s)
{
	struct perf_unpack *u = &s->unpack;

	while (u->end - u->begin >= sizeof(struct perf_record)) {
		const uint8_t *p = u->block + u->begin;
		struct perf_record head = perf_record(p, s->file->swap);

		if (head.size < sizeof(head))
			return false;
		if (head.size > u->end - u->begin)
			break;
		add_event(s, p, head);
		u->begin += head.size;
	}
	return true;
}

/* Returns NULL or the problem. */
static const char *unpack(struct perf_stream *s, const uint8_t *p, size_t size)
{
	uint64_t budget = 2ul * s->file->about.ring_size;
	bool is_last;
	int r;

	if (budget < MIN_BUDGET)
		budget = MIN_BUDGET;
	if (budget > MAX_BUDGET)
		budget = MAX_BUDGET;
	is_last = budget > s->unpack_left;
	if (is_last)
		budget = s->unpack_left;
	s->has_samples = true;
	perf_unpack_begin(&s->unpack, p, size, budget, s->file->about.level);
	do {
		r = perf_unpack_more(&s->unpack);
		if (r == -EOPNOTSUPP)
			return "it is compressed; rebuild sonde with libzstd-dev";
		if (r == -EFBIG && is_last)
			return "its decompressed size exceeds the limit";
		if (r < 0 || !add_unpacked(s))
			return "invalid compressed data";
	} while (r > 0);
	s->unpack_left -= budget - s->unpack.budget;
	return NULL;
}

static const char *read_compressed(struct perf_stream *s, const uint8_t *p, struct perf_record head)
{
	size_t skip = sizeof(head), size = head.size - skip;

	if (head.type == PERF_COMPRESSED2) {
		if (size < 8 || perf_u64(p + skip, s->file->swap) > size - 8)
			return "invalid record size";
		size = perf_u64(p + skip, s->file->swap);
		skip += 8;
	}
	return unpack(s, p + skip, size);
}

/* Bytes after a record that its size does not include; UINT64_MAX if it is damaged. */
static uint64_t bytes_after(const struct perf_stream *s, const uint8_t *p, struct perf_record head)
{
	if (head.type == PERF_TRACING)
		return head.size >= 12 ? perf_u32(p + 8, s->file->swap) : UINT64_MAX;
	if (head.type == PERF_AUXTRACE)
		return head.size >= 16 ? perf_u64(p + 8, s->file->swap) : UINT64_MAX;
	return 0;
}

/* Reads a record that perf wrote itself; these are never compressed. */
static void read_own_record(struct perf_stream *s, const uint8_t *p, struct perf_record head)
{
	uint64_t after = bytes_after(s, p, head);

	if (s->file->is_part) /* the first part describes the events */
		return;
	if (after > s->file->end - s->at) {
		end_damaged(s, p - s->file->data, "record extends beyond the end");
		return;
	}
	if (head.type == PERF_TRACING)
		perf_file_add_tracing(s->file, s->file->data + s->at, after);
	else if (head.type == PERF_THREAD_MAP)
		read_thread_map(s, p, head.size);
	else
		perf_file_add_record(s->file, p, head);
	s->at += after;
	if (s->attrs != s->file->attrs.count) {
		s->attrs = s->file->attrs.count;
		s->time_at = common_time(s->file);
	}
}

/* Reads the next record of the file and returns its type; 0 at the end. */
static inline uint32_t read_record(struct perf_stream *s)
{
	const uint8_t *p = s->file->data + s->at;
	size_t left = s->file->end - s->at;
	struct perf_record head;

	if (left < sizeof(head)) {
		s->ended = true;
		if (left || s->unpack.end > s->unpack.begin)
			end_damaged(s, s->at, "truncated file");
		return 0;
	}
	head = perf_record(p, s->file->swap);
	if (head.size < sizeof(head) || head.size > left) {
		end_damaged(s, s->at,
			    head.size > left ? "record extends beyond the end"
					     : "invalid record size");
		return 0;
	}
	s->at += head.size;
	if (add_event(s, p, head))
		return head.type;
	if (head.type == PERF_COMPRESSED || head.type == PERF_COMPRESSED2) {
		const char *problem = read_compressed(s, p, head);

		if (problem)
			end_damaged(s, p - s->file->data, problem);
	} else {
		read_own_record(s, p, head);
	}
	return head.type;
}

/* Sorts the entries; those up to limit can be returned. */
static void sort_batch(struct perf_stream *s, uint64_t limit)
{
	if (s->spare_room < s->entries.room) {
		s->spare_room = s->entries.room;
		free(s->spare);
		s->spare = must_alloc(s->spare_room * sizeof(s->spare[0]));
	}
	perf_sort(s->entries.items, s->entries.count, s->spare);
	while (s->ready < s->entries.count && s->entries.items[s->ready].time <= limit) {
		/* records without a time belong to the start of the trace */
		s->now = s->now ?: s->entries.items[s->ready].time;
		s->ready++;
	}
}

static void end_batch(struct perf_stream *s)
{
	uint64_t limit = s->ended ? UINT64_MAX : s->limit;

	s->limit = s->newest;
	s->batch = s->entries.count;
	if (limit)
		sort_batch(s, limit);
}

/* Removes the entries that have been returned. */
static void drop_emitted(struct perf_stream *s)
{
	size_t left = s->entries.count - s->ready;

	if (left)
		memmove(s->entries.items, s->entries.items + s->ready,
			left * sizeof(s->entries.items[0]));
	s->entries.count = s->batch = left;
	s->ready = s->emitted = 0;
	perf_unpack_end_batch(&s->unpack);
}

/* Whether decompressed data uses too much memory for a file of this size. */
static bool holds_too_much(const struct perf_stream *s)
{
	return perf_unpack_memory(&s->unpack) > min_held + HELD_RATIO * s->file->size;
}

/* Whether a batch ends after a record of this type.  A part has one ring and no rounds. */
static bool ends_batch(const struct perf_stream *s, uint32_t type)
{
	if (type == PERF_ROUND || s->file->is_part)
		return s->entries.count - s->batch >= BATCH;
	return type >= PERF_COMPRESSED && holds_too_much(s);
}

static void read_batch(struct perf_stream *s)
{
	if (s->ready)
		drop_emitted(s);
	while (!s->ended && !s->ready)
		if (ends_batch(s, read_record(s)))
			end_batch(s);
	if (!s->ready)
		end_batch(s);
}

void perf_stream_init(struct perf_stream *s, struct perf_file *file)
{
	*s = (struct perf_stream){ .file = file, .at = file->begin };
	s->unpack_left = unpack_limit(file->size);
	s->attrs = file->attrs.count;
	s->time_at = common_time(file);
	while (!s->ended && !s->has_samples)
		read_record(s);
}

const uint8_t *perf_stream_next(struct perf_stream *s, nsec_t *ret_time)
{
	if (s->emitted == s->ready)
		read_batch(s);
	if (s->emitted == s->ready)
		return NULL;

	const struct perf_entry *e = &s->entries.items[s->emitted++];

	/* consecutive records come from different rings, so they are not adjacent in the file */
	if (s->emitted + AHEAD < s->ready) {
		__builtin_prefetch(e[AHEAD].record);
		__builtin_prefetch(e[AHEAD].record + 64);
	}
	if (e->time >= s->now)
		s->now = e->time;
	else
		s->late += e->time != 0;
	*ret_time = s->now;
	return e->record;
}
