/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf - the wire format of protobuf, without message definitions.
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
 * A message is a sequence of fields, each a tag (number and type) and a value.  The
 * reader is a cursor over the bytes; strings are views of the input, so nothing is
 * copied or allocated, and a nested message is read with another cursor.  Callers
 * ignore fields with unknown tags, including known numbers with another type.  Groups
 * are an error: they were deprecated before OTLP existed.
 *
 * The writer appends to a buffer.  A nested message is preceded by its length, which
 * pb_end_message() fills in.
 */
#ifndef SONDE_OTLP_PROTOBUF_H
#define SONDE_OTLP_PROTOBUF_H

#include <errno.h>

#include "base/view.h"

enum pb_wire_type {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2, /* string, bytes or message */
	PB_FIXED32 = 5,
};

#define PB_TAG(number, type) ((uint32_t)(number) << 3 | (type))

struct pb_reader {
	const uint8_t *at, *end; /* borrowed */
};

struct pb_field {
	uint32_t tag;
	uint64_t number;
	struct view bytes; /* PB_BYTES only */
};

static inline struct pb_reader pb_reader_of(struct view bytes)
{
	return (struct pb_reader){ (const uint8_t *)bytes.s, (const uint8_t *)bytes.s + bytes.len };
}

/*
 * Decodes a varint of at most ten bytes.  This and the next functions take the start of
 * the number and the end of the message, and return the end of the number, or NULL if
 * the message ends first.
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

/* Little-endian, as on the wire. */
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
 * Reads the next field.  Returns 1, 0 at the end, or -EBADMSG with the cursor at the
 * invalid field.  Most of the time of reading is spent here: always_inline and locals
 * keep the cursor in registers.
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

/* Zero-initialised, it is an empty buffer. */
struct pb_buffer {
	uint8_t *data;
	size_t size, capacity;
};

void pb_buffer_done(struct pb_buffer *out);

/* As in proto3, these four do not write zeros and empty strings. */
void pb_put_varint(struct pb_buffer *out, uint32_t number, uint64_t value);
void pb_put_fixed64(struct pb_buffer *out, uint32_t number, uint64_t value);
void pb_put_fixed32(struct pb_buffer *out, uint32_t number, uint32_t value);
void pb_put_bytes(struct pb_buffer *out, uint32_t number, struct view bytes);

/* Writes a field as it was read, even if its value is zero. */
void pb_put_field(struct pb_buffer *out, const struct pb_field *field);

/* Writes the value without its tag: an item of a packed list. */
void pb_put_value(struct pb_buffer *out, const struct pb_field *field);

/* Appends bytes as they are, such as encoded fields. */
void pb_append(struct pb_buffer *out, struct view bytes);

/* Starts a nested message; pb_end_message() takes the returned offset. */
size_t pb_begin_message(struct pb_buffer *out, uint32_t number);
void pb_end_message(struct pb_buffer *out, size_t begin);

#endif
