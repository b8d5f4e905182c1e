/* SPDX-License-Identifier: Apache-2.0 */
/* replay_other - requests to disks, spans, losses, and events that the user asked for. */
#include <string.h>
#include <xxhash.h>

#include "base/hash.h"
#include "read/replay/internal.h"

static uint64_t request_key(const struct raw_event *e)
{
	return e->block.sector ^ (uint64_t)e->block.device << 40;
}

/* Of the letters of a request, or the bits that stand for them, what it does. */
static uint8_t op_of(const struct raw_event *e)
{
	uint32_t bits = e->block.op_bits;
	struct raw_text op = e->block.op;

	if (op.s && op.len) {
		/* a flush may come before a write, which then is what counts */
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

static struct open_request *add_request(struct replay *r, uint64_t key)
{
	uint64_t *place = map_insert(&r->requests, key);

	if (!*place && r->unused_requests.count) {
		*place = r->unused_requests.items[--r->unused_requests.count];
	} else if (!*place) {
		vec_push(&r->request_list);
		*place = r->request_list.count;
	}
	return &r->request_list.items[*place - 1];
}

void replay_block_issue(struct replay *r, const struct raw_event *e)
{
	const struct replay_thread *t = replay_current(r, e);

	*add_request(r, request_key(e)) = (struct open_request){
		.start = e->time,
		.tid = t ? t->tid : 0,
		.bytes = e->block.bytes ?: 512 * e->block.sectors,
		.op = op_of(e),
	};
}

void replay_block_complete(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	const uint64_t *place = map_find(&r->requests, request_key(e));

	cpu->disk = cpu->hardirq || cpu->softirq;
	if (!place)
		return;

	struct open_request request = r->request_list.items[*place - 1];
	struct record_block *block =
		replay_make(r, RECORD_BLOCK, sizeof(*block), request.tid, e->cpu, e->time);

	*vec_push(&r->unused_requests) = *place;
	map_remove(&r->requests, request_key(e));
	block->start = request.start;
	block->sector = e->block.sector;
	block->bytes = request.bytes;
	block->device = e->block.device;
	block->error = e->block.error;
	block->op = request.op;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* An id: the last digits if there are too many, zeros before them if there are too few. */
static void read_id(struct raw_text text, uint8_t *ret, size_t size)
{
	memset(ret, 0, size);
	for (size_t i = 0; i < text.len && i < 2 * size; i++) {
		int value = digit(text.s[text.len - 1 - i]);

		if (value < 0) {
			uint64_t hash = XXH3_64bits(text.s, text.len); /* it is no number */

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
	struct open_span *span = (void *)(uintptr_t)*value ?: must_alloc(sizeof(*span));

	*span = (struct open_span){ .start = e->time, .tid = e->tid, .pid = e->pid };
	read_id(e->span.parent, span->parent, sizeof(span->parent));
	*value = (uintptr_t)span;
}

void replay_span_end(struct replay *r, const struct raw_event *e)
{
	uint8_t trace[16], id[8];
	uint64_t key = span_key(e, trace, id);
	_cleanup_(freep) struct open_span *begun = map_find_ptr(&r->spans, key);

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

static void tell_type(struct replay *r, const struct raw_event *e)
{
	struct raw_source *source = r->source;
	uint64_t *told = map_insert(&r->probe_types, e->type);

	if (*told)
		return;
	*told = 1;

	const char *format = source->type_format ? source->type_format(source, e->type) : NULL;
	struct record_probe_type *type =
		replay_make(r, RECORD_PROBE_TYPE, sizeof(*type), 0, 0, e->time);

	type->type = e->type;
	type->name = strtab_add(r->strings, source->type_name(source, e->type)).i;
	type->format = strtab_add(r->strings, format ?: "").i;
}

/* What fits into a record; more than that only stacks and bulk data have. */
enum { PROBE_DATA_MAX = 1024 };

void replay_probe_event(struct replay *r, const struct raw_event *e)
{
	const struct replay_thread *t = replay_current(r, e);
	size_t size = 0;
	const void *data = r->source->data ? r->source->data(r->source, &size) : NULL;

	if (!data)
		size = 0;
	if (size > PROBE_DATA_MAX)
		size = PROBE_DATA_MAX;
	tell_type(r, e);

	struct record_probe_event *probe_event =
		replay_make(r, RECORD_PROBE_EVENT, sizeof(*probe_event) + size, t ? t->tid : 0,
			    e->cpu, e->time);

	probe_event->type = e->type;
	probe_event->size = size;
	if (size)
		memcpy(probe_event->data, data, size);
}
