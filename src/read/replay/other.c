/* SPDX-License-Identifier: Apache-2.0 */
/* Block I/O, spans, losses and probe events in a trace. */
#include <string.h>
#include <xxhash.h>

#include "base/hash.h"
#include "read/replay/internal.h"

static uint64_t block_io_key(const struct raw_event *e)
{
	return hash_pair(e->block.sector, e->block.device);
}

/* The operation, from the letters or the flag bits of block I/O. */
static uint8_t op_of(const struct raw_event *e)
{
	uint32_t bits = e->block.op_bits;
	struct raw_text op = e->block.op;

	if (op.s && op.len) {
		/* a write with a flush before it is a write */
		if (op.s[0] == 'F' && op.len > 1 && op.s[1] == 'W')
			return 'W';
		return strchr("RWFD", op.s[0]) && op.s[0] ? op.s[0] : '?';
	}
	if (bits & 1)
		return 'W';
	if (bits & 2)
		return 'D';
	return bits & 4 ? 'R' : bits & 256 ? 'F' : '?';
}

static struct replay_block_io *add_block_io(struct replay *r, uint64_t key)
{
	uint64_t *index = map_insert(&r->block_ios, key);

	if (!*index && r->unused_block_ios.count) {
		*index = r->unused_block_ios.items[--r->unused_block_ios.count];
	} else if (!*index) {
		vec_push(&r->block_io_list);
		*index = r->block_io_list.count;
	}
	return &r->block_io_list.items[*index - 1];
}

void replay_block_issue(struct replay *r, const struct raw_event *e)
{
	const struct replay_thread *t = replay_current_thread(r, e);

	*add_block_io(r, block_io_key(e)) = (struct replay_block_io){
		.start = e->time,
		.tid = t ? t->tid : 0,
		.bytes = e->block.bytes ?: 512 * e->block.sectors,
		.op = op_of(e),
	};
}

void replay_block_complete(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	const uint64_t *index = map_find(&r->block_ios, block_io_key(e));

	cpu->disk = cpu->hardirq || cpu->softirq;
	if (!index)
		return;

	struct replay_block_io issued = r->block_io_list.items[*index - 1];
	struct record_block *block =
		replay_make(r, RECORD_BLOCK, sizeof(*block), issued.tid, e->cpu, e->time);

	*vec_push(&r->unused_block_ios) = *index;
	map_remove(&r->block_ios, block_io_key(e));
	block->start = issued.start;
	block->sector = e->block.sector;
	block->bytes = issued.bytes;
	block->device = e->block.device;
	block->error = e->block.error;
	block->op = issued.op;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hexadecimal digits: only the last ones if there are too many; pads with leading zeros. */
static void read_id(struct raw_text text, uint8_t *ret, size_t size)
{
	memset(ret, 0, size);
	for (size_t i = 0; i < text.len && i < 2 * size; i++) {
		int value = digit(text.s[text.len - 1 - i]);

		if (value < 0) {
			uint64_t hash = XXH3_64bits(text.s, text.len); /* not hexadecimal */

			memcpy(ret, &hash, sizeof(hash));
			return;
		}
		ret[size - 1 - i / 2] |= value << 4 * (i % 2);
	}
}

static uint64_t span_key(const struct raw_event *e, uint8_t trace[16], uint8_t span[8])
{
	uint8_t both[24];

	read_id(e->span.trace, trace, 16);
	read_id(e->span.span, span, 8);
	memcpy(both, trace, 16);
	memcpy(both + 16, span, 8);
	return hash_bytes(both, sizeof(both));
}

void replay_span_begin(struct replay *r, const struct raw_event *e)
{
	uint8_t trace[16], id[8];
	uint64_t *value = map_insert(&r->spans, span_key(e, trace, id));
	struct replay_span *span = (void *)(uintptr_t)*value ?: must_alloc(sizeof(*span));

	*span = (struct replay_span){ .start = e->time, .tid = e->tid, .pid = e->pid };
	read_id(e->span.parent, span->parent, sizeof(span->parent));
	*value = (uintptr_t)span;
}

void replay_span_end(struct replay *r, const struct raw_event *e)
{
	uint8_t trace[16], id[8];
	uint64_t key = span_key(e, trace, id);
	_cleanup_(freep) struct replay_span *begun = map_find_ptr(&r->spans, key);

	if (!begun)
		return;
	map_remove(&r->spans, key);

	uint32_t tid = begun->tid == RAW_UNKNOWN ? 0 : begun->tid;
	struct record_span *span = replay_make(r, RECORD_SPAN, sizeof(*span), tid, e->cpu, e->time);

	span->start = begun->start;
	memcpy(span->trace, trace, sizeof(trace));
	memcpy(span->span, id, sizeof(id));
	memcpy(span->parent, begun->parent, sizeof(span->parent));
	span->service = strtab_add_n(r->strings, e->span.service.s ?: "", e->span.service.len).i;
	span->operation =
		strtab_add_n(r->strings, e->span.operation.s ?: "", e->span.operation.len).i;
	span->pid = begun->pid == RAW_UNKNOWN ? 0 : begun->pid;
}

void replay_spans_done(struct replay *r)
{
	uint64_t key, value;

	for (size_t pos = 0; map_next(&r->spans, &pos, &key, &value);)
		free((void *)(uintptr_t)value);
	map_done(&r->spans);
}

void replay_lost(struct replay *r, const struct raw_event *e)
{
	struct record_loss *loss = replay_make(r, RECORD_LOSS, sizeof(*loss), 0, e->cpu, e->time);

	loss->start = e->lost.start;
	loss->end = e->time;
	loss->count = e->lost.count;
	loss->packets = e->lost.packets;
	r->lost += e->lost.count + e->lost.packets;
}

void replay_process(struct replay *r, const struct raw_event *e)
{
	const struct raw_text *cgroup = &e->process.cgroup;
	struct record_process *process =
		replay_make(r, RECORD_PROCESS, sizeof(*process), e->process.pid, 0, e->time);

	process->pid = e->process.pid;
	process->cgroup = strtab_add_n(r->strings, cgroup->s, cgroup->len).i;
}

static void describe_type(struct replay *r, const struct raw_event *e)
{
	struct raw_source *source = r->source;
	uint64_t *described = map_insert(&r->probe_types, e->type);

	if (*described)
		return;
	*described = 1;

	const char *format = source->type_format ? source->type_format(source, e->type) : NULL;
	struct record_probe_type *type =
		replay_make(r, RECORD_PROBE_TYPE, sizeof(*type), 0, 0, e->time);

	type->type = e->type;
	type->name = strtab_add(r->strings, source->type_name(source, e->type)).i;
	type->format = strtab_add(r->strings, format ?: "").i;
}

/* Bytes that fit into a record; only stacks and bulk data are larger. */
enum { PROBE_DATA_MAX = 1024 };

void replay_probe_event(struct replay *r, const struct raw_event *e)
{
	const struct replay_thread *t = replay_current_thread(r, e);
	size_t size = 0;
	const void *data = r->source->data ? r->source->data(r->source, &size) : NULL;

	if (!data)
		size = 0;
	if (size > PROBE_DATA_MAX)
		size = PROBE_DATA_MAX;
	describe_type(r, e);

	struct record_probe_event *probe_event =
		replay_make(r, RECORD_PROBE_EVENT, sizeof(*probe_event) + size, t ? t->tid : 0,
			    e->cpu, e->time);

	probe_event->type = e->type;
	probe_event->size = size;
	if (size)
		memcpy(probe_event->data, data, size);
}
