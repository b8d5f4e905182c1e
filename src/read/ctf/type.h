/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_type - what the metadata of a CTF trace declares.
 *
 * A type says how many bits a value takes and what they mean; it may be named
 * once and used in many places.  All of it lives in the arena of the metadata
 * and is only read once it has been parsed.
 */
#ifndef SONDE_READ_CTF_TYPE_H
#define SONDE_READ_CTF_TYPE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum ctf_kind {
	CTF_INTEGER,
	CTF_REAL,
	CTF_ENUM,
	CTF_STRING,
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_ARRAY,
	CTF_SEQUENCE,
};

enum ctf_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

/* Values of an enumeration that stand for a word; as the container has them, extended to 64 bits.
 */
struct ctf_label {
	uint64_t low, high;
	const char *word;
};

struct ctf_member {
	const char *name; /* as the metadata has it */
	const struct ctf_type *type;
};

struct ctf_type {
	enum ctf_kind kind;
	uint8_t size;      /* INTEGER, REAL, ENUM: bits, 1 to 64 */
	uint8_t order;     /* likewise: enum ctf_order; NATIVE is the trace's */
	uint8_t base;      /* INTEGER, ENUM: 2, 8, 10, 16 */
	bool is_signed;    /* likewise */
	bool is_text;      /* INTEGER: a character */
	bool is_packed;    /* STRUCT: alignment was given, not only taken from its members */
	uint32_t align;    /* bits, a power of two */
	uint32_t length;   /* ARRAY */
	const char *clock; /* INTEGER, ENUM: whose value it is; NULL if of none */
	const char *ref;   /* VARIANT, SEQUENCE: path of the field that has the tag or the length */
	const struct ctf_type *element;   /* ARRAY, SEQUENCE */
	const struct ctf_member *members; /* STRUCT, VARIANT */
	const struct ctf_label *labels;   /* ENUM */
	uint32_t count;                   /* of members or labels */
};

struct ctf_clock {
	const char *name, *uuid; /* uuid is NULL if there is none */
	uint64_t frequency;      /* Hz */
	int64_t offset_s;        /* since 1970, seconds and */
	int64_t offset;          /* ticks */
};

struct ctf_stream_class {
	uint64_t id;
	const struct ctf_type *packet_context, *event_header, *event_context; /* NULL if none */
};

struct ctf_event_class {
	uint64_t id, stream_id;
	const char *name;
	const struct ctf_type *context, *fields; /* NULL if none */
};

struct ctf_metadata {
	struct arena *arena;
	bool is_big;                        /* byte order of what does not say */
	bool has_order;                     /* the trace was declared */
	const char *host, *tracer, *kernel; /* NULL if it does not say */
	const struct ctf_type *packet_header;
	VEC(struct ctf_clock) clocks;
	VEC(struct ctf_stream_class) streams;
	VEC(struct ctf_event_class) events;
};

/*
 * Reads the text of a metadata file; name is for messages.  -ENOTSUP is for what
 * may be good but is not for us.
 */
int ctf_metadata_parse(const char *name, const char *text, size_t size, struct ctf_metadata **ret,
		       struct err *err);
void ctf_metadata_free(struct ctf_metadata *meta);
DEFINE_FREEP(ctf_metadata)

#endif
