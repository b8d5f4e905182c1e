/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_write - write a recording into a file, block by block.
 *
 * Records are collected in memory until they fill a block.  A block is written
 * payload first, header second.  Until the header is written, its offset reads
 * as zeros; this marks the end of a recording whose writer was killed, so that
 * such a file needs no repair.  If a write fails, the file is truncated to the
 * last complete block, so that a full disk also leaves a readable capture.
 *
 * Strings get ids in the order of their first use.  New strings are written
 * right before the first block of records that can refer to them.
 */
#include "event/capture.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "event/capture_format.h"
#include "event/write_queue.h"

/* The payload of a block that is being filled. */
struct payload {
	unsigned char *data;
	size_t size, room;
	uint32_t count;
	nsec_t first, last;
};

struct capture_writer {
	int fd;
	char *path;
	uint64_t end; /* offset of the next block */
	uint32_t blocks;
	uint64_t records; /* number of records in these blocks */
	struct strtab *strings;
	uint32_t strings_written;  /* lowest id that is not in the file */
	struct payload payload;    /* records of the next block */
	struct write_queue *queue; /* NULL: blocks are written synchronously */
	bool closed;
	int failed;         /* negative errno of the first failed write, or 0 */
	struct err failure; /* its message */
};

/* Append, and leave room for the padding. */
static void payload_put(struct payload *p, const void *data, size_t size)
{
	if (p->size + size + BLOCK_ALIGN > p->room) {
		p->room = 2 * p->room + size + BLOCK_ALIGN;
		p->data = must_realloc(p->data, p->room);
	}
	memcpy(p->data + p->size, data, size);
	p->size += size;
}

static void payload_done(struct payload *p)
{
	free(p->data);
}

/* Pad with zeros to the block alignment, and return the padded size. */
static size_t payload_pad(struct payload *p)
{
	size_t size = capture_padded(p->size);

	memset(p->data + p->size, 0, size - p->size);
	return size;
}

static int write_at(int fd, const void *data, size_t size, uint64_t at)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, data, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data = (const char *)data + n;
		size -= n;
		at += n;
	}
	return 0;
}

/* Only the first failure is reported: later ones are its consequence. */
static int fail(struct capture_writer *w, int code, struct err *err)
{
	if (!w->failed) {
		w->failed = err_set(&w->failure, code, "cannot write '%s': %s", w->path,
				    strerror(-code));
		w->end = w->queue ? write_queue_end(w->queue) : w->end;
		if (ftruncate(w->fd, w->end) < 0)
			err_set(&w->failure, code,
				"cannot write '%s', and cannot truncate it to %" PRIu64
				" bytes: %s",
				w->path, w->end, strerror(-code));
	}
	*err = w->failure;
	return w->failed;
}

static int write_now(struct capture_writer *w, const struct block_header *h, const void *payload,
		     size_t size)
{
	int r = write_at(w->fd, payload, size, w->end + sizeof(*h));

	return r < 0 ? r : write_at(w->fd, h, sizeof(*h), w->end);
}

static int queue_block(struct capture_writer *w, const struct block_header *h, const void *payload,
		       size_t size)
{
	unsigned char *block = must_alloc(sizeof(*h) + size);

	memcpy(block, h, sizeof(*h));
	memcpy(block + sizeof(*h), payload, size);
	return write_queue_put(w->queue, block, sizeof(*h) + size, sizeof(*h), w->end);
}

/* Write p as the next block, and empty it. */
static int write_block(struct capture_writer *w, enum block_type type, struct payload *p,
		       struct err *err)
{
	size_t size = payload_pad(p);
	struct block_header h = {
		.magic = BLOCK_MAGIC,
		.type = type,
		.size = p->size,
		.count = p->count,
		.number = w->blocks,
		.first = p->first,
		.last = p->last,
		.offset = w->end,
		.payload_checksum = XXH3_64bits(p->data, size),
	};
	h.checksum = block_checksum(&h);

	int r = w->queue ? queue_block(w, &h, p->data, size) : write_now(w, &h, p->data, size);
	if (r < 0)
		return fail(w, r, err);
	w->end += sizeof(h) + size;
	w->blocks++;
	p->size = p->count = 0;
	return 0;
}

static int write_file_header(struct capture_writer *w, const struct capture_meta *meta,
			     struct err *err)
{
	const char *strings[META_STRINGS] = { meta->host, meta->kernel, meta->machine,
					      meta->command, meta->tool };
	struct file_header h = {
		.magic = CAPTURE_MAGIC,
		.byte_order = CAPTURE_BYTE_ORDER,
		.version = CAPTURE_VERSION,
		.strings = sizeof(h),
		.cpu_count = meta->cpu_count,
		.start = meta->start,
		.realtime_offset = meta->realtime_offset,
		.boottime_offset = meta->boottime_offset,
	};
	_cleanup_(payload_done) struct payload p = { 0 };
	uint64_t checksum = 0;

	payload_put(&p, &h, sizeof(h));
	for (size_t i = 0; i < META_STRINGS; i++)
		payload_put(&p, strings[i] ?: "", strlen(strings[i] ?: "") + 1);
	payload_put(&p, &checksum, sizeof(checksum));
	size_t size = payload_pad(&p);

	assert(size <= UINT32_MAX);
	((struct file_header *)p.data)->size = size;
	checksum = XXH3_64bits(p.data, size - sizeof(checksum));
	memcpy(p.data + size - sizeof(checksum), &checksum, sizeof(checksum));

	int r = write_at(w->fd, p.data, size, 0);
	if (r < 0)
		return fail(w, r, err);
	w->end = size;
	return 0;
}

int capture_create(const char *path, const struct capture_meta *meta, struct capture_writer **ret,
		   struct err *err)
{
	int fd = file_create(path, err);

	if (fd < 0)
		return fd;

	_cleanup_(capture_writer_freep) struct capture_writer *w = must_alloc(sizeof(*w));

	w->fd = fd;
	w->path = must_strdup(path);
	w->strings = strtab_new();
	w->strings_written = strtab_count(w->strings);
	int r = write_file_header(w, meta, err);
	if (r < 0)
		return r;
	*ret = TAKE(w);
	return 0;
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	write_queue_free(w->queue);
	close(w->fd);
	free(w->path);
	strtab_free(w->strings);
	payload_done(&w->payload);
	free(w);
}

uint32_t capture_add_string(struct capture_writer *w, const char *s)
{
	return strtab_add(w->strings, s).i;
}

uint32_t capture_find_string(const struct capture_writer *w, const char *s)
{
	return strtab_find(w->strings, s).i;
}

/* Write the strings that were added since the last call. */
static int write_strings(struct capture_writer *w, struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };
	uint32_t count = strtab_count(w->strings);

	while (w->strings_written < count) {
		for (; w->strings_written + p.count < count && p.size < BLOCK_TARGET; p.count++) {
			str_id id = { w->strings_written + p.count };
			const char *s = strtab_get(w->strings, id);

			payload_put(&p, s, strlen(s) + 1);
		}
		uint32_t written = p.count;
		int r = write_block(w, BLOCK_STRINGS, &p, err);
		if (r < 0)
			return r;
		w->strings_written += written;
	}
	return 0;
}

int capture_flush(struct capture_writer *w, struct err *err)
{
	struct payload *p = &w->payload;

	assert(!w->closed);
	if (w->failed)
		return fail(w, w->failed, err);

	int r = write_strings(w, err);
	if (r < 0 || p->count == 0)
		return r;
	uint32_t count = p->count;
	r = write_block(w, BLOCK_RECORDS, p, err);
	if (r == 0)
		w->records += count;
	return r;
}

int capture_write(struct capture_writer *w, const struct record *record, struct err *err)
{
	struct payload *p = &w->payload;
	size_t size = record->words * 8u;

	if (!record_fits(record, size))
		return err_set(err, -EINVAL, "a record of kind %u needs more than %zu bytes",
			       record->kind, size);
	if (w->failed || p->size + size > BLOCK_TARGET) {
		int r = capture_flush(w, err);
		if (r < 0)
			return r;
	}
	if (p->count == 0)
		p->first = p->last = record->time;
	if (record->time < p->first)
		p->first = record->time;
	if (record->time > p->last)
		p->last = record->time;
	p->count++;
	payload_put(p, record, size);
	return 0;
}

int capture_close(struct capture_writer *w, struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };
	int r = capture_flush(w, err);

	if (r < 0)
		return r;
	struct end_payload end = { w->records, w->strings_written - 1 };
	payload_put(&p, &end, sizeof(end));
	r = write_block(w, BLOCK_END, &p, err);
	if (r == 0 && w->queue) {
		int written = write_queue_flush(w->queue);

		r = written < 0 ? fail(w, written, err) : 0;
	}
	if (r == 0)
		w->closed = true;
	return r;
}

int capture_write_behind(struct capture_writer *w, size_t limit, struct err *err)
{
	w->queue = write_queue_new(w->fd, limit, w->end, write_at);
	return w->queue ? 0 : err_errno(err, "cannot start a thread to write '%s'", w->path);
}

uint64_t capture_size(const struct capture_writer *w)
{
	return w->end;
}

int capture_fd(const struct capture_writer *w)
{
	return w->fd;
}
