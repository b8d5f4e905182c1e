/* SPDX-License-Identifier: Apache-2.0 */
#include "event/block_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/block_write.h"
#include "event/capture_format.h"

enum { NOTES_MAX = 64 };

/* A block that ring and snapshots share. */
struct ring_block {
	unsigned int users; /* atomic */
	struct block_header header;
	unsigned char payload[]; /* with padding */
};

typedef VEC(struct ring_block *) ring_blocks;

struct ring_epoch {
	nsec_t start;
	ring_blocks blocks;
	size_t bytes;
	bool complete; /* describes everything that its records refer to: the start of the stream */
};

struct block_ring {
	nsec_t time;
	size_t limit, bytes;
	VEC(struct ring_epoch) epochs; /* the oldest first */
	ring_blocks notes;             /* kept for all captures */
	nsec_t end;                    /* time of the last record */
	bool limited;
};

struct ring_snapshot {
	struct capture_meta meta;
	char *strings[META_STRINGS];
	ring_blocks blocks;
};

static size_t block_size(const struct ring_block *b)
{
	return sizeof(*b) + capture_padded(b->header.size);
}

static struct ring_block *ring_block_new(const struct block_header *h, const void *payload)
{
	size_t size = capture_padded(h->size);
	struct ring_block *b = must_realloc(NULL, sizeof(*b) + size);

	b->users = 1;
	b->header = *h;
	memcpy(b->payload, payload, size);
	return b;
}

static struct ring_block *ring_block_use(struct ring_block *b)
{
	__atomic_add_fetch(&b->users, 1, __ATOMIC_RELAXED);
	return b;
}

static void ring_block_drop(struct ring_block *b)
{
	if (__atomic_sub_fetch(&b->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(b);
}

static void ring_blocks_done(ring_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		ring_block_drop(blocks->items[i]);
	vec_done(blocks);
}

struct block_ring *block_ring_new(nsec_t time, size_t limit)
{
	struct block_ring *ring = must_alloc(sizeof(*ring));

	ring->time = time;
	ring->limit = limit;
	return ring;
}

void block_ring_clear(struct block_ring *ring)
{
	for (size_t i = 0; i < ring->epochs.count; i++)
		ring_blocks_done(&ring->epochs.items[i].blocks);
	ring->epochs.count = 0;
	ring_blocks_done(&ring->notes);
	ring->bytes = ring->end = 0;
	ring->limited = false;
}

void block_ring_free(struct block_ring *ring)
{
	if (!ring)
		return;
	block_ring_clear(ring);
	vec_done(&ring->epochs);
	free(ring);
}

static bool is_epoch(const struct block_header *h, const void *payload)
{
	const struct record *record = payload;

	return h->type == BLOCK_RECORDS && h->count == 1 && record_fits(record, h->size) &&
	       record->kind == RECORD_EPOCH;
}

static void begin_epoch(struct block_ring *ring, nsec_t start, bool complete)
{
	*vec_push(&ring->epochs) = (struct ring_epoch){ .start = start, .complete = complete };
}

static void drop_oldest_epoch(struct block_ring *ring)
{
	struct ring_epoch *epochs = ring->epochs.items;

	ring->bytes -= epochs[0].bytes;
	ring_blocks_done(&epochs[0].blocks);
	memmove(epochs, epochs + 1, --ring->epochs.count * sizeof(epochs[0]));
}

/* The first of the epochs that are completely described; the number of epochs if there is none. */
static size_t first_complete(const struct block_ring *ring)
{
	return ring->epochs.count == 0 || ring->epochs.items[0].complete ? 0 : 1;
}

/* An epoch is not needed if those after the next one cover the time. */
static void drop_old(struct block_ring *ring)
{
	while (ring->epochs.count > 2 && ring->end >= ring->time &&
	       ring->epochs.items[2].start <= ring->end - ring->time)
		drop_oldest_epoch(ring);
}

/*
 * A single epoch exceeds the limit.  Drop its older half at once, so that the cost per block stays
 * constant.
 */
static void halve_epoch(struct block_ring *ring, struct ring_epoch *epoch)
{
	size_t half = (epoch->blocks.count + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		size_t size = block_size(epoch->blocks.items[i]);

		epoch->bytes -= size;
		ring->bytes -= size;
		ring_block_drop(epoch->blocks.items[i]);
	}
	epoch->blocks.count -= half;
	memmove(epoch->blocks.items, epoch->blocks.items + half,
		epoch->blocks.count * sizeof(epoch->blocks.items[0]));
	epoch->complete = false;
}

static void keep_to_limit(struct block_ring *ring)
{
	while (ring->bytes > ring->limit && ring->epochs.count) {
		ring->limited = true;
		if (ring->epochs.count > 1)
			drop_oldest_epoch(ring);
		else
			halve_epoch(ring, &ring->epochs.items[0]);
	}
}

static void add_note(struct block_ring *ring, const struct block_header *h, const void *payload)
{
	if (ring->notes.count < NOTES_MAX)
		*vec_push(&ring->notes) = ring_block_new(h, payload);
}

void block_ring_add(void *arg, const struct block_header *h, const void *payload)
{
	struct block_ring *ring = arg;

	if (h->type == BLOCK_NOTE)
		add_note(ring, h, payload);
	if (h->type != BLOCK_RECORDS && h->type != BLOCK_STRINGS)
		return;
	if (is_epoch(h, payload))
		begin_epoch(ring, h->first, false);
	else if (ring->epochs.count == 0)
		begin_epoch(ring, h->type == BLOCK_RECORDS ? h->first : 0, true);

	struct ring_epoch *epoch = &ring->epochs.items[ring->epochs.count - 1];
	struct ring_block *b = ring_block_new(h, payload);

	*vec_push(&epoch->blocks) = b;
	epoch->bytes += block_size(b);
	ring->bytes += block_size(b);
	if (h->type == BLOCK_RECORDS) {
		epoch->start = epoch->start ?: h->first;
		ring->end = h->last > ring->end ? h->last : ring->end;
	}
	drop_old(ring);
	keep_to_limit(ring);
}

struct block_ring_state block_ring_state(const struct block_ring *ring)
{
	size_t first = first_complete(ring);
	struct block_ring_state state = { .bytes = ring->bytes, .limited = ring->limited };

	if (first < ring->epochs.count) {
		state.from = ring->epochs.items[first].start;
		state.to = ring->end;
	}
	return state;
}

static void use_all(struct ring_snapshot *s, const ring_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		*vec_push(&s->blocks) = ring_block_use(blocks->items[i]);
}

struct ring_snapshot *block_ring_snapshot(const struct block_ring *ring,
					  const struct capture_meta *meta)
{
	struct ring_snapshot *s = must_alloc(sizeof(*s));
	const char **strings[META_STRINGS] = { &s->meta.host, &s->meta.kernel, &s->meta.machine,
					       &s->meta.command, &s->meta.tool };

	s->meta = *meta;
	for (size_t i = 0; i < META_STRINGS; i++)
		*strings[i] = s->strings[i] = must_strdup(*strings[i] ?: "");
	if (ring->epochs.count && !ring->epochs.items[0].complete)
		s->meta.start = ring->epochs.items[0].start;
	use_all(s, &ring->notes);
	for (size_t i = 0; i < ring->epochs.count; i++)
		use_all(s, &ring->epochs.items[i].blocks);
	return s;
}

void ring_snapshot_free(struct ring_snapshot *s)
{
	if (!s)
		return;
	ring_blocks_done(&s->blocks);
	for (size_t i = 0; i < META_STRINGS; i++)
		free(s->strings[i]);
	free(s);
}

/* A capture that is written sequentially. */
struct ring_output {
	int fd;
	uint64_t offset;
	uint32_t blocks;
	struct end_payload counts;
};

static int write_all(struct ring_output *out, const void *data, size_t size)
{
	const char *at = data;

	for (size_t left = size; left;) {
		ssize_t n = write(out->fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		left -= n;
	}
	out->offset += size;
	return 0;
}

/* Write a block at another position than in the stream. */
static int write_block(struct ring_output *out, struct block_header h, const void *payload)
{
	h.number = out->blocks++;
	h.offset = out->offset;
	h.checksum = block_checksum(&h);
	out->counts.records += h.type == BLOCK_RECORDS ? h.count : 0;
	out->counts.strings += h.type == BLOCK_STRINGS ? h.count : 0;

	int r = write_all(out, &h, sizeof(h));

	return r < 0 ? r : write_all(out, payload, capture_padded(h.size));
}

static int write_end(struct ring_output *out)
{
	union {
		struct end_payload end;
		unsigned char padded[BLOCK_ALIGN];
	} payload = { .padded = { 0 } };
	struct block_header h = { .magic = BLOCK_MAGIC,
				  .type = BLOCK_END,
				  .size = sizeof(payload.end) };

	payload.end = out->counts;
	h.payload_checksum = XXH3_64bits(&payload, sizeof(payload));
	return write_block(out, h, &payload);
}

int ring_snapshot_write(const struct ring_snapshot *s, int fd, const char *name, struct err *err)
{
	_cleanup_(payload_done) struct payload head = { 0 };
	struct ring_output out = { .fd = fd };

	file_header_build(&head, &s->meta);

	int r = write_all(&out, head.data, head.size);

	for (size_t i = 0; r == 0 && i < s->blocks.count; i++)
		r = write_block(&out, s->blocks.items[i]->header, s->blocks.items[i]->payload);
	if (r == 0)
		r = write_end(&out);
	return r < 0 ? err_set(err, r, "cannot write '%s': %s", name, strerror(-r)) : 0;
}
