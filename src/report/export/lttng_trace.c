/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/lttng_trace.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "report/export/lttng_metadata.h"

/* The size at which a packet is written. */
enum { PACKET_SIZE = 1 << 18 };

struct lttng_packet_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance_id;
	uint64_t begin, end;
	uint64_t content_bits, packet_bits;
	uint64_t number;
	uint64_t discarded;
	uint32_t cpu;
} __attribute__((packed));

struct lttng_stream {
	unsigned char *data; /* the packet, with its head */
	size_t used, capacity;
	nsec_t begin, last; /* times of the packet start and the last event */
	uint64_t packets, discarded;
	bool is_open; /* a packet has been started */
};

struct lttng_trace {
	char *directory;
	struct lttng_origin about;
	VEC(struct lttng_stream) streams; /* by CPU */
	uint64_t used[LTTNG_IDS / 64];    /* bit set of event IDs */
	uint8_t uuid[16];
	int error; /* the first failed write */
	struct err message;
};

/* Deterministic, so that an export is reproducible. */
static void make_uuid(uint8_t uuid[16], uint64_t seed)
{
	for (size_t i = 0; i < 16; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		uuid[i] = seed >> 56;
	}
	uuid[6] = 0x40 | (uuid[6] & 0xf);
	uuid[8] = 0x80 | (uuid[8] & 0x3f);
}

struct lttng_trace *lttng_trace_new(const char *directory, const struct lttng_origin *about)
{
	struct lttng_trace *trace = must_alloc(sizeof(*trace));

	trace->directory = must_strdup(directory);
	trace->about = *about;
	make_uuid(trace->uuid, about->seed);
	return trace;
}

void lttng_trace_free(struct lttng_trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->streams.count; i++)
		free(trace->streams.items[i].data);
	vec_done(&trace->streams);
	free(trace->directory);
	free(trace);
}

static void *reserve(struct lttng_stream *s, size_t size)
{
	if (s->used + size > s->capacity) {
		s->capacity = 2 * (s->used + size);
		s->data = must_realloc(s->data, s->capacity);
	}
	s->used += size;
	return s->data + s->used - size;
}

static struct lttng_stream *stream_of(struct lttng_trace *trace, uint16_t cpu)
{
	while (trace->streams.count <= cpu)
		*vec_push(&trace->streams) = (struct lttng_stream){ 0 };
	return &trace->streams.items[cpu];
}

/* Append to a file in the directory, unless a write failed before. */
static void append(struct lttng_trace *trace, const char *name, const void *data, size_t size)
{
	_cleanup_(freep) char *path = must_printf("%s/%s", trace->directory, name);
	_cleanup_(closep) int fd = -1;

	if (trace->error)
		return;
	fd = file_append(path, &trace->message);
	if (fd < 0) {
		trace->error = fd;
		return;
	}
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			trace->error = err_errno(&trace->message, "cannot write '%s'", path);
			return;
		}
		done += n;
	}
}

static void begin_packet(struct lttng_stream *s, nsec_t time)
{
	s->used = 0;
	memset(reserve(s, sizeof(struct lttng_packet_head)), 0, sizeof(struct lttng_packet_head));
	s->begin = s->last = time;
	s->is_open = true;
}

static void end_packet(struct lttng_trace *trace, struct lttng_stream *s, nsec_t time)
{
	uint16_t cpu = s - trace->streams.items;
	_cleanup_(freep) char *name = must_printf("channel0_%u", cpu);
	struct lttng_packet_head head = {
		.magic = 0xc1fc1fc1,
		.stream_instance_id = cpu,
		.begin = s->begin,
		.end = time,
		.content_bits = 8 * s->used,
		.packet_bits = 8 * s->used,
		.number = s->packets++,
		.discarded = s->discarded,
		.cpu = cpu,
	};

	memcpy(head.uuid, trace->uuid, sizeof(head.uuid));
	memcpy(s->data, &head, sizeof(head));
	append(trace, name, s->data, s->used);
	s->is_open = false;
}

static void put_bytes(struct lttng_stream *s, const void *bytes, size_t size)
{
	memcpy(reserve(s, size), bytes, size);
}

static void put_number(struct lttng_stream *s, uint64_t n, size_t size)
{
	put_bytes(s, &n, size); /* little-endian, like all supported hosts */
}

static void put_value(struct lttng_stream *s, enum lttng_type type, const struct lttng_value *value)
{
	char comm[16] = "";

	switch (type) {
	case LTTNG_U8:
	case LTTNG_LETTER:
		return put_number(s, value->n, 1);
	case LTTNG_I32:
	case LTTNG_U32:
		return put_number(s, value->n, 4);
	case LTTNG_I64:
	case LTTNG_U64:
	case LTTNG_X64:
		return put_number(s, value->n, 8);
	case LTTNG_COMM:
		memcpy(comm, value->s, strnlen(value->s, sizeof(comm) - 1));
		return put_bytes(s, comm, sizeof(comm));
	case LTTNG_STRING:
		return put_bytes(s, value->s, strlen(value->s) + 1);
	case LTTNG_ADDRESS:
		return put_bytes(s, value->s, 16);
	case LTTNG_ARGS:
		return put_bytes(s, value->s, 3 * sizeof(uint64_t));
	case LTTNG_END:
		return;
	}
}

/* A compact header has the last 32 bits of the time. */
enum { ID_EXTENDED = 65535 };

static void put_header(struct lttng_stream *s, unsigned id, nsec_t time)
{
	if (time - s->last < (nsec_t)1 << 32) {
		put_number(s, id, 2);
		put_number(s, time, 4);
		return;
	}
	put_number(s, ID_EXTENDED, 2);
	put_number(s, id, 4);
	put_number(s, time, 8);
}

void lttng_trace_event(struct lttng_trace *trace, unsigned id, nsec_t time, uint16_t cpu,
		       uint32_t tid, const struct lttng_value *values)
{
	struct lttng_stream *s = stream_of(trace, cpu);
	const struct lttng_event *event = lttng_event_of(id);

	if (!s->is_open)
		begin_packet(s, time);
	put_header(s, id, time);
	put_number(s, tid, 4);
	for (size_t i = 0; i < LTTNG_FIELDS && event->fields[i].type; i++)
		put_value(s, event->fields[i].type, &values[i]);
	s->last = time;
	trace->used[id / 64] |= (uint64_t)1 << id % 64;
	if (s->used >= PACKET_SIZE)
		end_packet(trace, s, time);
}

void lttng_trace_loss_begins(struct lttng_trace *trace, uint16_t cpu, nsec_t time)
{
	struct lttng_stream *s = stream_of(trace, cpu);

	if (s->is_open)
		end_packet(trace, s, time);
	begin_packet(s, time);
}

void lttng_trace_loss_ends(struct lttng_trace *trace, uint16_t cpu, nsec_t time, uint64_t count)
{
	struct lttng_stream *s = stream_of(trace, cpu);

	if (!s->is_open)
		begin_packet(s, time);
	s->discarded += count;
	end_packet(trace, s, time);
}

int lttng_trace_finish(struct lttng_trace *trace, struct err *err)
{
	for (size_t i = 0; i < trace->streams.count; i++)
		if (trace->streams.items[i].is_open)
			end_packet(trace, &trace->streams.items[i], trace->streams.items[i].last);

	_cleanup_(freep) char *text = lttng_metadata(&trace->about, trace->uuid, trace->used);

	append(trace, "metadata", text, strlen(text));
	if (trace->error)
		*err = trace->message;
	return trace->error;
}
