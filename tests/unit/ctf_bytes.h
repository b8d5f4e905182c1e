/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_bytes - builds CTF traces bit by bit.
 *
 * The metadata of a test is a common preamble followed by its own declarations.
 * Streams are written with put(), which aligns as CTF does.
 */
#ifndef SONDE_TESTS_CTF_BYTES_H
#define SONDE_TESTS_CTF_BYTES_H

#include <string.h>

#include "read/ctf/ctf.h"
#include "test.h"

#define HEAD(order) \
	"/* CTF 1.8 */\n" \
	"typealias integer { size = 8; align = 8; } := u8;\n" \
	"typealias integer { size = 16; align = 8; } := u16;\n" \
	"typealias integer { size = 32; align = 8; } := u32;\n" \
	"typealias integer { size = 64; align = 8; } := u64;\n" \
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := letter;\n" \
	"trace { major = 1; minor = 8; byte_order = " order ";\n" \
	"	packet.header := struct { u32 magic; u32 stream_id; u64 stream_instance_id; }; " \
	"};\n"
#define ENV "env { hostname = \"web1\"; tracer_name = \"lttng-modules\"; };\n"
#define CLOCK \
	"clock { name = \"monotonic\"; freq = 1000000000; offset_s = 1700000000; offset = 5; };\n" \
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time64;\n" \
	"typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := time27;\n"
#define CONTEXT \
	"struct context { u64 timestamp_begin; u64 timestamp_end; u64 content_size;\n" \
	"	u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };\n"
#define STREAM \
	"stream { id = 0; packet.context := struct context;\n" \
	"	event.header := struct { u16 id; time64 timestamp; }; };\n"
#define PREAMBLE(order) HEAD(order) ENV CLOCK CONTEXT STREAM

struct writer {
	uint8_t data[1 << 14];
	size_t bit;
	bool is_big;
	size_t packet; /* offset of the last packet, in bytes */
};

static inline void put(struct writer *w, unsigned size, unsigned align, uint64_t value)
{
	size_t from = 8 * w->packet;

	w->bit = from + ((w->bit - from + align - 1) & -(size_t)align);
	for (unsigned i = 0; i < size; i++, w->bit++) {
		bool is_set = value >> (w->is_big ? size - 1 - i : i) & 1;
		unsigned shift = w->is_big ? 7 - w->bit % 8 : w->bit % 8;

		w->data[w->bit / 8] |= is_set << shift;
	}
}

/* Writes a number of whole bytes, aligned to 8 bits. */
static inline void put_bytes(struct writer *w, unsigned size, uint64_t value)
{
	if (w->is_big) {
		put(w, 8 * size, 8, value);
		return;
	}
	for (unsigned i = 0; i < size; i++)
		put(w, 8, 8, value >> (8 * i) & 255);
}

static inline void put_text(struct writer *w, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put(w, 8, 8, (uint8_t)s[i]);
}

static inline void begin_packet(struct writer *w, uint64_t cpu, uint64_t begin, uint64_t end,
				uint64_t number, uint64_t discarded)
{
	w->packet = w->bit / 8;
	put_bytes(w, 4, 0xc1fc1fc1);
	put_bytes(w, 4, 0);
	put_bytes(w, 8, cpu);
	put_bytes(w, 8, begin);
	put_bytes(w, 8, end);
	put_bytes(w, 8, 0); /* sizes, set by end_packet() */
	put_bytes(w, 8, 0);
	put_bytes(w, 8, number);
	put_bytes(w, 8, discarded);
	put_bytes(w, 4, cpu);
}

static inline void end_packet(struct writer *w, unsigned padding)
{
	size_t content = w->bit - 8 * w->packet, end;

	w->bit = (w->bit + 7) / 8 * 8 + 8 * padding;
	end = w->bit;
	w->bit = 8 * (w->packet + 32);
	put_bytes(w, 8, content);
	put_bytes(w, 8, end - 8 * w->packet);
	w->bit = end;
}

static inline void put_header(struct writer *w, uint16_t id, uint64_t time)
{
	put_bytes(w, 2, id);
	put_bytes(w, 8, time);
}

static inline void add_file(struct file_set *set, const char *name, const void *data, size_t size)
{
	struct trace_file file = { must_strdup(name), must_alloc(size), size, false };

	memcpy(file.data, data, size);
	*vec_push(&set->items) = file;
}

static inline void add_stream(struct file_set *set, const char *name, const struct writer *w)
{
	add_file(set, name, w->data, (w->bit + 7) / 8);
}

struct trace {
	struct raw_source *source; /* NULL on failure; then code and err are set */
	int code;
	struct err err;
};

/* Takes ownership of the files. */
static inline struct trace open_files(struct file_set *files)
{
	struct trace t = { 0 };

	t.code = ctf_source_new("trace", files, &t.source, &t.err);
	return t;
}

static inline struct trace open_trace(const char *metadata, const struct writer *w)
{
	struct file_set files = { 0 };

	add_file(&files, "t/metadata", metadata, strlen(metadata));
	if (w)
		add_stream(&files, "t/s0", w);
	return open_files(&files);
}

static inline bool next_event(struct trace *t, struct raw_event *ret)
{
	return t->source && t->source->next(t->source, ret, &t->err) > 0;
}

static inline void trace_done(struct trace *t)
{
	if (t->source)
		t->source->free(t->source);
}

#endif
