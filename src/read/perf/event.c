/* SPDX-License-Identifier: Apache-2.0 */
#include "read/perf/event.h"

#define BIT(kind) (1u << (kind))

void perf_decoder_init(struct perf_decoder *d, struct perf_file *file)
{
	*d = (struct perf_decoder){ .file = file };
	for (size_t i = 0; i < file->attrs.count; i++) {
		const struct perf_attr *attr = &file->attrs.items[i];

		if (attr->format)
			d->tracepoints |= BIT(attr->format->blank.kind);
		if (attr->flags >> PERF_ATTR_COMM & 1)
			d->kinds |= BIT(RAW_TASK);
		if (attr->flags >> PERF_ATTR_TASK & 1)
			d->kinds |= BIT(RAW_FORK) | BIT(RAW_EXIT);
		if (attr->flags >> PERF_ATTR_SWITCH & 1)
			d->kinds |= BIT(RAW_SWITCH);
	}
	d->kinds |= d->tracepoints;
}

void perf_decoder_done(struct perf_decoder *d)
{
	vec_done(&d->cpus);
}

/* The size of the counter values in a sample, in bytes; 0 if they do not fit. */
static size_t read_size(const struct perf_attr *attr, const uint8_t *p, size_t left, bool swap)
{
	size_t each = 1 + !!(attr->read & PERF_READ_ID) + !!(attr->read & PERF_READ_LOST);
	size_t times = !!(attr->read & PERF_READ_ENABLED) + !!(attr->read & PERF_READ_RUNNING);
	size_t size = 8 * (times + each);

	if (attr->read & PERF_READ_GROUP) {
		uint64_t count = left >= 8 ? perf_u64(p, swap) : UINT64_MAX;

		if (count > left / 8)
			return 0;
		size = 8 * (1 + times + each * count);
	}
	return size <= left ? size : 0;
}

/* Finds the data of the tracepoint, after the fields of variable size. */
static void find_data(struct perf_decoder *d)
{
	const struct perf_attr *attr = d->attr;
	size_t at = attr->layout.fixed, size = d->head.size;
	bool swap = d->file->swap;

	d->data = NULL;
	d->size = 0;
	if (at > size || !(attr->sample & PERF_HAS_RAW))
		return;
	if (attr->sample & PERF_HAS_READ) {
		size_t skip = read_size(attr, d->record + at, size - at, swap);

		if (!skip)
			return;
		at += skip;
	}
	if (attr->sample & PERF_HAS_CALLCHAIN) {
		uint64_t count = size - at >= 8 ? perf_u64(d->record + at, swap) : UINT64_MAX;

		if (count > (size - at) / 8 - 1)
			return;
		at += 8 + 8 * count;
	}
	if (size - at < 4)
		return;
	d->data = d->record + at + 4;
	d->size = perf_u32(d->record + at, swap);
	if (d->size > size - at - 4)
		d->size = size - at - 4;
}

/* Updates the time of a CPU's last event; returns the previous one, where losses begin. */
static nsec_t update_cpu_time(struct perf_decoder *d, uint16_t cpu, nsec_t time)
{
	nsec_t before;

	while (d->cpus.count <= cpu)
		*vec_push(&d->cpus) = time;
	before = d->cpus.items[cpu];
	d->cpus.items[cpu] = time;
	return before;
}

static uint16_t cpu_at(const struct perf_decoder *d, const uint8_t *p)
{
	uint32_t cpu = perf_u32(p, d->file->swap);

	return cpu < UINT16_MAX ? cpu : 0;
}

static bool decode_sample(struct perf_decoder *d, nsec_t time, struct raw_event *ret)
{
	const struct perf_attr *attr = perf_sample_attr(d->file, d->record, d->head.size);
	bool swap = d->file->swap;

	d->attr = attr;
	if (!attr || attr->layout.fixed > d->head.size) {
		d->unknown++;
		return false;
	}
	find_data(d);
	if (attr->format && d->data)
		kernel_format_decode(attr->format, d->data, d->size, ret);
	else
		*ret = raw_event_empty(RAW_OTHER);
	ret->type = attr->format ? attr->config
				 : PERF_OTHER_TYPES + (size_t)(attr - d->file->attrs.items);
	ret->time = time;
	if (attr->layout.cpu)
		ret->cpu = cpu_at(d, d->record + attr->layout.cpu);
	else
		d->missing_cpus |= ret->kind == RAW_SWITCH;
	if (attr->layout.tid) {
		uint32_t tid = perf_u32(d->record + attr->layout.tid + 4, swap);

		if (ret->tid == RAW_UNKNOWN)
			ret->tid = tid;
		if (ret->tid == tid)
			ret->pid = perf_u32(d->record + attr->layout.tid, swap);
	}
	update_cpu_time(d, ret->cpu, time);
	d->samples++;
	return true;
}

/* Numbers in the trailer do not count. */
uint32_t perf_event_word(const struct perf_decoder *d, size_t n)
{
	size_t end = d->attr ? d->attr->layout.trailer_size : 0;

	return sizeof(d->head) + 4 * (n + 1) + end <= d->head.size
		       ? perf_u32(d->record + sizeof(d->head) + 4 * n, d->file->swap)
		       : 0;
}

uint64_t perf_event_lost(const struct perf_decoder *d)
{
	size_t end = d->attr ? d->attr->layout.trailer_size : 0;
	size_t at = sizeof(d->head) + (d->head.type == PERF_LOST ? 8 : 0); /* after an id */

	return at + 8 + end <= d->head.size ? perf_u64(d->record + at, d->file->swap) : 0;
}

struct raw_text perf_event_comm(const struct perf_decoder *d)
{
	size_t begin = sizeof(d->head) + 8, end = d->attr ? d->attr->layout.trailer_size : 0;
	const char *comm = (const char *)d->record + begin;

	if (begin + end > d->head.size)
		return (struct raw_text){ "", 0 };
	return (struct raw_text){ comm, strnlen(comm, d->head.size - end - begin) };
}

/* Resets an event to this kind, but keeps time, CPU and thread. */
static void reset(struct raw_event *e, enum raw_kind kind)
{
	struct raw_event empty = raw_event_empty(kind);

	empty.time = e->time;
	empty.cpu = e->cpu;
	empty.tid = e->tid;
	empty.pid = e->pid;
	*e = empty;
}

/* A synthesized thread is a FORK, which contains the parent, and a COMM. */
static bool decode_comm(struct perf_decoder *d, struct raw_event *ret)
{
	reset(ret, RAW_TASK);
	ret->task.pid = perf_event_word(d, 0);
	ret->task.tid = perf_event_word(d, 1);
	ret->task.comm = perf_event_comm(d);
	if (d->child && d->child == ret->task.tid) {
		ret->task.parent = d->parent;
		ret->task.kernel = d->parent == 2 || d->child == 2;
	}
	d->child = 0;
	return true;
}

static bool decode_fork(struct perf_decoder *d, bool happened, struct raw_event *ret)
{
	uint32_t child = perf_event_word(d, 2);

	if (!happened) {
		d->child = child;
		d->parent = perf_event_word(d, 1);
		return false;
	}
	reset(ret, RAW_FORK);
	ret->fork.child_pid = perf_event_word(d, 0);
	ret->fork.child = child;
	ret->fork.parent = perf_event_word(d, 3);
	return true;
}

static bool decode_exit(struct perf_decoder *d, struct raw_event *ret)
{
	if (d->tracepoints & BIT(RAW_EXIT))
		return false;
	reset(ret, RAW_EXIT);
	ret->wake.tid = perf_event_word(d, 2);
	return true;
}

/* The record of the outgoing thread names the next one; that of the incoming is redundant. */
static bool decode_switch(struct perf_decoder *d, struct raw_event *ret)
{
	if (!(d->head.misc & PERF_MISC_SWITCH_OUT) || d->tracepoints & BIT(RAW_SWITCH))
		return false;
	reset(ret, RAW_SWITCH);
	ret->sched_switch.prev = ret->tid;
	ret->sched_switch.next = perf_event_word(d, 1);
	ret->sched_switch.state = d->head.misc & PERF_MISC_PREEMPTED ? 0 : RAW_STATE_SLEEP;
	return true;
}

/*
 * The kernel writes LOST as soon as the ring has room again.  Newer kernels also count
 * losses per event, and perf writes these totals at the end, as LOST_SAMPLES.  The
 * totals include the losses of all LOST records, and those after the last one.
 */
static bool decode_lost(struct perf_decoder *d, struct raw_event *ret)
{
	uint64_t count = perf_event_lost(d);
	bool is_sum =
		d->head.type == PERF_LOST_SAMPLES && d->attr && d->attr->read & PERF_READ_LOST;

	if (d->head.type == PERF_LOST_SAMPLES && d->head.misc & PERF_MISC_NOT_LOST)
		return false;
	if (is_sum)
		d->lost_sum += count;
	else if (d->head.type == PERF_LOST)
		d->lost += count;
	reset(ret, RAW_LOST);
	ret->lost.start = update_cpu_time(d, ret->cpu, ret->time);
	ret->lost.count = count;
	return count && !is_sum;
}

/* The number of dropped events is unknown. */
static bool decode_throttle(struct perf_decoder *d, struct raw_event *ret)
{
	reset(ret, RAW_LOST);
	ret->lost.start = update_cpu_time(d, ret->cpu, ret->time);
	return true;
}

/* Reads time, CPU and thread from the trailer; false if the record is synthesized. */
static bool decode_trailer(struct perf_decoder *d, struct raw_event *ret)
{
	const struct perf_attr *attr = perf_trailer_attr(d->file, d->record, d->head.size);
	const uint8_t *end = d->record + d->head.size;
	bool swap = d->file->swap;

	*ret = raw_event_empty(RAW_OTHER);
	if (attr && sizeof(d->head) + attr->layout.trailer_size > d->head.size)
		attr = NULL;
	d->attr = attr;
	d->data = NULL;
	d->size = 0;
	if (!attr || !attr->layout.trailer_time)
		return false;

	uint64_t time = perf_u64(end - attr->layout.trailer_time, swap);

	if (!time || time == UINT64_MAX)
		return false;
	if (attr->layout.trailer_cpu)
		ret->cpu = cpu_at(d, end - attr->layout.trailer_cpu);
	if (attr->layout.trailer_tid) {
		ret->pid = perf_u32(end - attr->layout.trailer_tid, swap);
		ret->tid = perf_u32(end - attr->layout.trailer_tid + 4, swap);
	}
	return true;
}

/* A record other than a sample. */
static bool decode_other(struct perf_decoder *d, nsec_t time, struct raw_event *ret)
{
	bool happened = decode_trailer(d, ret);

	ret->time = time;
	switch (d->head.type) {
	case PERF_COMM:
		return decode_comm(d, ret);
	case PERF_FORK:
		return decode_fork(d, happened, ret);
	case PERF_EXIT:
		return happened && decode_exit(d, ret);
	case PERF_SWITCH_CPU_WIDE:
		return happened && decode_switch(d, ret);
	case PERF_THROTTLE:
		return happened && decode_throttle(d, ret);
	default:
		return decode_lost(d, ret);
	}
}

bool perf_decode_final(struct perf_decoder *d, nsec_t time, struct raw_event *ret)
{
	nsec_t since = time;

	if (d->lost_sum <= d->lost)
		return false;
	for (size_t i = 0; i < d->cpus.count; i++)
		if (d->cpus.items[i] < since)
			since = d->cpus.items[i];
	*ret = raw_event_empty(RAW_LOST);
	ret->time = time;
	ret->lost.start = since;
	ret->lost.count = d->lost_sum - d->lost;
	d->lost = d->lost_sum;
	return true;
}

bool perf_decode(struct perf_decoder *d, const uint8_t *record, nsec_t time, struct raw_event *ret)
{
	d->record = record;
	d->head = perf_record(record, d->file->swap);
	return d->head.type == PERF_SAMPLE ? decode_sample(d, time, ret)
					   : decode_other(d, time, ret);
}
