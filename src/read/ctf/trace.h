/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_trace - the metadata of one trace, made ready for reading its streams.
 *
 * For each type of event the layout of raw.h is looked up once, and with it the
 * program is made that takes out just the fields that go into a struct raw_event.
 */
#ifndef SONDE_READ_CTF_TRACE_H
#define SONDE_READ_CTF_TRACE_H

#include "base/map.h"
#include "read/ctf/program.h"
#include "read/raw/raw.h"

/* What the begin of a packet says; CTF_UNKNOWN where it does not. */
#define CTF_UNKNOWN UINT64_MAX
struct ctf_packet {
	uint64_t magic, stream, instance; /* in its header, these in its context: */
	uint64_t begin, end;              /* its clock, in ticks */
	uint64_t content, size;           /* bits */
	uint64_t number;                  /* in its stream */
	uint64_t discarded;               /* events, since the stream began */
	uint64_t cpu;
};

#define CTF_PACKET_MAGIC 0xc1fc1fc1u

/* What the header of an event says, and the clock, which goes on from one to the next. */
struct ctf_head {
	uint64_t id, clock;
};

struct ctf_event {
	const char *name;
	struct ctf_group group; /* two contexts and the event's own */
	struct ctf_program program;
	struct raw_event blank; /* what decoding begins with */
	bool has_cpu;           /* it says on which CPU it was */
};

struct ctf_stream_type {
	uint64_t id;
	struct ctf_group context, header; /* of a packet; of an event */
	struct ctf_program read_context, read_header;
	const struct ctf_clock *clock;
	bool has_cpu;                   /* packets say of which CPU they are */
	int64_t shift;                  /* ns to add to its times to get those of the input */
	VEC(struct ctf_event *) events; /* by their id; NULL where there is none, */
	struct map more;                /* and those of large ids */
};

struct ctf_trace {
	struct ctf_metadata *meta;
	struct ctf_group header; /* of a packet */
	struct ctf_program read_header;
	VEC(struct ctf_stream_type) streams;
	VEC(struct ctf_event *) events;
	uint32_t kinds;    /* of events: 1 << enum raw_kind */
	bool has_cpu;      /* the header of a packet says of which CPU it is */
	bool missing_cpus; /* nothing says on which CPU switches were */
};

/* The types of its events are numbered from first_type on.  name: of the metadata file. */
int ctf_trace_new(const char *name, const void *metadata, size_t size, uint32_t first_type,
		  struct ctf_trace **ret, struct err *err);
void ctf_trace_free(struct ctf_trace *trace);
DEFINE_FREEP(ctf_trace)

/* NULL if there is none. */
const struct ctf_stream_type *ctf_trace_stream(const struct ctf_trace *trace, uint64_t id);

static inline const struct ctf_event *ctf_stream_event(const struct ctf_stream_type *type,
						       uint64_t id)
{
	return id < type->events.count ? type->events.items[id] : map_find_ptr(&type->more, id);
}

#endif
