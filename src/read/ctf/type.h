/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_type - the declarations in the metadata of a CTF trace.
 *
 * A type describes the size and meaning of a value; it can be declared once and used
 * several times.  All declarations live in the arena of the metadata and do not
 * change after parsing.
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

/* A label of an enumeration, and the range of its values, extended to 64 bits. */
struct ctf_label {
	uint64_t low, high;
	const char *word;
};

struct ctf_member {
	const char *name; /* as in the metadata */
	const struct ctf_type *type;
};

struct ctf_type {
	enum ctf_kind kind;
	uint8_t size;      /* INTEGER, REAL, ENUM: bits, 1 to 64 */
	uint8_t order;     /* INTEGER, REAL, ENUM: enum ctf_order; NATIVE is that of the trace */
	uint8_t base;      /* INTEGER, ENUM: 2, 8, 10, 16 */
	bool is_signed;    /* INTEGER, ENUM */
	bool is_text;      /* INTEGER: a character */
	bool has_align;    /* has an explicit alignment */
	uint32_t align;    /* bits, a power of two */
	uint32_t length;   /* ARRAY */
	const char *clock; /* INTEGER, ENUM: name of the clock that it shows; NULL if none */
	const char *ref;   /* VARIANT, SEQUENCE: path of the tag or length field */
	const struct ctf_type *element;   /* ARRAY, SEQUENCE */
	const struct ctf_member *members; /* STRUCT, VARIANT */
	const struct ctf_label *labels;   /* ENUM */
	uint32_t count;                   /* number of members or labels */
};

struct ctf_clock {
	const char *name, *uuid; /* uuid is NULL if there is none */
	uint64_t frequency;      /* Hz */
	int64_t offset_s;        /* since 1970, in seconds, */
	int64_t offset;          /* plus ticks */
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
	bool is_big;                        /* default byte order */
	bool has_order;                     /* the metadata declares a byte order */
	const char *host, *tracer, *kernel; /* NULL if unknown */
	const struct ctf_type *packet_header;
	VEC(struct ctf_clock) clocks;
	VEC(struct ctf_stream_class) streams;
	VEC(struct ctf_event_class) events;
};

/*
 * Parses the text of a metadata file; `name` is for messages.  Returns -ENOTSUP for
 * valid metadata that this decoder does not support.
 */
int ctf_metadata_parse(const char *name, const char *text, size_t size, struct ctf_metadata **ret,
		       struct err *err);
void ctf_metadata_free(struct ctf_metadata *meta);
DEFINE_FREEP(ctf_metadata)

#endif
