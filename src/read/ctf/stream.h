/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_stream - the events of one stream (usually one CPU), in order.
 *
 * A stream is one file, or several consecutive files if the tracer limits their
 * size.  It consists of packets, each with a start time and the number of events
 * that the tracer has discarded so far.
 *
 * A stream is positioned at an item: a loss, or the next event, of which only the
 * header has been read, so that streams can be merged by time.  Damage inside a
 * packet ends the packet and counts as a loss.  Damage in the packet header hides
 * the start of the next packet, so it ends the stream.
 */
#ifndef SONDE_READ_CTF_STREAM_H
#define SONDE_READ_CTF_STREAM_H

#include "read/ctf/trace.h"

struct ctf_file {
	const char *name; /* borrowed, as is data */
	const uint8_t *data;
	size_t size;
	uint64_t begin; /* start of the first packet, in ticks */
};

/* Damage found in all streams of a source. */
struct ctf_damage {
	uint64_t count;
	char first[256]; /* position and problem */
};

enum ctf_item { CTF_NO_ITEM, CTF_EVENT, CTF_LOSS };

struct ctf_stream {
	nsec_t time; /* time of the item */
	enum ctf_item item;
	const struct ctf_event *event; /* EVENT: event type */
	struct ctf_bits in;            /* EVENT: end of its header */
	struct ctf_event_header header;
	uint16_t cpu;
	uint64_t context_at; /* position of the packet context, in bits */

	const struct ctf_trace *trace; /* borrowed, as are type and damage */
	const struct ctf_stream_type *type;
	struct ctf_damage *damage;
	VEC(struct ctf_file) files; /* by start time */
	size_t file;                /* index of the current file */
	size_t next_packet;         /* offset of the next packet in that file, in bytes */
	struct ctf_packet packet;
	bool has_packet;
	nsec_t latest;         /* latest plausible time of an event in the packet */
	uint64_t lost;         /* events lost since the last LOSS */
	uint64_t missing;      /* packets missing since the last LOSS */
	uint64_t discarded;    /* events discarded up to the previous packet; CTF_UNKNOWN if none */
	uint64_t number;       /* sequence number of the previous packet */
	nsec_t complete_until; /* end of the part without losses */
};

/* Reads the header of the first packet of a file, which identifies the stream. */
int ctf_stream_identify(const struct ctf_trace *trace, struct ctf_file *file,
			struct ctf_packet *ret, struct err *err);

/* Moves to the first item.  The caller has added and sorted the files. */
void ctf_stream_begin(struct ctf_stream *stream);

/* Returns the item as a raw event and moves to the next one; false if the event is damaged. */
bool ctf_stream_pop(struct ctf_stream *stream, struct raw_event *ret);

#endif
