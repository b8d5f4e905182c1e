/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/protobuf.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "fixed-size numbers are copied without conversion");

enum { VARINT_MAX = 10 }; /* bytes, seven bits each */

const uint8_t *pb_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < VARINT_MAX && at < end; i++) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			*ret = value;
			return at;
		}
	}
	return NULL;
}

void pb_buffer_done(struct pb_buffer *out)
{
	free(out->data);
	*out = (struct pb_buffer){ 0 };
}

/* Appends size bytes, which the caller fills in. */
static uint8_t *grow(struct pb_buffer *out, size_t size)
{
	if (out->capacity - out->size < size) {
		out->capacity = 2 * out->capacity + size + 256;
		out->data = must_realloc(out->data, out->capacity);
	}
	out->size += size;
	return out->data + out->size - size;
}

static size_t encode(uint8_t to[VARINT_MAX], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = value | 0x80;
	to[n++] = value;
	return n;
}

static void put_raw_varint(struct pb_buffer *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = encode(bytes, value);

	memcpy(grow(out, n), bytes, n);
}

void pb_append(struct pb_buffer *out, struct view bytes)
{
	if (bytes.len)
		memcpy(grow(out, bytes.len), bytes.s, bytes.len);
}

void pb_put_value(struct pb_buffer *out, const struct pb_field *field)
{
	switch (field->tag & 7) {
	case PB_VARINT:
		put_raw_varint(out, field->number);
		break;
	case PB_FIXED64:
		memcpy(grow(out, 8), &field->number, 8);
		break;
	case PB_BYTES:
		put_raw_varint(out, field->bytes.len);
		pb_append(out, field->bytes);
		break;
	case PB_FIXED32:
		memcpy(grow(out, 4), &field->number, 4);
		break;
	}
}

void pb_put_field(struct pb_buffer *out, const struct pb_field *field)
{
	put_raw_varint(out, field->tag);
	pb_put_value(out, field);
}

static void put_number(struct pb_buffer *out, uint32_t tag, uint64_t value)
{
	if (value)
		pb_put_field(out, &(struct pb_field){ .tag = tag, .number = value });
}

void pb_put_varint(struct pb_buffer *out, uint32_t number, uint64_t value)
{
	put_number(out, PB_TAG(number, PB_VARINT), value);
}

void pb_put_fixed64(struct pb_buffer *out, uint32_t number, uint64_t value)
{
	put_number(out, PB_TAG(number, PB_FIXED64), value);
}

void pb_put_fixed32(struct pb_buffer *out, uint32_t number, uint32_t value)
{
	put_number(out, PB_TAG(number, PB_FIXED32), value);
}

void pb_put_bytes(struct pb_buffer *out, uint32_t number, struct view bytes)
{
	struct pb_field field = { .tag = PB_TAG(number, PB_BYTES), .bytes = bytes };

	if (bytes.len)
		pb_put_field(out, &field);
}

/*
 * Reserves one byte for the length, which is enough for most attributes.  The content
 * of a longer message is moved once its length is known, so each byte is moved at most
 * once per level of nesting.
 */
size_t pb_begin_message(struct pb_buffer *out, uint32_t number)
{
	put_raw_varint(out, PB_TAG(number, PB_BYTES));
	grow(out, 1);
	return out->size;
}

void pb_end_message(struct pb_buffer *out, size_t begin)
{
	uint8_t length[VARINT_MAX];
	size_t size = out->size - begin, n = encode(length, size);

	grow(out, n - 1);
	memmove(out->data + begin + n - 1, out->data + begin, size);
	memcpy(out->data + begin - 1, length, n);
}
