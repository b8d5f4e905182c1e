/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/packed_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "read/file/unpack.h"

enum { LENGTH_SIZE = 4 };

static uint32_t length_at(const char *s)
{
	uint32_t n;

	memcpy(&n, s, LENGTH_SIZE);
	return ntohl(n);
}

bool packed_frames_matches(const char *head, size_t size)
{
	static const char magic[] = "\x28\xb5\x2f\xfd"; /* of zstd */

	return size > LENGTH_SIZE + strlen(magic) && length_at(head) > strlen(magic) &&
	       memcmp(head + LENGTH_SIZE, magic, strlen(magic)) == 0;
}

#ifdef HAVE_ZSTD

/* Larger than the exporter's window; a damaged file must not make zstd allocate any amount. */
enum { WINDOW_LOG = 25, FIRST_CAPACITY = 1 << 16 };

struct frames {
	int fd;
	struct unpack_budget budget;
	ZSTD_DCtx *zstd;
	char *buffer; /* a length, a request, and a newline */
	size_t capacity;
	struct err *err;
};

static void frames_done(struct frames *f)
{
	ZSTD_freeDCtx(f->zstd);
	free(f->buffer);
}

static int write_out(struct frames *f, const char *data, size_t size)
{
	return unpack_write(f->budget.path, f->fd, data, size, f->err);
}

/* Unpacks one request into the buffer, after the length. */
static int unpack_frame(struct frames *f, struct view packed, size_t *ret_size)
{
	ZSTD_inBuffer in = { packed.s, packed.len, 0 };
	size_t size = 0, more = 1;

	ZSTD_DCtx_reset(f->zstd, ZSTD_reset_session_only);
	while (more) {
		if (LENGTH_SIZE + size + 1 >= f->capacity) {
			f->capacity = f->capacity ? 2 * f->capacity : FIRST_CAPACITY;
			f->buffer = must_realloc(f->buffer, f->capacity);
		}

		ZSTD_outBuffer out = { f->buffer + LENGTH_SIZE + size,
				       f->capacity - LENGTH_SIZE - size - 1, 0 };
		size_t before = in.pos;

		more = ZSTD_decompressStream(f->zstd, &out, &in);
		if (ZSTD_isError(more) || (more && !out.pos && in.pos == before))
			return err_set(f->err, -EBADMSG, "cannot unpack '%s': damaged zstd data",
				       f->budget.path);
		size += out.pos;
		if (unpack_budget_take(&f->budget, out.pos, f->err) < 0)
			return -EFBIG;
	}
	*ret_size = size;
	return 0;
}

static int unpack_request(struct frames *f, struct view packed)
{
	size_t size = 0;
	int r = unpack_frame(f, packed, &size);

	if (r < 0)
		return r;
	if (size && f->buffer[LENGTH_SIZE] == '{') {
		f->buffer[LENGTH_SIZE + size] = '\n';
		return write_out(f, f->buffer + LENGTH_SIZE, size + 1);
	}

	uint32_t length = htonl(size);

	memcpy(f->buffer, &length, LENGTH_SIZE);
	return write_out(f, f->buffer, LENGTH_SIZE + size);
}

static int unpack_all(struct frames *f, struct view rest)
{
	int r = 0;

	while (r == 0 && rest.len) {
		size_t length = rest.len < LENGTH_SIZE ? 0 : length_at(rest.s);

		if (rest.len < LENGTH_SIZE + length || rest.len < LENGTH_SIZE) /* truncated */
			return write_out(f, f->buffer && f->buffer[LENGTH_SIZE] == '{' ? "{" : "\1",
					 1);
		r = unpack_request(f, (struct view){ rest.s + LENGTH_SIZE, length });
		rest.s += LENGTH_SIZE + length;
		rest.len -= LENGTH_SIZE + length;
	}
	return r;
}

int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err)
{
	_cleanup_(frames_done) struct frames f = { .fd = fd,
						   .budget = { path, limit, limit },
						   .err = err };

	f.zstd = ZSTD_createDCtx();
	if (!f.zstd)
		abort(); /* out of memory */
	ZSTD_DCtx_setParameter(f.zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
	return unpack_all(&f, file);
}

#else

int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "cannot unpack '%s': sonde was built without zstd (package libzstd-dev)",
		       path);
}

#endif
