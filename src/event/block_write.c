/* SPDX-License-Identifier: Apache-2.0 */
#include "event/block_write.h"

#include <assert.h>
#include <errno.h>

#include "event/capture.h"

/* Ids of strings restart at 1 before they reach 2^32, at the start of an epoch. */
#define BASE_MAX 0xf0000000u

void payload_put(struct payload *p, const void *data, size_t size)
{
	if (p->size + size + BLOCK_ALIGN > p->room) {
		p->room = 2 * p->room + size + BLOCK_ALIGN;
		p->data = must_realloc(p->data, p->room);
	}
	memcpy(p->data + p->size, data, size);
	p->size += size;
}

void payload_done(struct payload *p)
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

static struct epoch_strings epoch_strings_new(uint32_t base)
{
	return (struct epoch_strings){ .table = strtab_new(), .base = base, .written = 1 };
}

void block_writer_init(struct block_writer *w, block_put_fn *put, void *arg)
{
	*w = (struct block_writer){ .put = put, .arg = arg, .current = epoch_strings_new(0) };
}

void block_writer_done(struct block_writer *w)
{
	strtab_free(w->current.table);
	strtab_free(w->previous.table);
	payload_done(&w->payload);
}

void file_header_build(struct payload *p, const struct capture_meta *meta)
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
	uint64_t checksum = 0;

	payload_put(p, &h, sizeof(h));
	for (size_t i = 0; i < META_STRINGS; i++)
		payload_put(p, strings[i] ?: "", strlen(strings[i] ?: "") + 1);
	payload_put(p, &checksum, sizeof(checksum));
	p->size = payload_pad(p);

	assert(p->size <= UINT32_MAX);
	((struct file_header *)p->data)->size = p->size;
	checksum = XXH3_64bits(p->data, p->size - sizeof(checksum));
	memcpy(p->data + p->size - sizeof(checksum), &checksum, sizeof(checksum));
}

int block_writer_write(struct block_writer *w, enum block_type type, struct payload *p,
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

	int r = w->put(w->arg, &h, p->data, size, err);
	if (r < 0)
		return r;
	w->end += sizeof(h) + size;
	w->blocks++;
	w->records += type == BLOCK_RECORDS ? p->count : 0;
	w->strings += type == BLOCK_STRINGS ? p->count : 0;
	p->size = p->count = 0;
	return 0;
}

static int write_strings(struct block_writer *w, struct epoch_strings *e, struct err *err)
{
	uint32_t count = strtab_count(e->table);
	_cleanup_(payload_done) struct payload p = { 0 };

	while (e->written < count) {
		for (; e->written + p.count < count && p.size < BLOCK_TARGET; p.count++) {
			const char *s = strtab_get(e->table, (str_id){ e->written + p.count });

			payload_put(&p, s, strlen(s) + 1);
		}
		uint32_t written = p.count;
		p.first = e->base + e->written;
		int r = block_writer_write(w, BLOCK_STRINGS, &p, err);
		if (r < 0)
			return r;
		e->written += written;
	}
	return 0;
}

int block_writer_flush(struct block_writer *w, struct err *err)
{
	int r = 0;

	if (w->previous.table) {
		r = write_strings(w, &w->previous, err);
		if (r < 0)
			return r;
		strtab_free(TAKE(w->previous.table));
	}
	r = write_strings(w, &w->current, err);
	if (r < 0 || w->payload.count == 0)
		return r;
	return block_writer_write(w, BLOCK_RECORDS, &w->payload, err);
}

int block_writer_refuse(const struct record *record, struct err *err)
{
	return err_set(err, -EINVAL, "a record of kind %u needs more than %u bytes", record->kind,
		       record->words * 8u);
}

void block_writer_begin_epoch(struct block_writer *w)
{
	uint32_t base = w->current.base + strtab_count(w->current.table) - 1;

	strtab_free(w->previous.table);
	w->previous = w->current;
	w->current = epoch_strings_new(base > BASE_MAX ? 0 : base);
}

int block_writer_end(struct block_writer *w, struct err *err)
{
	_cleanup_(payload_done) struct payload p = { 0 };
	int r = block_writer_flush(w, err);

	if (r < 0)
		return r;
	struct end_payload end = { w->records, w->strings };
	payload_put(&p, &end, sizeof(end));
	return block_writer_write(w, BLOCK_END, &p, err);
}
