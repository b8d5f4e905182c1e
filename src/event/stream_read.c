/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are parsed in place, in a buffer that holds at least one of them.  The start of an
 * incomplete block is moved to the start of the buffer only if its end would not fit, so each byte
 * is moved at most once.  Only strings are copied, because records of later blocks refer to them.
 */
#include "event/stream_read.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/capture_format.h"
#include "event/string_index.h"

enum {
	BUFFER_SIZE = 2 * BLOCK_TARGET,
	HEADER_MAX = 1024 * 1024,              /* of the file */
	STRINGS_MAX = 256 * 1024 * 1024,       /* memory for the strings of an epoch, bytes */
	PER_STRING = sizeof(const char *) * 2, /* memory for its entry in a vector that doubles */
	NOTE_MAX = 4096,
};

/* The strings of an epoch. */
struct stream_strings {
	struct string_index index;
	VEC(char *) texts; /* payloads of blocks */
	size_t memory;     /* bytes */
};

struct stream_reader {
	char *name; /* for messages */
	unsigned char *buffer;
	size_t room;       /* size of the buffer */
	size_t start, end; /* bytes in the buffer that belong to no complete block yet */
	bool ended;        /* no more bytes will come */
	uint64_t offset;   /* of buffer[start] in the stream */
	uint32_t number;   /* of the next block */
	unsigned char *head_bytes;
	struct capture *head; /* the file header as a capture without blocks, or NULL */
	const unsigned char *at, *records_end; /* rest of the current block of records */
	struct stream_strings current, previous;
	struct recorder_stats stats;
	bool has_stats, complete;
	uint64_t unknown;
	struct end_payload counts; /* in the blocks so far */
	stream_block_fn *on_block;
	stream_note_fn *on_note;
	void *block_arg, *note_arg;
	int failed; /* negative errno, or 0 */
	struct err failure;
};

struct stream_reader *stream_reader_new(const char *name)
{
	struct stream_reader *r = must_alloc(sizeof(*r));

	r->name = must_strdup(name);
	r->room = BUFFER_SIZE;
	r->buffer = must_realloc(NULL, r->room);
	return r;
}

static void strings_done(struct stream_strings *s)
{
	for (size_t i = 0; i < s->texts.count; i++)
		free(s->texts.items[i]);
	vec_done(&s->texts);
	string_index_done(&s->index);
}

void stream_reader_free(struct stream_reader *r)
{
	if (!r)
		return;
	capture_free(r->head);
	free(r->head_bytes);
	strings_done(&r->current);
	strings_done(&r->previous);
	free(r->buffer);
	free(r->name);
	free(r);
}

/* The message starts with "'name' is". */
__attribute__((format(printf, 3, 4))) static int fail(struct stream_reader *r, int code,
						      const char *fmt, ...)
{
	char text[sizeof(r->failure.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->failed = err_set(&r->failure, code, "'%s' is %s", r->name, text);
	return r->failed;
}

/* Bytes from buffer[start] that are needed to go on: a header, or a complete block. */
static size_t needed(const struct stream_reader *r)
{
	const struct file_header *file = (const void *)(r->buffer + r->start);
	const struct block_header *block = (const void *)(r->buffer + r->start);
	size_t have = r->end - r->start;

	if (!r->head)
		return have < sizeof(*file) || file->size > HEADER_MAX ? sizeof(*file) : file->size;
	if (have < sizeof(*block) || block->size > BLOCK_MAX)
		return sizeof(*block);
	return sizeof(*block) + capture_padded(block->size);
}

void *stream_reader_room(struct stream_reader *r, size_t *ret_size)
{
	size_t have = r->end - r->start, need = needed(r);

	assert(r->at == r->records_end);
	if (have == 0)
		r->start = r->end = 0;
	if (r->room - r->start <= need || r->room == r->end) {
		memmove(r->buffer, r->buffer + r->start, have);
		r->start = 0;
		r->end = have;
	}
	if (r->room <= need || r->room == r->end) {
		r->room = 2 * (need > r->end ? need : r->end);
		r->buffer = must_realloc(r->buffer, r->room);
	}
	*ret_size = r->room - r->end;
	return r->buffer + r->end;
}

void stream_reader_feed(struct stream_reader *r, size_t size)
{
	assert(size <= r->room - r->end);
	r->end += size;
}

void stream_reader_end(struct stream_reader *r)
{
	r->ended = true;
}

int stream_reader_read(struct stream_reader *r, int fd, struct err *err)
{
	size_t size;
	void *to = stream_reader_room(r, &size);
	ssize_t n;

	do
		n = read(fd, to, size);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n < 0)
		return err_errno(err, "cannot read '%s'", r->name);
	if (n == 0)
		stream_reader_end(r);
	stream_reader_feed(r, n);
	return n;
}

/* Fewer bytes than needed: wait for more, unless the stream has ended. */
static int incomplete(struct stream_reader *r, const char *what)
{
	if (!r->ended)
		return -EAGAIN;
	return fail(r, -EBADMSG,
		    "truncated: the %s at offset %" PRIu64 " needs %zu bytes, %zu follow", what,
		    r->offset, needed(r), r->end - r->start);
}

static void consume(struct stream_reader *r, size_t size)
{
	r->start += size;
	r->offset += size;
}

static int read_file_header(struct stream_reader *r)
{
	size_t have = r->end - r->start, size = needed(r);
	size_t known = have < strlen(CAPTURE_MAGIC) ? have : strlen(CAPTURE_MAGIC);

	if (have == 0 && r->ended)
		return fail(r, -EBADMSG, "empty, not a sonde capture");
	if (memcmp(r->buffer + r->start, CAPTURE_MAGIC, known) != 0)
		return fail(r, -EBADMSG, "not a sonde capture: bad magic at offset 0");
	if (have < size)
		return incomplete(r, "file header");
	free(r->head_bytes);
	r->head_bytes = must_alloc(size);
	memcpy(r->head_bytes, r->buffer + r->start, size);
	r->failed = capture_open_memory(r->name, r->head_bytes, size, &r->head, &r->failure);
	if (r->failed < 0)
		return r->failed;
	consume(r, size);
	return 0;
}

/* As capture_read's check of a header, but a stream also limits the size. */
static int check_header(struct stream_reader *r, const struct block_header *h)
{
	if (h->magic != BLOCK_MAGIC)
		return fail(r, -EBADMSG, "damaged: expected a block at offset %" PRIu64, r->offset);
	if (!block_header_valid(h))
		return fail(r, -EBADMSG,
			    "damaged: the block header at offset %" PRIu64
			    " has the wrong checksum",
			    r->offset);
	if (h->offset != r->offset || h->number != r->number)
		return fail(r, -EBADMSG,
			    "damaged: expected block %u at offset %" PRIu64
			    ", found block %u of offset %" PRIu64,
			    r->number, r->offset, h->number, h->offset);
	if (h->size > BLOCK_MAX)
		return fail(r, -EBADMSG,
			    "damaged: the block at offset %" PRIu64 " has %" PRIu64
			    " bytes, in a stream it can have %d",
			    r->offset, h->size, BLOCK_MAX);
	return 0;
}

static int read_strings(struct stream_reader *r, const struct block_header *h, const void *payload)
{
	struct stream_strings *s = &r->current;
	char *text = must_alloc(h->size + 1);

	memcpy(text, payload, h->size);
	*vec_push(&s->texts) = text;
	/* a string has at least its NUL, whatever the header claims */
	s->memory += h->size + PER_STRING * ((h->count < h->size ? h->count : h->size) + 2);
	if (s->memory > STRINGS_MAX)
		return fail(r, -E2BIG, "too large: its strings need more than %d bytes",
			    STRINGS_MAX);

	const char *wrong = string_index_add(&s->index, text, h->size, h->first, h->count);

	return wrong ? fail(r, -EBADMSG, "damaged: in the block at offset %" PRIu64 ", %s",
			    r->offset, wrong)
		     : 0;
}

static void read_note(struct stream_reader *r, const struct block_header *h, const void *payload)
{
	char text[NOTE_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)h->size, (const char *)payload);
	if (r->on_note)
		r->on_note(r->note_arg, text);
}

static void read_stats(struct stream_reader *r, const struct block_header *h, const void *payload)
{
	r->stats = (struct recorder_stats){ 0 };
	memcpy(&r->stats, payload, h->size < sizeof(r->stats) ? h->size : sizeof(r->stats));
	r->has_stats = true;
}

static int read_end(struct stream_reader *r, const struct block_header *h, const void *payload)
{
	struct end_payload end = { 0 };

	memcpy(&end, payload, h->size < sizeof(end) ? h->size : sizeof(end));
	if (end.records != r->counts.records || end.strings != r->counts.strings)
		return fail(r, -EBADMSG,
			    "damaged: its end counts %" PRIu64 " records and %" PRIu64
			    " strings, %" PRIu64 " and %" PRIu64 " were read",
			    end.records, end.strings, r->counts.records, r->counts.strings);
	r->complete = true;
	return 0;
}

static int read_payload(struct stream_reader *r, const struct block_header *h,
			const unsigned char *payload)
{
	switch (h->type) {
	case BLOCK_RECORDS:
		r->at = payload;
		r->records_end = payload + h->size;
		r->counts.records += h->count;
		return 0;
	case BLOCK_STRINGS:
		r->counts.strings += h->count;
		return read_strings(r, h, payload);
	case BLOCK_NOTE:
		read_note(r, h, payload);
		return 0;
	case BLOCK_STATS:
		read_stats(r, h, payload);
		return 0;
	case BLOCK_END:
		return read_end(r, h, payload);
	default:
		return 0;
	}
}

/* Read the next block: 1, or as stream_reader_next(). */
static int next_block(struct stream_reader *r)
{
	const unsigned char *at = r->buffer + r->start;
	size_t have = r->end - r->start;
	struct block_header h;

	if (have == 0 && r->ended)
		return 0;
	if (r->complete && have > 0)
		return fail(r, -EBADMSG, "damaged: bytes follow its end at offset %" PRIu64,
			    r->offset);
	if (have < sizeof(h))
		return r->complete ? 0 : incomplete(r, "block");
	memcpy(&h, at, sizeof(h));
	if (check_header(r, &h) < 0)
		return r->failed;
	if (have < needed(r))
		return incomplete(r, "block");
	if (XXH3_64bits(at + sizeof(h), capture_padded(h.size)) != h.payload_checksum)
		return fail(r, -EBADMSG,
			    "damaged: the block at offset %" PRIu64 " has the wrong checksum",
			    r->offset);
	if (read_payload(r, &h, at + sizeof(h)) < 0)
		return r->failed;
	if (r->on_block)
		r->on_block(r->block_arg, &h, at + sizeof(h));
	consume(r, sizeof(h) + capture_padded(h.size));
	r->number++;
	return 1;
}

/* Strings of the epoch before the last are unknown from now on. */
static void begin_epoch(struct stream_reader *r)
{
	uint32_t next = string_index_next(&r->current.index);

	strings_done(&r->previous);
	r->previous = r->current;
	r->current = (struct stream_strings){ 0 };
	string_index_init(&r->current.index, next);
}

/* The next record of the current block: 1, or 0 at its end. */
static int next_record(struct stream_reader *r, const struct record **ret)
{
	while (r->at < r->records_end) {
		const struct record *record = (const struct record *)r->at;

		if (!record_fits(record, r->records_end - r->at)) {
			r->at = r->records_end;
			return fail(r, -EBADMSG,
				    "damaged: a record before offset %" PRIu64
				    " does not fit into its block",
				    r->offset);
		}
		r->at += record->words * 8u;
		if (record->kind == 0 || record->kind >= RECORD_KIND_COUNT) {
			r->unknown++;
			continue;
		}
		if (record->kind == RECORD_EPOCH)
			begin_epoch(r);
		*ret = record;
		return 1;
	}
	return 0;
}

int stream_reader_next(struct stream_reader *r, const struct record **ret, struct err *err)
{
	int code = r->failed;

	if (code == 0 && !r->head)
		code = read_file_header(r);
	while (code == 0) {
		code = next_record(r, ret);
		if (code != 0)
			break;
		code = next_block(r);
		if (code <= 0)
			break;
		code = 0;
	}
	if (r->failed)
		*err = r->failure;
	return code;
}

const struct capture_meta *stream_reader_meta(const struct stream_reader *r)
{
	return r->head ? capture_meta(r->head) : NULL;
}

const char *stream_reader_get_string(const struct stream_reader *r, uint32_t id)
{
	return string_index_find(&r->current.index, id)
		       ?: string_index_find(&r->previous.index, id) ?: "";
}

bool stream_reader_is_complete(const struct stream_reader *r)
{
	return r->complete;
}

uint64_t stream_reader_unknown(const struct stream_reader *r)
{
	return r->unknown;
}

const struct recorder_stats *stream_reader_stats(const struct stream_reader *r)
{
	return r->has_stats ? &r->stats : NULL;
}

size_t stream_reader_memory(const struct stream_reader *r)
{
	return r->room + r->current.memory + r->previous.memory;
}

void stream_reader_on_block(struct stream_reader *r, stream_block_fn *fn, void *arg)
{
	r->on_block = fn;
	r->block_arg = arg;
}

void stream_reader_on_note(struct stream_reader *r, stream_note_fn *fn, void *arg)
{
	r->on_note = fn;
	r->note_arg = arg;
}
