/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedat_page - reads pages of the kernel's ring buffer.
 *
 * A page begins with the time of its first event and `commit`, which contains the
 * number of bytes used and whether events were lost before the page.  Each event
 * begins with a 32-bit word: its length in words, and the time since the previous
 * event.  Lengths above 28 are special: 29 is padding, 30 extends the time, 31 sets an
 * absolute time; 0 means that the length is in the next word.
 *
 * The rest of a damaged page is skipped and counts as lost.
 */
#include <limits.h>
#include <string.h>

#include "read/tracedat/tracedat.h"

enum { TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

/* Bits of `commit`. */
enum { BYTES_USED = (1 << 27) - 1, LOST_COUNTED = 1 << 30 };
static const uint32_t lost_before = 1u << 31;

/* Absolute times have 59 bits; the bits above do not change. */
static const uint64_t clock_high = ~((1ull << 59) - 1);

static inline uint32_t word(const struct tracedat *t, const char *at)
{
	uint32_t n;

	memcpy(&n, at, 4);
	return t->abi.swap ? __builtin_bswap32(n) : n;
}

static nsec_t to_time(const struct tracedat *t, uint64_t clock)
{
	if (t->mult)
		clock = (unsigned __int128)clock * t->mult >> t->shift;
	clock += t->offset;
	return clock <= INT64_MAX ? clock : INT64_MAX;
}

/* Decompresses the next chunk; false if there is none. */
static bool next_chunk(struct tracedat *t, struct tracedat_ring *ring)
{
	while (ring->chunks) {
		struct byte_cursor *c = &ring->compressed;
		uint64_t compressed_size, size;
		struct view compressed;

		ring->chunks--;
		if (!byte_cursor_number(c, 4, &compressed_size) ||
		    !byte_cursor_number(c, 4, &size) ||
		    !byte_cursor_take(c, compressed_size, &compressed)) {
			ring->chunks = 0;
		} else if (unpack_admit(t->unpack, compressed, size)) {
			if (size > ring->decompressed_room) {
				free(ring->decompressed);
				ring->decompressed = must_alloc(size);
				ring->decompressed_room = size;
			}
			if (unpack_run(t->unpack, compressed, ring->decompressed, size)) {
				ring->pages = (struct view){ ring->decompressed, size };
				return true;
			}
		}
		ring->missing = t->is_damaged = true;
	}
	return false;
}

/* Opens the next page; false at the end. */
static bool next_page(struct tracedat *t, struct tracedat_ring *ring)
{
	while (ring->pages.len >= t->page.data_at || next_chunk(t, ring)) {
		const char *page = ring->pages.s;
		size_t len = ring->pages.len < ring->page_size ? ring->pages.len : ring->page_size;

		ring->pages.s += len;
		ring->pages.len -= len;
		if (len < t->page.data_at)
			continue;

		uint64_t commit =
			tracepoint_number(page + 8, t->page.commit_size, false, t->abi.swap);
		size_t filled = commit & BYTES_USED, size = t->page.commit_size;

		if (filled > len - t->page.data_at) {
			ring->missing = t->is_damaged = true;
			continue;
		}
		ring->clock = tracepoint_number(page, 8, false, t->abi.swap);
		ring->at = page + t->page.data_at;
		ring->end = ring->at + filled;
		if (commit & lost_before)
			ring->missing = true;
		if (commit & lost_before && commit & LOST_COUNTED &&
		    size <= len - t->page.data_at - filled)
			ring->lost = tracepoint_number(ring->end, size, false, t->abi.swap);
		return true;
	}
	return false;
}

/* Sets the low 59 bits of the clock. */
static uint64_t new_clock(uint64_t clock, uint64_t low)
{
	uint64_t high = clock & clock_high, now = low | high;

	/* the low bits have wrapped */
	return high && now < clock ? now + (1ull << 59) : now;
}

/* Skips the rest of a damaged page; returns false, for no event. */
static bool abandon_page(struct tracedat *t, struct tracedat_ring *ring)
{
	ring->at = ring->end;
	ring->missing = t->is_damaged = true;
	return false;
}

struct event_header {
	uint32_t type, delta;
};

static inline struct event_header event_header_at(const struct tracedat *t, const char *at)
{
	uint32_t n = word(t, at);

	if (t->is_big_endian)
		return (struct event_header){ n >> 27, n & ((1 << 27) - 1) };
	return (struct event_header){ n & 31, n >> 5 };
}

/* Reads an entry whose header has a second word; true if it is an event. */
static bool walk_long(struct tracedat *t, struct tracedat_ring *ring, struct event_header header)
{
	const char *after = ring->at + 8;

	if (header.type == TYPE_PADDING && !header.delta) {
		ring->at = ring->end; /* padding up to the end of the page */
		return false;
	}
	if (ring->end - ring->at < 8)
		return abandon_page(t, ring);

	uint64_t size = word(t, ring->at + 4), left = ring->end - after;

	ring->at = after;
	if (header.type == TYPE_TIME_EXTEND || header.type == TYPE_TIME_STAMP) {
		uint64_t low = (size << 27) + header.delta;

		ring->clock = header.type == TYPE_TIME_EXTEND ? ring->clock + low
							      : new_clock(ring->clock, low);
		return false;
	}
	/* the size includes the second word; the data is padded to whole words */
	if (size < 4 || ((size - 1) & ~3ull) > left)
		return abandon_page(t, ring);
	ring->clock += header.delta;
	ring->at = after + ((size - 1) & ~3ull);
	ring->data = after;
	ring->size = size - 4;
	return header.type == 0;
}

/* Moves to the next event in this page; false at its end. */
static inline bool walk_page(struct tracedat *t, struct tracedat_ring *ring)
{
	while (ring->end - ring->at >= 4) {
		struct event_header header = event_header_at(t, ring->at);
		size_t size = 4 * header.type;

		if (header.type == 0 || header.type >= TYPE_PADDING) {
			if (walk_long(t, ring, header))
				return true;
			continue;
		}
		if (size > (size_t)(ring->end - ring->at) - 4)
			return abandon_page(t, ring);
		ring->clock += header.delta;
		ring->data = ring->at + 4;
		ring->size = size;
		ring->at += 4 + size;
		return true;
	}
	return false;
}

bool tracedat_ring_next(struct tracedat *t, struct tracedat_ring *ring)
{
	ring->last = ring->time;
	ring->lost = 0;
	for (;;) {
		if (walk_page(t, ring)) {
			ring->time = to_time(t, ring->clock);
			return true;
		}

		bool more = next_page(t, ring);

		if (ring->missing && (more || ring->time)) {
			ring->missing = false;
			ring->data = NULL;
			ring->time = more ? to_time(t, ring->clock) : ring->time;
			return true;
		}
		if (!more)
			return false;
	}
}

void tracedat_add_ring(struct tracedat *t, uint32_t cpu, uint32_t page_size, uint64_t offset,
		       uint64_t size, bool is_compressed)
{
	struct tracedat_ring ring = { .order = t->rings.count, .cpu = cpu, .page_size = page_size };

	if (!size)
		return;
	if (offset > t->file.len || (is_compressed && !t->unpack)) {
		t->is_damaged = true;
		return;
	}

	struct view all = { t->file.s + offset, t->file.len - offset };

	if (size > all.len)
		t->is_damaged = true;
	else if (!is_compressed)
		all.len = size;
	/* rings do not overlap, so together they are no larger than the file */
	if (t->ring_bytes + (size < all.len ? size : all.len) > t->file.len) {
		t->is_damaged = true;
		return;
	}
	t->ring_bytes += size < all.len ? size : all.len;
	ring.pages = is_compressed ? (struct view){ 0 } : all;
	ring.compressed = (struct byte_cursor){ all.s, all.s + all.len, t->abi.swap };
	if (is_compressed && !byte_cursor_number(&ring.compressed, 4, &ring.chunks))
		t->is_damaged = true;
	*vec_push(&t->rings) = ring;
}
