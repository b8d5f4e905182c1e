/* SPDX-License-Identifier: Apache-2.0 */
#define ZLIB_CONST /* next_in is a pointer to const */
#include "relay/gzip.h"

#include <assert.h>
#include <zlib.h>

enum {
	GZIP_WINDOW = MAX_WBITS + 16, /* zlib: a gzip header, and no other */
	START = 4096,                 /* bytes of the first buffer */
	INPUT_MAX = 1 << 30,          /* bytes for one call of zlib, which counts in 32 bits */
};

static unsigned int limited(size_t n)
{
	return n < INPUT_MAX ? n : INPUT_MAX;
}

/* Doubles the buffer; false if the limit is reached. */
static bool grow(struct pb_buffer *out, size_t limit)
{
	size_t capacity = out->capacity ? 2 * out->capacity : START;

	if (out->capacity >= limit)
		return false;
	out->capacity = capacity < limit ? capacity : limit;
	out->data = must_realloc(out->data, out->capacity);
	return true;
}

/*
 * One call of inflate() into the room of the buffer.  If the buffer has reached the limit, one more
 * byte decides whether the result ends there.
 */
static int inflate_some(z_stream *z, struct pb_buffer *out, size_t limit)
{
	uint8_t extra;
	bool is_full = out->size == out->capacity && !grow(out, limit);
	size_t room = is_full ? 1 : out->capacity - out->size;
	int r;

	z->next_out = is_full ? &extra : out->data + out->size;
	z->avail_out = limited(room);
	room = z->avail_out;
	r = inflate(z, Z_NO_FLUSH);
	room -= z->avail_out; /* bytes written */
	if (is_full && room)
		return -EMSGSIZE;
	out->size += room;
	return r;
}

/* Decompresses until the input ends at the end of a member. */
static int inflate_members(z_stream *z, struct view packed, struct pb_buffer *out, size_t limit)
{
	const char *end = packed.s + packed.len;

	z->next_in = (const uint8_t *)packed.s;
	for (;;) {
		size_t rest = end - (const char *)z->next_in;
		int r;

		z->avail_in = limited(rest);
		r = inflate_some(z, out, limit);
		rest = end - (const char *)z->next_in;
		if (r == -EMSGSIZE || (r == Z_STREAM_END && rest == 0))
			return r == Z_STREAM_END ? 0 : r;
		if (r == Z_STREAM_END)
			r = inflateReset(z);
		if (r != Z_OK && (r != Z_BUF_ERROR || rest == 0))
			return -EBADMSG;
	}
}

int gzip_inflate(struct view packed, size_t limit, struct pb_buffer *ret, struct err *err)
{
	z_stream z = { 0 };
	struct pb_buffer out = { 0 };
	int r;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		abort(); /* out of memory */
	r = packed.len ? inflate_members(&z, packed, &out, limit) : -EBADMSG;
	inflateEnd(&z);
	if (r == 0) {
		*ret = out;
		return 0;
	}
	pb_buffer_done(&out);
	if (r == -EMSGSIZE)
		return err_set(err, r, "decompressed, the request has more than %zu bytes", limit);
	return err_set(err, r, "the request is not in gzip format, or damaged");
}

struct gzip_packer {
	z_stream z;
};

struct gzip_packer *gzip_packer_new(void)
{
	struct gzip_packer *p = must_alloc(sizeof(*p));

	if (deflateInit2(&p->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		abort(); /* out of memory */
	return p;
}

void gzip_packer_free(struct gzip_packer *p)
{
	if (p)
		deflateEnd(&p->z);
	free(p);
}

/* Room for the worst case. */
static void reserve(struct pb_buffer *out, size_t more)
{
	if (out->capacity - out->size >= more)
		return;
	out->capacity = out->size + more;
	out->data = must_realloc(out->data, out->capacity);
}

void gzip_pack(struct gzip_packer *p, struct view plain, struct pb_buffer *out)
{
	z_stream *z = &p->z;
	size_t rest = plain.len;
	int r;

	deflateReset(z);
	reserve(out, deflateBound(z, plain.len));
	z->next_in = (const uint8_t *)plain.s;
	z->next_out = out->data + out->size;
	do {
		z->avail_in = limited(rest);
		rest -= z->avail_in;
		z->avail_out = limited(out->data + out->capacity - z->next_out);
		r = deflate(z, rest ? Z_NO_FLUSH : Z_FINISH);
		rest += z->avail_in;
	} while (r == Z_OK);
	assert(r == Z_STREAM_END);
	out->size = z->next_out - out->data;
}
