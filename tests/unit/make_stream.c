/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_stream CAPTURE FILE EPOCHS [SKIPPED] - write a capture as a stream with this many epochs:
 * tests/data/good/stream.sonde is tasks.sonde with 4.
 *
 * As the recorder does, each epoch describes again what later records refer to: threads that
 * live, processes, sockets, files, devices, probe types, frames and stacks.  Without its first
 * SKIPPED epochs, the stream is a piece, as the flight recorder saves it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "event/block_ring.h"
#include "event/capture.h"
#include "event/capture_format.h"
#include "event/stream_read.h"
#include "event/stream_write.h"

/* The newest description of something. */
struct description {
	uint64_t key;
	unsigned char *record; /* with string ids of the capture; NULL if it has ended */
};

struct conversion {
	const struct capture *cap;
	struct stream_writer *writer;
	VEC(struct description) descriptions; /* in the order of their first records */
	struct map index;                     /* by key; the value is an index + 1 */
};

static void need(int r, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* What a record describes; 0 if nothing. */
static uint64_t described_by(const struct record *r)
{
	const void *p = r;
	uint64_t kind = (uint64_t)r->kind << 56;

	switch (r->kind) {
	case RECORD_TASK:
	case RECORD_EXIT:
		return (uint64_t)RECORD_TASK << 56 | r->tid;
	case RECORD_PROCESS:
		return kind | ((const struct record_process *)p)->pid;
	case RECORD_SOCKET:
		return kind ^ ((const struct record_socket *)p)->object;
	case RECORD_FILE:
		return kind ^ ((const struct record_file *)p)->object;
	case RECORD_DEVICE:
		return kind | ((const struct record_device *)p)->device;
	case RECORD_PROBE_TYPE:
		return kind | ((const struct record_probe_type *)p)->type;
	case RECORD_FRAME:
		return kind | ((const struct record_frame *)p)->frame;
	case RECORD_STACK:
		return kind | ((const struct record_stack *)p)->stack;
	default:
		return 0;
	}
}

/* Keep a description for later epochs. */
static void keep(struct conversion *c, const struct record *r)
{
	uint64_t key = described_by(r), *at;

	if (!key)
		return;
	at = map_insert(&c->index, key);
	if (!*at) {
		*vec_push(&c->descriptions) = (struct description){ .key = key };
		*at = c->descriptions.count;
	}

	struct description *d = &c->descriptions.items[*at - 1];

	free(d->record);
	d->record = NULL;
	if (r->kind == RECORD_EXIT)
		return;
	d->record = must_alloc(r->words * 8u);
	memcpy(d->record, r, r->words * 8u);
}

/* The fields of a record that are string ids; NULL for those that it does not have. */
static void strings_of(struct record *r, uint32_t *ret[2])
{
	void *p = r;

#define STRINGS(type, a, b) \
	(ret[0] = &((struct record_##type *)p)->a, ret[1] = &((struct record_##type *)p)->b)
	ret[0] = ret[1] = NULL;
	switch (r->kind) {
	case RECORD_TASK:
		ret[0] = &((struct record_task *)p)->comm;
		break;
	case RECORD_FILE:
		ret[0] = &((struct record_file *)p)->name;
		break;
	case RECORD_FRAME:
		ret[0] = &((struct record_frame *)p)->module;
		break;
	case RECORD_DEVICE:
		ret[0] = &((struct record_device *)p)->name;
		break;
	case RECORD_ATTRIBUTE:
		ret[0] = &((struct record_attribute *)p)->key;
		break;
	case RECORD_PROCESS:
		STRINGS(process, cmdline, cgroup);
		break;
	case RECORD_PROBE_TYPE:
		STRINGS(probe_type, name, format);
		break;
	case RECORD_SYMBOL:
		STRINGS(symbol, name, source);
		break;
	case RECORD_SPAN:
		STRINGS(span, service, operation);
		break;
	}
}

/* Write a record of the capture with the string ids of the stream. */
static void convert(struct conversion *c, const struct record *r)
{
	union {
		struct record head;
		struct record_attribute attribute;
		unsigned char bytes[UINT8_MAX * 8];
	} copy;
	uint32_t *strings[2];
	struct err err;

	memcpy(&copy, r, r->words * 8u);
	strings_of(&copy.head, strings);
	for (size_t i = 0; i < 2 && strings[i]; i++)
		*strings[i] = stream_writer_add_string(c->writer,
						       capture_get_string(c->cap, *strings[i]));
	if (r->kind == RECORD_ATTRIBUTE && copy.attribute.type == ATTRIBUTE_STRING)
		copy.attribute.value = stream_writer_add_string(
			c->writer, capture_get_string(c->cap, copy.attribute.value));
	need(stream_writer_write(c->writer, &copy.head, &err), &err);
}

static void begin_epoch(struct conversion *c, nsec_t now)
{
	struct err err;

	need(stream_writer_begin_epoch(c->writer, now, &err), &err);
	for (size_t i = 0; i < c->descriptions.count; i++) {
		struct record *r = (struct record *)c->descriptions.items[i].record;

		if (!r)
			continue;
		r->time = now;
		if (r->kind == RECORD_TASK && ((struct record_task *)r)->event != TASK_OUT_OF_SCOPE)
			((struct record_task *)r)->event = TASK_AGAIN;
		convert(c, r);
	}
}

static uint64_t count_records(const struct capture *cap)
{
	struct capture_cursor cur;
	const struct record *r;
	struct err err;
	uint64_t count = 0;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0)
		count++;
	return count;
}

/* COUNTER records are left out: they would count the descriptions, too. */
static void convert_all(struct conversion *c, uint64_t epochs)
{
	uint64_t each = count_records(c->cap) / (epochs ?: 1) + 1, n = 0;
	struct capture_cursor cur;
	const struct record *r;
	struct err err;

	capture_cursor_init(&cur, c->cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0) {
		if (n++ % each == each - 1)
			begin_epoch(c, r->time);
		keep(c, r);
		if (r->kind != RECORD_COUNTER)
			convert(c, r);
	}
	need(stream_writer_close(c->writer, NSEC_PER_SEC, &err), &err);
	for (size_t i = 0; i < c->descriptions.count; i++)
		free(c->descriptions.items[i].record);
	vec_done(&c->descriptions);
	map_done(&c->index);
}

struct skipping {
	struct block_ring *ring;
	uint64_t skipped; /* number of epochs to skip */
};

static void add_block(void *arg, const struct block_header *h, const void *payload)
{
	struct skipping *s = arg;
	const struct record *r = payload;

	if (h->type == BLOCK_RECORDS && r->kind == RECORD_EPOCH && s->skipped && s->skipped--)
		block_ring_clear(s->ring);
	block_ring_add(s->ring, h, payload);
}

/* Replace the stream in a file by its last epochs. */
static void skip_epochs(const char *path, uint64_t count)
{
	struct skipping s = { block_ring_new(UINT64_MAX, SIZE_MAX), count };
	struct stream_reader *reader = stream_reader_new(path);
	int fd = open(path, O_RDWR | O_CLOEXEC), r;
	const struct record *record;
	struct err err = { "" };

	stream_reader_on_block(reader, add_block, &s);
	while ((r = stream_reader_next(reader, &record, &err)) != 0) {
		need(r == -EAGAIN ? 0 : r, &err);
		if (r == -EAGAIN)
			need(stream_reader_read(reader, fd, &err), &err);
	}

	struct ring_snapshot *snapshot = block_ring_snapshot(s.ring, stream_reader_meta(reader));

	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		exit(1);
	need(ring_snapshot_write(snapshot, fd, path, &err), &err);
	ring_snapshot_free(snapshot);
	block_ring_free(s.ring);
	stream_reader_free(reader);
	close(fd);
}

int main(int argc, char **argv)
{
	struct conversion c = { 0 };
	struct capture *cap = NULL;
	struct err err;

	if (argc < 4)
		return 2;
	need(capture_open(argv[1], &cap, &err), &err);

	int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	c.cap = cap;
	c.writer = stream_writer_new(fd, capture_meta(cap), SIZE_MAX);
	need(stream_writer_add_note(c.writer, "a note", &err), &err);
	convert_all(&c, strtoul(argv[3], NULL, 10));
	stream_writer_free(c.writer);
	close(fd);
	capture_free(cap);
	if (argc > 4)
		skip_epochs(argv[2], strtoul(argv[4], NULL, 10));
	return 0;
}
