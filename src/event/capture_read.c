/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_read - map a capture and validate it while reading.
 *
 * Opening reads the headers of all blocks, indexes the strings, and determines
 * where the valid part ends and why: at the END block, at an offset where no
 * further block was written (the recorder was killed), or at damage.  Records are
 * checked when a cursor reaches them: first the checksum of their block, then
 * that each record has at least the size of its kind and ends inside the block.
 * So no byte is used unchecked, and even a large capture opens quickly.
 */
#include "event/capture.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "event/capture_format.h"
#include "event/string_index.h"

struct capture {
	char *name; /* for messages */
	const unsigned char *data;
	size_t size;
	struct view mapped; /* the mapped file, empty if data is borrowed */
	struct capture_meta meta;
	VEC(struct block_header) blocks; /* record blocks; copies, as the file can change */
	struct string_index strings;
	VEC(char *) notes;
	uint64_t records; /* number of records according to block headers */
	uint32_t number;  /* number of blocks of all types so far */
	size_t end;       /* offset where the valid part ends */
	bool complete;
	bool damaged;
	struct err damage;
};

#define TRUNCATED \
	"truncated: the block at offset %zu needs %" PRIu64 " bytes, the file has %zu left"

enum {
	HOLE_LIMIT = 64 * 1024 * 1024,
	NOTES_MAX = 100, /* further ones are skipped */
	NOTE_SIZE_MAX = 4096,
};

const uint8_t record_first_words[256] = {
	[RECORD_RUN] = 4,        [RECORD_WAIT] = 8,         [RECORD_TASK] = 5,
	[RECORD_EXIT] = 3,       [RECORD_MESSAGE] = 5,      [RECORD_SOCKET] = 10,
	[RECORD_FILE] = 5,       [RECORD_SOCKET_STATE] = 9, [RECORD_SYSCALL] = 8,
	[RECORD_BLOCK] = 6,      [RECORD_PROBE_EVENT] = 3,  [RECORD_SAMPLE] = 3,
	[RECORD_STACK] = 3,      [RECORD_FRAME] = 5,        [RECORD_SYMBOL] = 5,
	[RECORD_LOSS] = 5,       [RECORD_CLOCK] = 4,        [RECORD_PROCESS] = 4,
	[RECORD_PROBE_TYPE] = 4, [RECORD_DEVICE] = 3,       [RECORD_SPAN] = 9,
	[RECORD_CONTEXT] = 7,    [RECORD_ATTRIBUTE] = 7,    [RECORD_COUNTER] = 4,
	[RECORD_TRANSMIT] = 5,   [RECORD_EPOCH] = 3,        [RECORD_UNREAD] = 10,
};

/* Mark the capture as damaged at cap->end.  The message starts with "'name' is". */
__attribute__((format(printf, 2, 3))) static int damage(struct capture *cap, const char *fmt, ...)
{
	char text[sizeof(cap->damage.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cap->damaged = true;
	return err_set(&cap->damage, -EBADMSG, "'%s' is %s", cap->name, text);
}

static bool all_zero(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

/*
 * The header at cap->end is all zeros.  A killed writer leaves at most a payload
 * without a header, and then the recording ends here.  If a valid block follows,
 * this one was overwritten.  After a crash of the host a file can end with a long
 * run of zeros, hence the limit.
 */
static int end_at_hole(struct capture *cap)
{
	struct block_header h;
	size_t limit = cap->size - cap->end < HOLE_LIMIT ? cap->size : cap->end + HOLE_LIMIT;

	for (size_t at = cap->end; limit - at >= sizeof(h); at += BLOCK_ALIGN) {
		memcpy(&h, cap->data + at, sizeof(h));
		if (h.offset == at && block_header_valid(&h))
			return damage(cap, "damaged: no block at offset %zu, but one at %zu",
				      cap->end, at);
	}
	return 0;
}

/* Check the block header at cap->end, which `left` bytes follow. */
static int check_header(struct capture *cap, const struct block_header *h, size_t left)
{
	size_t at = cap->end;

	if (h->magic != BLOCK_MAGIC)
		return damage(cap, "damaged: expected a block at offset %zu", at);
	if (!block_header_valid(h))
		return damage(cap, "damaged: the block header at offset %zu has the wrong checksum",
			      at);
	if (h->offset != at || h->number != cap->number)
		return damage(cap,
			      "damaged: expected block %u at offset %zu, "
			      "found block %u of offset %" PRIu64,
			      cap->number, at, h->number, h->offset);
	if (h->size > left || capture_padded(h->size) > left)
		return damage(cap, TRUNCATED, at, sizeof(*h) + h->size, sizeof(*h) + left);
	return 1;
}

/* Read the header of the block at cap->end: 1, or 0 if the capture ends here. */
static int read_header(struct capture *cap, struct block_header *ret)
{
	size_t left = cap->size - cap->end, size = sizeof(*ret);

	if (all_zero(cap->data + cap->end, left < size ? left : size))
		return end_at_hole(cap);
	if (left < size)
		return damage(cap, TRUNCATED, cap->end, (uint64_t)size, left);
	memcpy(ret, cap->data + cap->end, size);
	return check_header(cap, ret, left - size);
}

static const unsigned char *payload_of(const struct capture *cap, const struct block_header *h)
{
	return cap->data + h->offset + sizeof(*h);
}

static bool payload_valid(const struct capture *cap, const struct block_header *h)
{
	return XXH3_64bits(payload_of(cap, h), capture_padded(h->size)) == h->payload_checksum;
}

static int read_strings(struct capture *cap, const struct block_header *h)
{
	const char *wrong = string_index_add(&cap->strings, (const char *)payload_of(cap, h),
					     h->size, h->first, h->count);

	if (wrong)
		return damage(cap, "damaged: in the block at offset %zu, %s", cap->end, wrong);
	return 1;
}

static void read_note(struct capture *cap, const struct block_header *h)
{
	size_t size = h->size < NOTE_SIZE_MAX ? h->size : NOTE_SIZE_MAX;

	if (cap->notes.count < NOTES_MAX)
		*vec_push(&cap->notes) =
			must_printf("%.*s", (int)size, (const char *)payload_of(cap, h));
}

static int read_end(struct capture *cap, const struct block_header *h)
{
	struct end_payload end = { 0 };
	size_t after = cap->end + sizeof(*h) + capture_padded(h->size);

	memcpy(&end, payload_of(cap, h), h->size < sizeof(end) ? h->size : sizeof(end));
	if (end.records != cap->records || end.strings != cap->strings.strings.count)
		return damage(cap,
			      "damaged: the end block at offset %zu counts %" PRIu64 " records and "
			      "%" PRIu64 " strings, the file has %" PRIu64 " and %zu",
			      cap->end, end.records, end.strings, cap->records,
			      cap->strings.strings.count);
	if (after != cap->size)
		return damage(cap, "damaged: it should end at offset %zu, %zu bytes follow", after,
			      cap->size - after);
	cap->complete = true;
	cap->end = after;
	return 0;
}

/* Returns 1 if another block can follow. */
static int read_block(struct capture *cap, const struct block_header *h)
{
	switch (h->type) {
	case BLOCK_RECORDS:
		*vec_push(&cap->blocks) = *h;
		cap->records += h->count;
		return 1;
	case BLOCK_STRINGS:
	case BLOCK_NOTE:
	case BLOCK_END:
		if (!payload_valid(cap, h))
			return damage(cap,
				      "damaged: the block at offset %zu has the wrong checksum",
				      cap->end);
		if (h->type == BLOCK_NOTE)
			read_note(cap, h);
		return h->type == BLOCK_END       ? read_end(cap, h)
		       : h->type == BLOCK_STRINGS ? read_strings(cap, h)
						  : 1;
	default:
		return 1;
	}
}

/* Read the headers of all blocks, up to the end or to damage, which capture_next() reports. */
static void read_blocks(struct capture *cap)
{
	struct block_header h;

	while (read_header(cap, &h) > 0 && read_block(cap, &h) > 0) {
		cap->end += sizeof(h) + capture_padded(h.size);
		cap->number++;
	}
}

/* Check that the file is a capture with an intact header. */
static int check_file_header(struct capture *cap, struct file_header *ret)
{
	struct file_header *h = ret;
	size_t known = cap->size < sizeof(h->magic) ? cap->size : sizeof(h->magic);
	uint64_t checksum;

	if (cap->size == 0)
		return damage(cap, "empty, not a sonde capture");
	if (memcmp(cap->data, CAPTURE_MAGIC, known) != 0)
		return damage(cap, "not a sonde capture: bad magic at offset 0");
	if (cap->size < sizeof(*h))
		return damage(cap, "truncated: the file header needs %zu bytes, the file has %zu",
			      sizeof(*h), cap->size);
	memcpy(h, cap->data, sizeof(*h));
	if (h->byte_order == __builtin_bswap32(CAPTURE_BYTE_ORDER))
		return damage(cap, "from a host with the other byte order");
	if (h->byte_order != CAPTURE_BYTE_ORDER)
		return damage(cap, "damaged: the byte order mark at offset 8 is 0x%08x, not 0x%08x",
			      h->byte_order, CAPTURE_BYTE_ORDER);
	if (h->size < sizeof(*h) + sizeof(checksum) || h->size % BLOCK_ALIGN)
		return damage(cap, "damaged: the header size at offset 16 is %u, which is invalid",
			      h->size);
	if (h->size > cap->size)
		return damage(cap, "truncated: the file header needs %u bytes, the file has %zu",
			      h->size, cap->size);
	memcpy(&checksum, cap->data + h->size - sizeof(checksum), sizeof(checksum));
	if (checksum != XXH3_64bits(cap->data, h->size - sizeof(checksum)))
		return damage(cap, "damaged: the file header at offset 0 has the wrong checksum");
	return 0;
}

static int read_meta(struct capture *cap, const struct file_header *h)
{
	const char **strings[META_STRINGS] = { &cap->meta.host, &cap->meta.kernel,
					       &cap->meta.machine, &cap->meta.command,
					       &cap->meta.tool };
	size_t at = h->strings, end = h->size - sizeof(uint64_t);

	for (size_t i = 0; i < META_STRINGS; i++) {
		const char *s = (const char *)cap->data + at;
		const char *nul = at < end ? memchr(s, 0, end - at) : NULL;

		if (!nul)
			return damage(cap, "damaged: expected %d strings from offset %u to %zu",
				      META_STRINGS, h->strings, end);
		*strings[i] = s;
		at += nul - s + 1;
	}
	cap->meta.version = h->version;
	cap->meta.cpu_count = h->cpu_count;
	cap->meta.start = h->start;
	cap->meta.realtime_offset = h->realtime_offset;
	cap->meta.boottime_offset = h->boottime_offset;
	cap->end = h->size;
	return 0;
}

static int read_file(struct capture *cap)
{
	struct file_header h;
	int r = check_file_header(cap, &h);

	if (r < 0)
		return r;
	if (h.version != CAPTURE_VERSION)
		return damage(cap, "in format version %u, but this sonde reads only version %u",
			      h.version, CAPTURE_VERSION);
	r = read_meta(cap, &h);
	if (r < 0)
		return r;
	read_blocks(cap);
	return 0;
}

/* Takes ownership of cap, also on failure. */
static int open_data(struct capture *cap, struct capture **ret, struct err *err)
{
	int r = read_file(cap);

	if (r < 0) {
		*err = cap->damage;
		capture_free(cap);
		return r;
	}
	*ret = cap;
	return 0;
}

int capture_open_memory(const char *name, const void *data, size_t size, struct capture **ret,
			struct err *err)
{
	struct capture *cap = must_alloc(sizeof(*cap));

	assert((uintptr_t)data % 8 == 0);
	cap->name = must_strdup(name);
	cap->data = data;
	cap->size = size;
	return open_data(cap, ret, err);
}

int capture_open(const char *path, struct capture **ret, struct err *err)
{
	struct view file;
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;

	struct capture *cap = must_alloc(sizeof(*cap));

	cap->name = must_strdup(path);
	cap->data = (const unsigned char *)file.s;
	cap->size = file.len;
	cap->mapped = file;
	return open_data(cap, ret, err);
}

void capture_free(struct capture *cap)
{
	if (!cap)
		return;
	file_unmap(&cap->mapped);
	vec_done(&cap->blocks);
	string_index_done(&cap->strings);
	for (size_t i = 0; i < cap->notes.count; i++)
		free(cap->notes.items[i]);
	vec_done(&cap->notes);
	free(cap->name);
	free(cap);
}

const struct capture_meta *capture_meta(const struct capture *cap)
{
	return &cap->meta;
}

const char *capture_get_string(const struct capture *cap, uint32_t id)
{
	return string_index_find(&cap->strings, id) ?: "";
}

const char *capture_note(const struct capture *cap, size_t i)
{
	return i < cap->notes.count ? cap->notes.items[i] : NULL;
}

bool capture_is_complete(const struct capture *cap, uint64_t *ret_end)
{
	if (ret_end)
		*ret_end = cap->end;
	return cap->complete;
}

void capture_cursor_init(struct capture_cursor *cur, const struct capture *cap, nsec_t from,
			 nsec_t to)
{
	*cur = (struct capture_cursor){ .cap = cap, .from = from, .to = to };
}

/* Go to the next block with records in the cursor's range; returns as capture_next() does. */
static int next_block(struct capture_cursor *cur, struct err *err)
{
	const struct capture *cap = cur->cap;

	for (; cur->block < cap->blocks.count; cur->block++) {
		const struct block_header *h = &cap->blocks.items[cur->block];

		if (h->last < cur->from || h->first > cur->to)
			continue;
		if (!payload_valid(cap, h))
			return err_set(err, -EBADMSG,
				       "'%s' is damaged: the block at offset %" PRIu64 " "
				       "has the wrong checksum",
				       cap->name, h->offset);
		cur->at = payload_of(cap, h);
		cur->end = cur->at + h->size;
		cur->block++;
		return 1;
	}
	if (!cap->damaged)
		return 0;
	*err = cap->damage;
	return -EBADMSG;
}

/* Write the message for a record for which record_fits() is false. */
static int bad_record(const struct capture_cursor *cur, struct err *err)
{
	const struct record *r = (const struct record *)cur->at;
	const char *name = cur->cap->name;
	size_t at = cur->at - cur->cap->data, left = cur->end - cur->at;
	size_t size = left < sizeof(*r) ? sizeof(*r) : r->words * 8u;

	if (size > left)
		return err_set(err, -EBADMSG,
			       "'%s' is damaged: the record at offset %zu needs %zu bytes, "
			       "its block has %zu left",
			       name, at, size, left);
	if (r->words < record_min_words(r->kind))
		return err_set(err, -EBADMSG,
			       "'%s' is damaged: the record at offset %zu has %zu bytes, "
			       "one of kind %u needs %u",
			       name, at, size, r->kind, record_min_words(r->kind) * 8u);
	return err_set(err, -EBADMSG,
		       "'%s' is damaged: the record at offset %zu, of kind %u, "
		       "has data beyond its %zu bytes",
		       name, at, r->kind, size);
}

int capture_next(struct capture_cursor *cur, const struct record **ret, struct err *err)
{
	for (;;) {
		while (cur->at < cur->end) {
			const struct record *r = (const struct record *)cur->at;

			if (!record_fits(r, cur->end - cur->at))
				return bad_record(cur, err);
			cur->at += r->words * 8u;
			if (r->kind == 0 || r->kind >= RECORD_KIND_COUNT) {
				cur->unknown++;
			} else if (r->time >= cur->from && r->time <= cur->to) {
				*ret = r;
				return 1;
			}
		}
		int r = next_block(cur, err);
		if (r <= 0)
			return r;
	}
}
