/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_stream - the events of one stream, mostly that of one CPU, in their order.
 *
 * A stream is one file, or several of which one goes on where the other ended
 * (when the tracer limits their size).  It is made of packets, each with its own
 * begin in time, and how many events the tracer had to discard so far.
 *
 * A stream is always at an item: the next event, of which only the header has
 * been read, so that streams can be put in order by time; or a loss.  Damage ends
 * a packet, and counts as a loss; what is behind a damaged packet's begin cannot
 * be found, so that ends the stream.
 */
#ifndef SONDE_READ_CTF_STREAM_H
#define SONDE_READ_CTF_STREAM_H

#include "read/ctf/trace.h"

struct ctf_file {
	const char *name; /* borrowed, as is */
	const uint8_t *data;
	size_t size;
	uint64_t begin; /* of its first packet, in ticks */
};

/* What could not be read, of all streams together. */
struct ctf_damage {
	uint64_t count;
	char first[256]; /* where and what */
};

enum ctf_item { CTF_NO_ITEM, CTF_EVENT, CTF_LOSS };

struct ctf_stream {
	nsec_t time; /* of the item */
	enum ctf_item item;
	const struct ctf_event *event; /* EVENT: its type */
	struct ctf_bits in;            /* EVENT: behind its header */
	struct ctf_head head;
	uint16_t cpu;
	uint64_t context_at; /* where the context of the packet is, in bits */

	const struct ctf_trace *trace; /* borrowed, as are these */
	const struct ctf_stream_type *type;
	struct ctf_damage *damage;
	VEC(struct ctf_file) files; /* in the order of their begin */
	size_t file;                /* which is being read, */
	size_t next_packet;         /* and where its next packet is, in bytes */
	struct ctf_packet packet;
	bool has_packet;
	nsec_t latest;      /* what the time of an event in it can be */
	uint64_t lost;      /* events, found out since the last LOSS, */
	uint64_t missing;   /* and packets */
	uint64_t discarded; /* by the packets before; CTF_UNKNOWN if there is none */
	uint64_t number;    /* of the packet before */
	nsec_t whole_until; /* nothing was lost before */
};

/* Reads the begin of a file's first packet, which tells of which stream it is. */
int ctf_stream_identify(const struct ctf_trace *trace, struct ctf_file *file,
			struct ctf_packet *ret, struct err *err);

/* To the first item.  The files have been added and sorted. */
void ctf_stream_begin(struct ctf_stream *stream);

/* The item as a raw event, and on to the next one; false if the event proved to be damaged. */
bool ctf_stream_take(struct ctf_stream *stream, struct raw_event *ret);

#endif
