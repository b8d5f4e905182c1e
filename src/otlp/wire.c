/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/wire.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed numbers are copied as they are");

enum { VARINT_MAX = 10 }; /* bytes: 64 bits, seven in each */

const uint8_t *wire_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *ret)
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

void wire_out_done(struct wire_out *out)
{
	free(out->data);
	*out = (struct wire_out){ 0 };
}

/* Room for that many bytes more, which the caller fills. */
static uint8_t *grow(struct wire_out *out, size_t size)
{
	if (out->room - out->size < size) {
		out->room = 2 * out->room + size + 256;
		out->data = must_realloc(out->data, out->room);
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

static void put_raw_varint(struct wire_out *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = encode(bytes, value);

	memcpy(grow(out, n), bytes, n);
}

void wire_put_field(struct wire_out *out, const struct wire_field *field)
{
	put_raw_varint(out, field->tag);
	switch (field->tag & 7) {
	case WIRE_VARINT:
		put_raw_varint(out, field->number);
		break;
	case WIRE_FIXED64:
		memcpy(grow(out, 8), &field->number, 8);
		break;
	case WIRE_BYTES:
		put_raw_varint(out, field->bytes.len);
		if (field->bytes.len)
			memcpy(grow(out, field->bytes.len), field->bytes.s, field->bytes.len);
		break;
	case WIRE_FIXED32:
		memcpy(grow(out, 4), &field->number, 4);
		break;
	}
}

static void put_number(struct wire_out *out, uint32_t tag, uint64_t value)
{
	if (value)
		wire_put_field(out, &(struct wire_field){ .tag = tag, .number = value });
}

void wire_put_varint(struct wire_out *out, uint32_t number, uint64_t value)
{
	put_number(out, WIRE_TAG(number, WIRE_VARINT), value);
}

void wire_put_fixed64(struct wire_out *out, uint32_t number, uint64_t value)
{
	put_number(out, WIRE_TAG(number, WIRE_FIXED64), value);
}

void wire_put_fixed32(struct wire_out *out, uint32_t number, uint32_t value)
{
	put_number(out, WIRE_TAG(number, WIRE_FIXED32), value);
}

void wire_put_bytes(struct wire_out *out, uint32_t number, struct view bytes)
{
	struct wire_field field = { .tag = WIRE_TAG(number, WIRE_BYTES), .bytes = bytes };

	if (bytes.len)
		wire_put_field(out, &field);
}

/*
 * One byte is left free for the length, which is right for most messages of
 * which there are many: attributes.  A longer one is moved when its length is
 * known; each byte is moved once for each message that it is in, at most.
 */
size_t wire_begin(struct wire_out *out, uint32_t number)
{
	put_raw_varint(out, WIRE_TAG(number, WIRE_BYTES));
	grow(out, 1);
	return out->size;
}

void wire_end(struct wire_out *out, size_t begin)
{
	uint8_t length[VARINT_MAX];
	size_t size = out->size - begin, n = encode(length, size);

	grow(out, n - 1);
	memmove(out->data + begin + n - 1, out->data + begin, size);
	memcpy(out->data + begin - 1, length, n);
}
