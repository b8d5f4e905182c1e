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
	uint64_t number;
	struct view bytes; /* only of WIRE_BYTES */
};

static inline struct wire wire_of(struct view bytes)
{
	return (struct wire){ (const uint8_t *)bytes.s, (const uint8_t *)bytes.s + bytes.len };
}

/*
 * A number of at most ten bytes.  This and the next are given where it begins and
 * where the message ends, and return where it ends itself, or NULL if it does not
 * before that.
 */
const uint8_t *wire_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *ret);

static inline const uint8_t *wire_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	if (at < end && *at < 0x80) {
		*ret = *at;
		return at + 1;
	}
	return wire_varint_long(at, end, ret);
}

/* Little-endian, as the wire has it. */
static inline const uint8_t *wire_fixed(const uint8_t *at, const uint8_t *end, size_t size,
					uint64_t *ret)
{
	uint64_t n = 0;

	if ((size_t)(end - at) < size)
		return NULL;
	memcpy(&n, at, size);
	*ret = n;
	return at + size;
}

/*
 * 1 with a field, 0 at the end, -EBADMSG; then the cursor stays before what is
 * no field.  This is most of what reading costs, so it is made to stay in
 * registers: inlined, and with only locals whose address is taken.
 */
__attribute__((always_inline)) static inline int wire_next(struct wire *wire,
							   struct wire_field *ret)
{
	const uint8_t *at = wire->at, *end = wire->end;
	uint64_t tag, n;

	if (at == end)
		return 0;
	at = wire_varint(at, end, &tag);
	if (!at || tag > UINT32_MAX || tag < WIRE_TAG(1, 0))
		return -EBADMSG;
	switch (tag & 7) {
	case WIRE_VARINT:
	case WIRE_BYTES:
		at = wire_varint(at, end, &n);
		break;
	case WIRE_FIXED64:
		at = wire_fixed(at, end, 8, &n);
		break;
	case WIRE_FIXED32:
		at = wire_fixed(at, end, 4, &n);
		break;
	default:
		return -EBADMSG;
	}
	if (!at)
		return -EBADMSG;
	ret->tag = tag;
	ret->number = n;
	if ((tag & 7) == WIRE_BYTES) {
		if (n > (size_t)(end - at))
			return -EBADMSG;
		ret->bytes = (struct view){ (const char *)at, n };
		at += n;
	}
	wire->at = at;
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
