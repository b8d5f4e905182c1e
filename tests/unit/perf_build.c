/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_build.h"

#include <assert.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { ATTR_SIZE = 112 };

static void put(build_bytes *to, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*vec_push(to) = ((const uint8_t *)data)[i];
}

static void put_number(build_bytes *to, bool swap, size_t size, uint64_t n)
{
	for (size_t i = 0; i < size; i++)
		*vec_push(to) = n >> 8 * (swap ? size - 1 - i : i);
}

static void put_zeros(build_bytes *to, size_t size)
{
	while (size--)
		*vec_push(to) = 0;
}

static void put_string(build_bytes *to, bool swap, const char *s)
{
	put_number(to, swap, 4, strlen(s) + 1);
	put(to, s, strlen(s) + 1);
}

void perf_build_attr(struct perf_build *b, const struct build_attr *attr)
{
	*vec_push(&b->attrs) = *attr;
}

void perf_build_format(struct perf_build *b, const char *system, const char *text)
{
	*vec_push(&b->formats) = (struct build_format){ system, text };
}

static void put_attr(const struct perf_build *b, build_bytes *to, const struct build_attr *attr)
{
	size_t begin = to->count;
	uint64_t flags = attr->flags;

	put_number(to, b->swap, 4, attr->type);
	put_number(to, b->swap, 4, ATTR_SIZE);
	put_number(to, b->swap, 8, attr->config);
	put_number(to, b->swap, 8, 1);
	put_number(to, b->swap, 8, attr->sample);
	put_number(to, b->swap, 8, attr->read);
	/* big-endian bit fields begin at the highest bit */
	for (unsigned i = 0; b->swap && i < 32; i++)
		if ((flags >> i & 1) != (flags >> (63 - i) & 1))
			flags ^= 1ull << i | 1ull << (63 - i);
	put_number(to, b->swap, 8, flags);
	put_zeros(to, begin + PERF_ATTR_CLOCK - to->count);
	put_number(to, b->swap, 4, attr->clock);
	put_zeros(to, begin + ATTR_SIZE - to->count);
}

static void put_tracing(const struct perf_build *b, build_bytes *to)
{
	put(to, "\x17\x08\x44tracing", 10);
	put(to, "0.6", 4);
	put_number(to, false, 1, b->swap);
	put_number(to, false, 1, 8);
	put_number(to, b->swap, 4, 4096);
	put(to, "header_page", 12);
	put_number(to, b->swap, 8, 0);
	put(to, "header_event", 13);
	put_number(to, b->swap, 8, 0);
	put_number(to, b->swap, 4, 0);
	put_number(to, b->swap, 4, b->formats.count);
	for (size_t i = 0; i < b->formats.count; i++) {
		const struct build_format *f = &b->formats.items[i];

		put(to, f->system, strlen(f->system) + 1);
		put_number(to, b->swap, 4, 1);
		put_number(to, b->swap, 8, strlen(f->text));
		put(to, f->text, strlen(f->text));
	}
	put_zeros(to, 16);
}

static void put_names(const struct perf_build *b, build_bytes *to)
{
	put_number(to, b->swap, 4, b->attrs.count);
	put_number(to, b->swap, 4, ATTR_SIZE);
	for (size_t i = 0; i < b->attrs.count; i++) {
		const struct build_attr *attr = &b->attrs.items[i];

		put_attr(b, to, attr);
		put_number(to, b->swap, 4, attr->id != 0);
		put_string(to, b->swap, attr->name ?: "unnamed");
		if (attr->id)
			put_number(to, b->swap, 8, attr->id);
	}
}

/* False if the file does not have this feature. */
static bool put_feature(const struct perf_build *b, build_bytes *to, unsigned feature)
{
	switch (feature) {
	case PERF_FEATURE_TRACING:
		put_tracing(b, to);
		return b->formats.count;
	case PERF_FEATURE_HOST:
		put_string(to, b->swap, b->host ?: "");
		return b->host;
	case PERF_FEATURE_MACHINE:
		put_string(to, b->swap, b->machine ?: "");
		return b->machine;
	case PERF_FEATURE_EVENTS:
		put_names(b, to);
		return true;
	case PERF_FEATURE_DIRECTORY:
		put_number(to, b->swap, 8, 1);
		return b->in_directory;
	case PERF_FEATURE_CLOCK:
		put_number(to, b->swap, 4, 1);
		put_number(to, b->swap, 4, 1);
		put_number(to, b->swap, 8, b->day);
		put_number(to, b->swap, 8, b->clock_now);
		return b->day;
	default:
		return false;
	}
}

#ifdef HAVE_ZSTD
/* Appends a COMPRESSED record. */
static void put_compressed(struct perf_build *b, const uint8_t *data, size_t size)
{
	uint8_t room[1 << 15];
	ZSTD_inBuffer in = { data, size, 0 };
	ZSTD_outBuffer out = { room, sizeof(room), 0 };

	if (!b->zstd)
		b->zstd = ZSTD_createCCtx();
	if (ZSTD_compressStream2(b->zstd, &out, &in, ZSTD_e_flush) != 0)
		assert(!"a chunk is too large");

	size_t head = b->aligned ? 16 : 8, pad = b->aligned ? -out.pos & 7 : 0;

	put_number(&b->records, b->swap, 4, b->aligned ? PERF_COMPRESSED2 : PERF_COMPRESSED);
	put_number(&b->records, b->swap, 2, 0);
	put_number(&b->records, b->swap, 2, head + out.pos + pad);
	if (b->aligned)
		put_number(&b->records, b->swap, 8, out.pos);
	put(&b->records, room, out.pos);
	put_zeros(&b->records, pad);
}
#endif

static void flush(struct perf_build *b)
{
#ifdef HAVE_ZSTD
	size_t chunk = b->chunk ?: b->pending.count;

	for (size_t at = 0; at < b->pending.count; at += chunk)
		put_compressed(b, b->pending.items + at,
			       b->pending.count - at < chunk ? b->pending.count - at : chunk);
#endif
	b->pending.count = 0;
}

static build_bytes *target(struct perf_build *b)
{
	return b->compress ? &b->pending : &b->records;
}

void perf_begin(struct perf_build *b, uint32_t type, uint16_t misc)
{
	b->begin = target(b)->count;
	perf_u(b, 4, type);
	perf_u(b, 2, misc);
	perf_u(b, 2, 0);
}

void perf_u(struct perf_build *b, size_t size, uint64_t n)
{
	put_number(target(b), b->swap, size, n);
}

void perf_text(struct perf_build *b, const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	put(target(b), s, len);
	put_zeros(target(b), size - len);
}

void perf_end(struct perf_build *b)
{
	build_bytes *to = target(b);
	size_t size = to->count - b->begin;
	build_bytes number = { 0 };

	put_number(&number, b->swap, 2, size);
	memcpy(to->items + b->begin + 6, number.items, 2);
	vec_done(&number);
	/* records of perf itself are not compressed */
	if (b->compress && perf_u32(to->items + b->begin, b->swap) >= PERF_ATTR) {
		build_bytes own = { 0 };

		put(&own, to->items + b->begin, size);
		to->count = b->begin;
		flush(b);
		put(&b->records, own.items, size);
		vec_done(&own);
	}
}

static void put_record(const struct perf_build *b, build_bytes *to, uint32_t type,
		       const build_bytes *body)
{
	put_number(to, b->swap, 4, type);
	put_number(to, b->swap, 2, 0);
	put_number(to, b->swap, 2, 8 + body->count);
	put(to, body->items, body->count);
}

static void finish_pipe(struct perf_build *b, build_bytes *to)
{
	build_bytes body = { 0 };

	put_number(to, b->swap, 8, PERF_MAGIC);
	put_number(to, b->swap, 8, PERF_PIPE_HEADER);
	for (size_t i = 0; i < b->attrs.count; i++) {
		body.count = 0;
		put_attr(b, &body, &b->attrs.items[i]);
		if (b->attrs.items[i].id)
			put_number(&body, b->swap, 8, b->attrs.items[i].id);
		put_record(b, to, PERF_ATTR, &body);
	}
	for (unsigned i = PERF_FEATURE_TRACING + 1; i < 64; i++) {
		body.count = 0;
		put_number(&body, b->swap, 8, i);
		if (put_feature(b, &body, i))
			put_record(b, to, PERF_FEATURE, &body);
	}
	if (b->formats.count) {
		build_bytes size = { 0 };

		body.count = 0;
		put_tracing(b, &body);
		put_number(&size, b->swap, 4, body.count);
		put_record(b, to, PERF_TRACING, &size);
		put(to, body.items, body.count);
		vec_done(&size);
	}
	put(to, b->records.items, b->records.count);
	vec_done(&body);
}

static void put_section(const struct perf_build *b, build_bytes *to, uint64_t offset, uint64_t size)
{
	put_number(to, b->swap, 8, offset);
	put_number(to, b->swap, 8, size);
}

/* The table of features follows the records, and the features follow the table. */
static uint64_t put_features(const struct perf_build *b, build_bytes *to, uint64_t at)
{
	build_bytes table = { 0 }, sections = { 0 };
	uint64_t features = 0, count = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		table.count = sections.count = 0;
		for (unsigned i = 0; i < 64; i++) {
			size_t begin = sections.count;

			if (!put_feature(b, &sections, i)) {
				sections.count = begin;
				continue;
			}
			put_section(b, &table, at + 16 * count + begin, sections.count - begin);
			features |= 1ull << i;
		}
		count = table.count / 16;
	}
	put(to, table.items, table.count);
	put(to, sections.items, sections.count);
	vec_done(&table);
	vec_done(&sections);
	return features;
}

static void finish_file(struct perf_build *b, build_bytes *to)
{
	const size_t header = sizeof(struct perf_header), each = ATTR_SIZE + 16;
	size_t ids = header + each * b->attrs.count, data = ids + 8 * b->attrs.count;
	build_bytes features = { 0 };
	uint64_t bits = put_features(b, &features, data + b->records.count);

	put_number(to, b->swap, 8, PERF_MAGIC);
	put_number(to, b->swap, 8, header);
	put_number(to, b->swap, 8, each);
	put_section(b, to, header, each * b->attrs.count);
	put_section(b, to, data, b->unfinished ? 0 : b->records.count);
	put_section(b, to, 0, 0);
	put_number(to, b->swap, 8, bits);
	put_zeros(to, 24);
	for (size_t i = 0; i < b->attrs.count; i++) {
		put_attr(b, to, &b->attrs.items[i]);
		put_section(b, to, ids + 8 * i, b->attrs.items[i].id ? 8 : 0);
	}
	for (size_t i = 0; i < b->attrs.count; i++)
		put_number(to, b->swap, 8, b->attrs.items[i].id);
	put(to, b->records.items, b->records.count);
	put(to, features.items, features.count);
	vec_done(&features);
}

struct bytes perf_build_finish(struct perf_build *b)
{
	build_bytes file = { 0 };

	flush(b);
	if (b->pipe)
		finish_pipe(b, &file);
	else
		finish_file(b, &file);
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(b->zstd);
#endif
	vec_done(&b->attrs);
	vec_done(&b->formats);
	vec_done(&b->records);
	vec_done(&b->pending);
	return (struct bytes){ file.items, file.count };
}
