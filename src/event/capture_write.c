/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_write - write a recording into a file, block by block.
 *
 * A block is written payload first, header second.  Until the header is written, its offset reads
 * as zeros; this marks the end of a recording whose writer was killed, so that such a file needs
 * no repair.  If a write fails, the file is truncated to the last complete block, so that a full
 * disk also leaves a readable capture.
 */
#include "event/capture.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "event/block_write.h"
#include "event/write_queue.h"

struct capture_writer {
	int fd;
	char *path;
	struct block_writer blocks;
	struct write_queue *queue; /* NULL: blocks are written synchronously */
	bool closed;
	int failed;         /* negative errno of the first failed write, or 0 */
	struct err failure; /* its message */
};

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
		w->blocks.end = w->queue ? write_queue_end(w->queue) : w->blocks.end;
		if (ftruncate(w->fd, w->blocks.end) < 0)
			err_set(&w->failure, code,
				"cannot write '%s', and cannot truncate it to %" PRIu64
				" bytes: %s",
				w->path, w->blocks.end, strerror(-code));
	}
	*err = w->failure;
	return w->failed;
}

static int write_now(int fd, const struct block_header *h, const void *payload, size_t size)
{
	int r = write_at(fd, payload, size, h->offset + sizeof(*h));

	return r < 0 ? r : write_at(fd, h, sizeof(*h), h->offset);
}

static int queue_block(struct write_queue *queue, const struct block_header *h, const void *payload,
		       size_t size)
{
	unsigned char *block = must_alloc(sizeof(*h) + size);

	memcpy(block, h, sizeof(*h));
	memcpy(block + sizeof(*h), payload, size);
	return write_queue_put(queue, block, sizeof(*h) + size, sizeof(*h), h->offset);
}

/* A block_put_fn. */
static int put_block(void *arg, const struct block_header *h, const void *payload, size_t size,
		     struct err *err)
{
	struct capture_writer *w = arg;
	int r = w->queue ? queue_block(w->queue, h, payload, size)
			 : write_now(w->fd, h, payload, size);

	return r < 0 ? fail(w, r, err) : 0;
}

static int write_file_header(struct capture_writer *w, const struct capture_meta *meta,
			     struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };

	file_header_build(&p, meta);

	int r = write_at(w->fd, p.data, p.size, 0);

	if (r < 0)
		return fail(w, r, err);
	w->blocks.end = p.size;
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
	block_writer_init(&w->blocks, put_block, w);
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
	block_writer_done(&w->blocks);
	free(w);
}

uint32_t capture_add_string(struct capture_writer *w, const char *s)
{
	return block_writer_add_string(&w->blocks, s, SIZE_MAX);
}

uint32_t capture_find_string(const struct capture_writer *w, const char *s)
{
	return block_writer_find_string(&w->blocks, s);
}

int capture_flush(struct capture_writer *w, struct err *err)
{
	assert(!w->closed);
	return w->failed ? fail(w, w->failed, err) : block_writer_flush(&w->blocks, err);
}

int capture_write(struct capture_writer *w, const struct record *record, struct err *err)
{
	size_t size = record->words * 8u;

	if (!record_fits(record, size))
		return block_writer_refuse(record, err);
	if (w->failed || block_writer_is_full(&w->blocks, size)) {
		int r = capture_flush(w, err);
		if (r < 0)
			return r;
	}
	payload_put_record(&w->blocks.payload, record);
	return 0;
}

int capture_close(struct capture_writer *w, struct err *err)
{
	assert(!w->closed);

	int r = w->failed ? fail(w, w->failed, err) : block_writer_end(&w->blocks, err);

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
	w->queue = write_queue_new(w->fd, limit, w->blocks.end, write_at);
	return w->queue ? 0 : err_errno(err, "cannot start a thread to write '%s'", w->path);
}

uint64_t capture_size(const struct capture_writer *w)
{
	return w->blocks.end;
}

int capture_fd(const struct capture_writer *w)
{
	return w->fd;
}
