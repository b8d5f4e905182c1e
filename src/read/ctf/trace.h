/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_trace - the metadata of one trace, compiled for reading its streams.
 *
 * For each event type, the layout in raw.h selects the fields that go into a struct
 * raw_event; a program that decodes these fields is compiled once.
 */
#ifndef SONDE_READ_CTF_TRACE_H
#define SONDE_READ_CTF_TRACE_H

#include "base/map.h"
#include "read/ctf/program.h"
#include "read/raw/raw.h"

/* Header and context of a packet; CTF_UNKNOWN for absent values. */
#define CTF_UNKNOWN UINT64_MAX
struct ctf_packet {
	uint64_t magic, stream, instance; /* from the header; the others are from the context */
	uint64_t begin, end;              /* timestamps, in ticks */
	uint64_t content, size;           /* in bits */
	uint64_t number;                  /* sequence number in the stream */
	uint64_t discarded;               /* events discarded since the stream began */
	uint64_t cpu;
};

#define CTF_PACKET_MAGIC 0xc1fc1fc1u

/* The header of an event; the clock carries over from one event to the next. */
struct ctf_event_header {
	uint64_t id, clock;
};

struct ctf_event {
	const char *name;
	struct ctf_group group; /* stream context, event context, payload */
	struct ctf_program program;
	struct raw_event blank; /* initial value for decoding */
	bool has_cpu;           /* a field contains the CPU */
};

struct ctf_stream_type {
	uint64_t id;
	struct ctf_group context, header; /* packet context, event header */
	struct ctf_program read_context, read_header;
	const struct ctf_clock *clock;
	bool has_cpu;                   /* the packet context contains the CPU */
	int64_t shift;                  /* offset to the timeline of the input, in ns */
	VEC(struct ctf_event *) events; /* by id, NULL if undeclared */
	struct map large_ids;           /* events with large ids */
};

struct ctf_trace {
	struct ctf_metadata *meta;
	struct ctf_group header; /* packet header */
	struct ctf_program read_header;
	VEC(struct ctf_stream_type) streams;
	VEC(struct ctf_event *) events;
	uint32_t kinds;    /* kinds of its events: 1 << enum raw_kind */
	bool has_cpu;      /* the packet header contains the CPU */
	bool missing_cpus; /* the CPU of context switches is unknown */
};

/* Numbers the event types from first_type on.  `name` is that of the metadata file. */
int ctf_trace_new(const char *name, const void *metadata, size_t size, uint32_t first_type,
		  struct ctf_trace **ret, struct err *err);
void ctf_trace_free(struct ctf_trace *trace);
DEFINE_FREEP(ctf_trace)

/* NULL if no stream has this id. */
const struct ctf_stream_type *ctf_trace_stream(const struct ctf_trace *trace, uint64_t id);

static inline const struct ctf_event *ctf_stream_event(const struct ctf_stream_type *type,
						       uint64_t id)
{
	return id < type->events.count ? type->events.items[id]
				       : map_find_ptr(&type->large_ids, id);
}

#endif
