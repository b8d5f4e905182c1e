/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the kernel's ring buffer.
 *
 * A page begins with the time of its first event and a number that says how far
 * it is filled, and whether events were lost before it.  Events follow, each with
 * four bytes that hold its length, in words, and the time since the one before.
 * Lengths above 28 have other meanings: 29 is a gap, 30 a longer wait, 31 a new
 * start of the clock; 0 says that the length comes in the next word.
 *
 * Where a page makes no sense, the rest of it is left out, and counts as lost.
 */
#include <limits.h>
#include <string.h>

#include "read/tracedat/tracedat.h"

enum { TYPE_GAP = 29, TYPE_WAIT = 30, TYPE_CLOCK = 31 };

/* In the number that says how far a page is filled. */
enum { FILLED = (1 << 27) - 1, LOST_COUNTED = 1 << 30 };
static const uint32_t lost_before = 1u << 31;

/* A clock is written in 59 bits; those above are as they were. */
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

/* Unpacks the next piece; false if there is none. */
static bool next_piece(struct tracedat *t, struct tracedat_row *row)
{
	while (row->pieces) {
		struct byte_cursor *c = &row->packed;
		uint64_t packed_size, size;
		struct view packed;

		row->pieces--;
		if (!byte_cursor_number(c, 4, &packed_size) || !byte_cursor_number(c, 4, &size) ||
		    !byte_cursor_take(c, packed_size, &packed)) {
			row->pieces = 0;
		} else if (unpack_admit(t->unpack, packed, size)) {
			if (size > row->room) {
				free(row->unpacked);
				row->unpacked = must_alloc(size);
				row->room = size;
			}
			if (unpack_run(t->unpack, packed, row->unpacked, size)) {
				row->pages = (struct view){ row->unpacked, size };
				return true;
			}
		}
		row->missing = t->is_damaged = true;
	}
	return false;
}

/* Begins the next page; false at the end. */
static bool next_page(struct tracedat *t, struct tracedat_row *row)
{
	while (row->pages.len >= t->page.data_at || next_piece(t, row)) {
		const char *page = row->pages.s;
		size_t len = row->pages.len < row->page_size ? row->pages.len : row->page_size;

		row->pages.s += len;
		row->pages.len -= len;
		if (len < t->page.data_at)
			continue;

		uint64_t commit =
			tracepoint_number(page + 8, t->page.commit_size, false, t->abi.swap);
		size_t filled = commit & FILLED, size = t->page.commit_size;

		if (filled > len - t->page.data_at) {
			row->missing = t->is_damaged = true;
			continue;
		}
		row->clock = tracepoint_number(page, 8, false, t->abi.swap);
		row->at = page + t->page.data_at;
		row->end = row->at + filled;
		if (commit & lost_before)
			row->missing = true;
		if (commit & lost_before && commit & LOST_COUNTED &&
		    size <= len - t->page.data_at - filled)
			row->lost = tracepoint_number(row->end, size, false, t->abi.swap);
		return true;
	}
	return false;
}

/* The new start of the clock that an event of its own says, in bits without the highest. */
static uint64_t new_clock(uint64_t clock, uint64_t low)
{
	uint64_t high = clock & clock_high, now = low | high;

	/* where they ran over meanwhile */
	return high && now < clock ? now + (1ull << 59) : now;
}

/* Gives up the rest of the page; false, as there is no event in it. */
static bool leave_page(struct tracedat *t, struct tracedat_row *row)
{
	row->at = row->end;
	row->missing = t->is_damaged = true;
	return false;
}

struct head {
	uint32_t type, delta;
};

static inline struct head head_at(const struct tracedat *t, const char *at)
{
	uint32_t n = word(t, at);

	if (t->is_big_endian)
		return (struct head){ n >> 27, n & ((1 << 27) - 1) };
	return (struct head){ n & 31, n >> 5 };
}

/* What has another word behind its head.  Whether that is an event. */
static bool walk_long(struct tracedat *t, struct tracedat_row *row, struct head head)
{
	const char *behind = row->at + 8;

	if (head.type == TYPE_GAP && !head.delta) {
		row->at = row->end; /* nothing comes behind this gap */
		return false;
	}
	if (row->end - row->at < 8)
		return leave_page(t, row);

	uint64_t size = word(t, row->at + 4), left = row->end - behind;

	row->at = behind;
	if (head.type == TYPE_WAIT || head.type == TYPE_CLOCK) {
		uint64_t low = (size << 27) + head.delta;

		row->clock = head.type == TYPE_WAIT ? row->clock + low : new_clock(row->clock, low);
		return false;
	}
	/* the word counts itself and what follows, which is filled up to whole words */
	if (size < 4 || ((size - 1) & ~3ull) > left)
		return leave_page(t, row);
	row->clock += head.delta;
	row->at = behind + ((size - 1) & ~3ull);
	row->data = behind;
	row->size = size - 4;
	return head.type == 0;
}

/* Walks on to an event in this page; false at its end. */
static inline bool walk_page(struct tracedat *t, struct tracedat_row *row)
{
	while (row->end - row->at >= 4) {
		struct head head = head_at(t, row->at);
		size_t size = 4 * head.type;

		if (head.type == 0 || head.type >= TYPE_GAP) {
			if (walk_long(t, row, head))
				return true;
			continue;
		}
		if (size > (size_t)(row->end - row->at) - 4)
			return leave_page(t, row);
		row->clock += head.delta;
		row->data = row->at + 4;
		row->size = size;
		row->at += 4 + size;
		return true;
	}
	return false;
}

bool tracedat_row_next(struct tracedat *t, struct tracedat_row *row)
{
	row->last = row->time;
	row->lost = 0;
	for (;;) {
		if (walk_page(t, row)) {
			row->time = to_time(t, row->clock);
			return true;
		}

		bool more = next_page(t, row);

		if (row->missing && (more || row->time)) {
			row->missing = false;
			row->data = NULL;
			row->time = more ? to_time(t, row->clock) : row->time;
			return true;
		}
		if (!more)
			return false;
	}
}

void tracedat_add_row(struct tracedat *t, uint32_t cpu, uint32_t page_size, uint64_t offset,
		      uint64_t size, bool is_packed)
{
	struct tracedat_row row = { .order = t->rows.count, .cpu = cpu, .page_size = page_size };

	if (!size)
		return;
	if (offset > t->file.len || (is_packed && !t->unpack)) {
		t->is_damaged = true;
		return;
	}

	struct view all = { t->file.s + offset, t->file.len - offset };

	if (size > all.len)
		t->is_damaged = true;
	else if (!is_packed)
		all.len = size;
	/* rows do not overlap, so all of them are no longer than the file */
	if (t->row_bytes + (size < all.len ? size : all.len) > t->file.len) {
		t->is_damaged = true;
		return;
	}
	t->row_bytes += size < all.len ? size : all.len;
	row.pages = is_packed ? (struct view){ 0 } : all;
	row.packed = (struct byte_cursor){ all.s, all.s + all.len, t->abi.swap };
	if (is_packed && !byte_cursor_number(&row.packed, 4, &row.pieces))
		t->is_damaged = true;
	*vec_push(&t->rows) = row;
}
