/* SPDX-License-Identifier: Apache-2.0 */
#include "event/stream_write.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/vec.h"
#include "event/block_write.h"
#include "event/kind.h"
#include "event/stream_queue.h"

/* The longest time that a record waits for its block to fill. */
#define BLOCK_AGE_MAX (100 * NSEC_PER_MSEC)

enum {
	STRING_MAX = 2 * BLOCK_TARGET, /* so that no block exceeds BLOCK_MAX */
	NOTE_MAX = 4000,
	HELD_NOTES_MAX = 32,
};
_Static_assert(BLOCK_TARGET + STRING_MAX + BLOCK_ALIGN <= BLOCK_MAX, "limit of streams");

/* What was dropped since the last LOSS records. */
struct stream_drops {
	uint64_t blocks;
	nsec_t first, last;
	VEC(uint64_t) records; /* by CPU */
};

struct stream_writer {
	struct block_writer blocks;
	struct stream_queue queue;
	size_t limit; /* of the queue, bytes */
	uint32_t cpu_count;
	bool stalled; /* drop blocks until half of the queue is free */
	struct stream_drops drops;
	uint64_t dropped_blocks, dropped_records, added; /* since the start */
	uint32_t epoch;
	bool needs_epoch;
	nsec_t block_since;  /* start of the current block; 0 if it is empty */
	VEC(char *) notes;   /* held back while the reader stalls */
	uint64_t notes_lost; /* number of further ones */
	struct recorder_stats stats;
	bool has_stats; /* stats are not sent yet */
	int failed;     /* negative errno of the first failed write, or 0 */
	struct err failure;
};

/* Only the first failure is reported: later ones are its consequence. */
static int fail(struct stream_writer *w, int code, struct err *err)
{
	if (!w->failed && code == -EPIPE)
		w->failed = err_set(&w->failure, code, "the reader of the stream has ended");
	else if (!w->failed && code == -ETIMEDOUT)
		w->failed = err_set(&w->failure, code, "the reader of the stream does not read");
	else if (!w->failed)
		w->failed =
			err_set(&w->failure, code, "cannot write the stream: %s", strerror(-code));
	*err = w->failure;
	return w->failed;
}

/* A block_put_fn. */
static int put_block(void *arg, const struct block_header *h, const void *payload, size_t size,
		     struct err *err)
{
	struct stream_writer *w = arg;
	int r = stream_queue_put(&w->queue, h, sizeof(*h), payload, size);

	return r < 0 ? fail(w, r, err) : 0;
}

struct stream_writer *stream_writer_new(int fd, const struct capture_meta *meta, size_t limit)
{
	struct stream_writer *w = must_alloc(sizeof(*w));
	_cleanup_(payload_done) struct payload p = { 0 };
	struct err ignored;

	block_writer_init(&w->blocks, put_block, w);
	stream_queue_init(&w->queue, fd);
	w->limit = limit;
	w->cpu_count = meta->cpu_count;
	file_header_build(&p, meta);
	w->blocks.end = p.size;

	int r = stream_queue_put(&w->queue, p.data, p.size, NULL, 0);

	if (r < 0)
		fail(w, r, &ignored); /* the next call reports it */
	return w;
}

void stream_writer_free(struct stream_writer *w)
{
	if (!w)
		return;
	block_writer_done(&w->blocks);
	stream_queue_done(&w->queue);
	for (size_t i = 0; i < w->notes.count; i++)
		free(w->notes.items[i]);
	vec_done(&w->notes);
	vec_done(&w->drops.records);
	free(w);
}

int stream_output_open(int fd, struct err *err)
{
	_cleanup_(freep) char *path = must_printf("/proc/self/fd/%d", fd);
	struct stat st;
	int again = -1;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "cannot write the stream");
	if (isatty(fd))
		return err_set(err, -EINVAL,
			       "cannot write the stream to a terminal: redirect it to a file or a "
			       "pipe");
	if (S_ISFIFO(st.st_mode))
		again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (again < 0)
		again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (again >= 0 && S_ISFIFO(st.st_mode)) /* without /proc, for all that share the pipe */
		fcntl(again, F_SETFL, fcntl(again, F_GETFL) | O_NONBLOCK);
	return again < 0 ? err_errno(err, "cannot write the stream") : again;
}

uint32_t stream_writer_add_string(struct stream_writer *w, const char *s)
{
	return block_writer_add_string(&w->blocks, s, STRING_MAX);
}

uint32_t stream_writer_find_string(const struct stream_writer *w, const char *s)
{
	return block_writer_find_string(&w->blocks, s);
}

uint32_t stream_writer_renew_string(struct stream_writer *w, uint32_t id)
{
	const struct epoch_strings *current = &w->blocks.current, *previous = &w->blocks.previous;

	if (id > current->base && id - current->base < strtab_count(current->table))
		return id;
	if (!previous->table || id <= previous->base ||
	    id - previous->base >= strtab_count(previous->table))
		return 0;
	return stream_writer_add_string(w, strtab_get(previous->table,
						      (str_id){ id - previous->base }));
}

/* Count a dropped record on its CPU; a dropped LOSS counts as what it reports. */
static void drop_record(struct stream_drops *drops, const struct record *record)
{
	size_t cpu = kind_has_cpu(record->kind) ? record->cpu : 0;
	bool loss = record->kind == RECORD_LOSS;
	nsec_t start = loss ? ((const struct record_loss *)record)->start : record->time;

	while (drops->records.count <= cpu)
		*vec_push(&drops->records) = 0;
	drops->records.items[cpu] += 1;
	if (loss)
		drops->records.items[cpu] += ((const struct record_loss *)record)->count;
	if (start < drops->first)
		drops->first = start;
	if (record->time > drops->last)
		drops->last = record->time;
}

static void drop_block(struct stream_writer *w)
{
	struct payload *p = &w->blocks.payload;
	struct stream_drops *drops = &w->drops;

	if (p->count == 0)
		return;
	if (!drops->blocks)
		drops->first = p->first;
	for (size_t at = 0; at < p->size; at += ((const struct record *)(p->data + at))->words * 8u)
		drop_record(drops, (const struct record *)(p->data + at));
	drops->blocks++;
	w->dropped_blocks++;
	w->dropped_records += p->count;
	p->size = p->count = 0;
	w->block_since = 0;
}

/* Report the dropped blocks as losses, for all CPUs: any of their records can be missing. */
static int write_losses(struct stream_writer *w, struct err *err)
{
	struct stream_drops *drops = &w->drops;
	_cleanup_(payload_done) struct payload p = { 0 };

	while (drops->records.count < w->cpu_count)
		*vec_push(&drops->records) = 0;
	for (size_t cpu = 0; cpu < drops->records.count; cpu++) {
		struct record_loss loss = {
			.head = { .time = drops->last,
				  .cpu = cpu,
				  .kind = RECORD_LOSS,
				  .words = sizeof(loss) / 8 },
			.start = drops->first,
			.end = drops->last,
			.count = drops->records.items[cpu],
		};

		payload_put_record(&p, &loss.head);
	}
	w->added += p.count;
	drops->records.count = 0;
	drops->blocks = drops->first = drops->last = 0;
	w->needs_epoch = true;
	return block_writer_write(&w->blocks, BLOCK_RECORDS, &p, err);
}

static int write_note(struct stream_writer *w, const char *text, struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };

	size_t size = strlen(text);

	payload_put(&p, text, size < NOTE_MAX ? size : NOTE_MAX);
	return block_writer_write(&w->blocks, BLOCK_NOTE, &p, err);
}

/* Send the notes that were held back. */
static int write_notes(struct stream_writer *w, struct err *err)
{
	char more[80];
	int r = 0;

	for (size_t i = 0; i < w->notes.count; i++) {
		if (r == 0)
			r = write_note(w, w->notes.items[i], err);
		free(w->notes.items[i]);
	}
	w->notes.count = 0;
	if (r < 0 || !w->notes_lost)
		return r;
	snprintf(more, sizeof(more), "%" PRIu64 " more warning%s of the recorder", w->notes_lost,
		 w->notes_lost == 1 ? "" : "s");
	w->notes_lost = 0;
	return write_note(w, more, err);
}

static int write_stats(struct stream_writer *w, struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };

	if (!w->has_stats)
		return 0;
	w->has_stats = false;
	w->stats.bytes = w->blocks.end;
	w->stats.dropped_blocks = w->dropped_blocks;
	w->stats.dropped_records = w->dropped_records;
	payload_put(&p, &w->stats, sizeof(w->stats));
	return block_writer_write(&w->blocks, BLOCK_STATS, &p, err);
}

/* Whether the reader is so slow that the current block has to be dropped. */
static bool is_stalled(struct stream_writer *w)
{
	size_t size = w->queue.queued + w->blocks.payload.size;

	w->stalled = w->stalled ? size > w->limit / 2 : size > w->limit;
	return w->stalled;
}

static int end_block(struct stream_writer *w, struct err *err)
{
	int r = 0;

	if (is_stalled(w)) {
		drop_block(w);
		return 0;
	}
	if (w->drops.blocks)
		r = write_losses(w, err);
	if (r == 0)
		r = block_writer_flush(&w->blocks, err);
	if (r == 0)
		r = write_notes(w, err);
	if (r == 0)
		r = write_stats(w, err);
	w->block_since = 0;
	return r;
}

static int write_queued(struct stream_writer *w, struct err *err)
{
	int r = w->failed ?: stream_queue_write(&w->queue);

	return r < 0 ? fail(w, r, err) : 0;
}

int stream_writer_flush(struct stream_writer *w, struct err *err)
{
	int r = write_queued(w, err);

	return r < 0 ? r : end_block(w, err);
}

int stream_writer_write(struct stream_writer *w, const struct record *record, struct err *err)
{
	size_t size = record->words * 8u;

	if (!record_fits(record, size))
		return block_writer_refuse(record, err);
	if (w->failed || block_writer_is_full(&w->blocks, size)) {
		int r = stream_writer_flush(w, err);
		if (r < 0)
			return r;
	}
	payload_put_record(&w->blocks.payload, record);
	return 0;
}

int stream_writer_poll(struct stream_writer *w, nsec_t now, struct err *err)
{
	int r = write_queued(w, err);

	if (r < 0)
		return r;
	if (!w->block_since)
		w->block_since = now;
	if (w->queue.queued && now - w->block_since < BLOCK_AGE_MAX)
		return 0;
	return end_block(w, err);
}

bool stream_writer_has_queued(const struct stream_writer *w)
{
	return w->queue.queued > 0;
}

bool stream_writer_needs_epoch(const struct stream_writer *w)
{
	return w->needs_epoch;
}

int stream_writer_begin_epoch(struct stream_writer *w, nsec_t now, struct err *err)
{
	struct record_epoch epoch = {
		.head = { .time = now, .kind = RECORD_EPOCH, .words = sizeof(epoch) / 8 },
		.number = w->epoch + 1,
	};
	int r = stream_writer_flush(w, err);

	if (r < 0)
		return r;
	block_writer_begin_epoch(&w->blocks);
	w->epoch++;
	w->added++;
	w->needs_epoch = false;
	payload_put_record(&w->blocks.payload, &epoch.head);
	return end_block(w, err);
}

int stream_writer_add_note(struct stream_writer *w, const char *text, struct err *err)
{
	if (w->failed)
		return fail(w, w->failed, err);
	if (!w->stalled)
		return write_note(w, text, err);
	if (w->notes.count < HELD_NOTES_MAX)
		*vec_push(&w->notes) = must_printf("%.*s", NOTE_MAX, text);
	else
		w->notes_lost++;
	return 0;
}

int stream_writer_add_stats(struct stream_writer *w, const struct recorder_stats *stats,
			    struct err *err)
{
	w->stats = *stats;
	w->has_stats = true;
	if (w->failed)
		return fail(w, w->failed, err);
	return w->queue.queued ? 0 : write_stats(w, err);
}

/* Write until at most `rest` bytes are queued. */
static int drain(struct stream_writer *w, size_t rest, nsec_t deadline, struct err *err)
{
	int r = write_queued(w, err);

	while (r == 0 && w->queue.queued > rest) {
		struct pollfd writable = { .fd = w->queue.fd, .events = POLLOUT };
		nsec_t now = clock_now();

		if (now >= deadline)
			return fail(w, -ETIMEDOUT, err);
		poll(&writable, 1, (deadline - now) / NSEC_PER_MSEC + 1);
		r = write_queued(w, err);
	}
	return r;
}

int stream_writer_settle(struct stream_writer *w, nsec_t timeout, struct err *err)
{
	int r = drain(w, w->limit / 4, clock_now() + timeout, err);

	return r < 0 ? r : end_block(w, err);
}

int stream_writer_close(struct stream_writer *w, nsec_t timeout, struct err *err)
{
	nsec_t deadline = clock_now() + timeout;
	int r = stream_writer_settle(w, timeout, err);

	if (r == 0)
		r = block_writer_end(&w->blocks, err);
	return r < 0 ? r : drain(w, 0, deadline, err);
}

uint64_t stream_writer_size(const struct stream_writer *w)
{
	return w->blocks.end;
}

uint64_t stream_writer_dropped(const struct stream_writer *w)
{
	return w->dropped_records;
}

uint64_t stream_writer_added(const struct stream_writer *w)
{
	return w->added;
}
