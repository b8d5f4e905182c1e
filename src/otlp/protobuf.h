/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf - protobuf's encoding, without any idea of what the fields mean.
 *
 *	struct pb_reader pb = pb_reader_of(bytes);
 *	struct pb_field f;
 *	int r;
 *
 *	while ((r = pb_next(&pb, &f)) > 0)
 *		switch (f.tag) {
 *		case PB_TAG(5, PB_BYTES): name = f.bytes; break;
 *		case PB_TAG(7, PB_FIXED64): start = f.number; break;
 *		}
 *
 * A message is a row of fields, each a tag (number and type) and a value.
 * Reading is a cursor over it; bytes are views of the input, so nothing is
 * copied or allocated, and a message inside a message is just another cursor.
 * A field that the caller does not name, also one of a known number and another
 * type, is passed over.  Groups are refused: they were given up before OTLP.
 *
 * Writing appends to a buffer.  A message inside a message is preceded by its
 * length, which is only known at its end: pb_end_message() puts it there.
 */
#ifndef SONDE_OTLP_PROTOBUF_H
#define SONDE_OTLP_PROTOBUF_H

#include <errno.h>

#include "base/view.h"

enum pb_wire_type {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2, /* a string, bytes, or a message */
	PB_FIXED32 = 5,
};

#define PB_TAG(number, type) ((uint32_t)(number) << 3 | (type))

struct pb_reader {
	const uint8_t *at, *end; /* borrowed */
};

struct pb_field {
	uint32_t tag;
	uint64_t number;
	struct view bytes; /* only of PB_BYTES */
};

static inline struct pb_reader pb_reader_of(struct view bytes)
{
	return (struct pb_reader){ (const uint8_t *)bytes.s, (const uint8_t *)bytes.s + bytes.len };
}

/*
 * A number of at most ten bytes.  This and the next are given where it begins and
 * where the message ends, and return where it ends itself, or NULL if it does not
 * before that.
 */
const uint8_t *pb_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *ret);

static inline const uint8_t *pb_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	if (at < end && *at < 0x80) {
		*ret = *at;
		return at + 1;
	}
	return pb_varint_long(at, end, ret);
}

/* Little-endian, as the wire has it. */
static inline const uint8_t *pb_fixed(const uint8_t *at, const uint8_t *end, size_t size,
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
__attribute__((always_inline)) static inline int pb_next(struct pb_reader *pb, struct pb_field *ret)
{
	const uint8_t *at = pb->at, *end = pb->end;
	uint64_t tag, n;

	if (at == end)
		return 0;
	at = pb_varint(at, end, &tag);
	if (!at || tag > UINT32_MAX || tag < PB_TAG(1, 0))
		return -EBADMSG;
	switch (tag & 7) {
	case PB_VARINT:
	case PB_BYTES:
		at = pb_varint(at, end, &n);
		break;
	case PB_FIXED64:
		at = pb_fixed(at, end, 8, &n);
		break;
	case PB_FIXED32:
		at = pb_fixed(at, end, 4, &n);
		break;
	default:
		return -EBADMSG;
	}
	if (!at)
		return -EBADMSG;
	ret->tag = tag;
	ret->number = n;
	if ((tag & 7) == PB_BYTES) {
		if (n > (size_t)(end - at))
			return -EBADMSG;
		ret->bytes = (struct view){ (const char *)at, n };
		at += n;
	}
	pb->at = at;
	return 1;
}

/* All zero is an empty buffer. */
struct pb_buffer {
	uint8_t *data;
	size_t size, room;
};

void pb_buffer_done(struct pb_buffer *out);

/* As proto3 has it, zeros and empty strings are not written by the first four. */
void pb_put_varint(struct pb_buffer *out, uint32_t number, uint64_t value);
void pb_put_fixed64(struct pb_buffer *out, uint32_t number, uint64_t value);
void pb_put_fixed32(struct pb_buffer *out, uint32_t number, uint32_t value);
void pb_put_bytes(struct pb_buffer *out, uint32_t number, struct view bytes);

/* A field of any type as it was read, also if its value is zero. */
void pb_put_field(struct pb_buffer *out, const struct pb_field *field);

/* Opens a message; what is written up to pb_end_message(), which gets the returned place, is in it.
 */
size_t pb_begin_message(struct pb_buffer *out, uint32_t number);
void pb_end_message(struct pb_buffer *out, size_t begin);

#endif
