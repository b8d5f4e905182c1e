/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - protobuf's encoding, without any idea of what the fields mean.
 *
 *	struct wire wire = wire_of(bytes);
 *	struct wire_field f;
 *	int r;
 *
 *	while ((r = wire_next(&wire, &f)) > 0)
 *		switch (f.tag) {
 *		case WIRE_TAG(5, WIRE_BYTES): name = f.bytes; break;
 *		case WIRE_TAG(7, WIRE_FIXED64): start = f.number; break;
 *		}
 *
 * A message is a row of fields, each a tag (number and type) and a value.
 * Reading is a cursor over it; bytes are views of the input, so nothing is
 * copied or allocated, and a message inside a message is just another cursor.
 * A field that the caller does not name, also one of a known number and another
 * type, is passed over.  Groups are refused: they were given up before OTLP.
 *
 * Writing appends to a buffer.  A message inside a message is preceded by its
 * length, which is only known at its end: wire_end() puts it there.
 */
#ifndef SONDE_OTLP_WIRE_H
#define SONDE_OTLP_WIRE_H

#include <errno.h>

#include "base/view.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2, /* a string, bytes, or a message */
	WIRE_FIXED32 = 5,
};

#define WIRE_TAG(number, type) ((uint32_t)(number) << 3 | (type))

struct wire {
	const uint8_t *at, *end; /* borrowed */
};

struct wire_field {
	uint32_t tag;
	union {
		uint64_t number; /* all types but WIRE_BYTES */
		struct view bytes;
	};
};

static inline struct wire wire_of(struct view bytes)
{
	return (struct wire){ (const uint8_t *)bytes.s, (const uint8_t *)bytes.s + bytes.len };
}

bool wire_varint_long(struct wire *wire, uint64_t *ret);

/* False if there is none, or it does not end. */
static inline bool wire_varint(struct wire *wire, uint64_t *ret)
{
	if (wire->at < wire->end && *wire->at < 0x80) {
		*ret = *wire->at++;
		return true;
	}
	return wire_varint_long(wire, ret);
}

/* Little-endian, as the wire has it. */
static inline bool wire_fixed(struct wire *wire, size_t size, uint64_t *ret)
{
	uint64_t n = 0;

	if ((size_t)(wire->end - wire->at) < size)
		return false;
	memcpy(&n, wire->at, size);
	wire->at += size;
	*ret = n;
	return true;
}

static inline bool wire_bytes(struct wire *wire, struct view *ret)
{
	uint64_t len;

	if (!wire_varint(wire, &len) || len > (size_t)(wire->end - wire->at))
		return false;
	*ret = (struct view){ (const char *)wire->at, len };
	wire->at += len;
	return true;
}

static inline bool wire_value(struct wire *wire, struct wire_field *ret)
{
	switch (ret->tag & 7) {
	case WIRE_VARINT:
		return wire_varint(wire, &ret->number);
	case WIRE_FIXED64:
		return wire_fixed(wire, 8, &ret->number);
	case WIRE_BYTES:
		return wire_bytes(wire, &ret->bytes);
	case WIRE_FIXED32:
		return wire_fixed(wire, 4, &ret->number);
	default:
		return false;
	}
}

/* 1 with a field, 0 at the end, -EBADMSG; then the cursor stays before what is no field. */
static inline int wire_next(struct wire *wire, struct wire_field *ret)
{
	struct wire next = *wire;
	uint64_t tag;

	if (next.at == next.end)
		return 0;
	if (!wire_varint(&next, &tag) || tag > UINT32_MAX || tag < WIRE_TAG(1, 0))
		return -EBADMSG;
	ret->tag = tag;
	if (!wire_value(&next, ret))
		return -EBADMSG;
	*wire = next;
	return 1;
}

/* All zero is an empty buffer. */
struct wire_out {
	uint8_t *data;
	size_t size, room;
};

void wire_out_done(struct wire_out *out);

/* As proto3 has it, zeros and empty strings are not written by the first four. */
void wire_put_varint(struct wire_out *out, uint32_t number, uint64_t value);
void wire_put_fixed64(struct wire_out *out, uint32_t number, uint64_t value);
void wire_put_fixed32(struct wire_out *out, uint32_t number, uint32_t value);
void wire_put_bytes(struct wire_out *out, uint32_t number, struct view bytes);

/* A field of any type as it was read, also if its value is zero. */
void wire_put_field(struct wire_out *out, const struct wire_field *field);

/* Opens a message; what is written up to wire_end(), which gets the returned place, is in it. */
size_t wire_begin(struct wire_out *out, uint32_t number);
void wire_end(struct wire_out *out, size_t begin);

#endif
