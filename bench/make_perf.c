/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-make-perf FROM TO TIMES - extends a perf.data file.
 *
 * Repeats the records of FROM, each time shifted by the duration of the recording.
 * The result resembles a longer recording of the same load, but needs no privileges.
 * FROM must not be compressed or written to a pipe.
 */
#include <errno.h>
#include <stdio.h>

#include "read/perf/stream.h"

struct growth {
	struct perf_file file;
	VEC(size_t) times; /* offsets of the times, from the first record on */
	uint64_t first, last;
};

static void put_u64(uint8_t *p, uint64_t n, bool swap)
{
	n = swap ? __builtin_bswap64(n) : n;
	memcpy(p, &n, sizeof(n));
}

static void find_time(struct growth *g, const uint8_t *p, struct perf_record head)
{
	bool is_sample = head.type == PERF_SAMPLE;
	const struct perf_attr *attr = is_sample ? perf_sample_attr(&g->file, p, head.size)
						 : perf_trailer_attr(&g->file, p, head.size);
	size_t at = 0;

	if (attr && is_sample)
		at = attr->layout.time;
	else if (attr && attr->layout.trailer_time && head.type < PERF_ATTR)
		at = head.size - attr->layout.trailer_time;
	if (!at || at + 8 > head.size)
		return;

	uint64_t time = perf_u64(p + at, g->file.swap);

	if (!time || time == UINT64_MAX)
		return;
	if (!g->first || time < g->first)
		g->first = time;
	if (time > g->last)
		g->last = time;
	*vec_push(&g->times) = p + at - (g->file.data + g->file.begin);
}

static int find_times(struct growth *g)
{
	for (uint64_t at = g->file.begin; at < g->file.end;) {
		const uint8_t *p = g->file.data + at;
		struct perf_record head = perf_record(p, g->file.swap);

		if (head.size < sizeof(head) || head.size > g->file.end - at ||
		    head.type == PERF_COMPRESSED || head.type == PERF_AUXTRACE)
			return -EINVAL;
		find_time(g, p, head);
		at += head.size;
	}
	return 0;
}

static void write_records(const struct growth *g, unsigned long times, FILE *out)
{
	size_t size = g->file.end - g->file.begin;
	_cleanup_(freep) uint8_t *records = must_alloc(size);

	memcpy(records, g->file.data + g->file.begin, size);
	for (unsigned long n = 0; n < times; n++) {
		fwrite(records, 1, size, out);
		for (size_t i = 0; i < g->times.count; i++) {
			uint8_t *p = records + g->times.items[i];

			put_u64(p, perf_u64(p, g->file.swap) + g->last - g->first + 1,
				g->file.swap);
		}
	}
}

/* Adjusts the size of the records in the header and the offsets of the sections after them. */
static void write_file(const struct growth *g, unsigned long times, FILE *out)
{
	const struct perf_file *f = &g->file;
	uint64_t size = f->end - f->begin, more = size * (times - 1);
	_cleanup_(freep) uint8_t *copy = must_alloc(f->size);
	struct perf_header *header = (struct perf_header *)copy;
	uint64_t at = f->end;

	memcpy(copy, f->data, f->size);
	put_u64((uint8_t *)&header->data.size, size + more, f->swap);
	for (unsigned i = 0; i < PERF_FEATURES; i++) {
		if (!(perf_u64(&header->features[i / 64], f->swap) >> i % 64 & 1))
			continue;
		put_u64(copy + at, perf_u64(copy + at, f->swap) + more, f->swap);
		at += sizeof(struct perf_section);
	}
	fwrite(copy, 1, f->begin, out);
	write_records(g, times, out);
	fwrite(copy + f->end, 1, f->size - f->end, out);
}

int main(int argc, char **argv)
{
	unsigned long times = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct growth g = { 0 };
	struct err err;

	if (!times) {
		fprintf(stderr, "usage: bench-make-perf FROM TO TIMES\n");
		return 2;
	}
	if (perf_file_open(&g.file, argv[1], &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (g.file.is_pipe || find_times(&g) < 0) {
		fprintf(stderr, "'%s' is damaged, compressed or from a pipe\n", argv[1]);
		return 1;
	}

	FILE *out = fopen(argv[2], "w");

	if (!out) {
		perror(argv[2]);
		return 1;
	}
	write_file(&g, times, out);
	if (fclose(out) != 0) {
		perror(argv[2]);
		return 1;
	}
	vec_done(&g.times);
	perf_file_done(&g.file);
	return 0;
}
