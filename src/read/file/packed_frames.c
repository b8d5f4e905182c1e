/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/packed_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { HEAD = 4 }; /* bytes of a length */

static uint32_t length_at(const char *s)
{
	uint32_t n;

	memcpy(&n, s, HEAD);
	return ntohl(n);
}

bool packed_frames_matches(const char *head, size_t size)
{
	static const char mark[] = "\x28\xb5\x2f\xfd"; /* zstd's */

	return size > HEAD + strlen(mark) && length_at(head) > strlen(mark) &&
	       memcmp(head + HEAD, mark, strlen(mark)) == 0;
}

#ifdef HAVE_ZSTD

/* More than the exporter uses; a damaged byte must not make it ask for all there is. */
enum { WINDOW_LOG = 25, FIRST_ROOM = 1 << 16 };

struct frames {
	const char *path;
	int fd;
	uint64_t left, limit; /* bytes that may come out */
	ZSTD_DCtx *zstd;
	char *room; /* for a request, behind its length and before the end of its line */
	size_t room_size;
	struct err *err;
};

static void frames_done(struct frames *f)
{
	ZSTD_freeDCtx(f->zstd);
	free(f->room);
}

static int write_all(struct frames *f, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(f->fd, data, size);

		if (n < 0)
			return err_errno(f->err, "cannot unpack '%s'", f->path);
		data += n;
		size -= n;
	}
	return 0;
}

static int take(struct frames *f, size_t size)
{
	if (size > f->left)
		return err_set(f->err, -EFBIG, "'%s' unpacks to more than %" PRIu64 " MiB", f->path,
			       f->limit >> 20);
	f->left -= size;
	return 0;
}

/* One request into the room; it has *ret_size bytes. */
static int unpack(struct frames *f, struct view packed, size_t *ret_size)
{
	ZSTD_inBuffer in = { packed.s, packed.len, 0 };
	size_t size = 0, more = 1;

	ZSTD_DCtx_reset(f->zstd, ZSTD_reset_session_only);
	while (more) {
		if (HEAD + size + 1 >= f->room_size) {
			f->room_size = f->room_size ? 2 * f->room_size : FIRST_ROOM;
			f->room = must_realloc(f->room, f->room_size);
		}

		ZSTD_outBuffer out = { f->room + HEAD + size, f->room_size - HEAD - size - 1, 0 };
		size_t before = in.pos;

		more = ZSTD_decompressStream(f->zstd, &out, &in);
		if (ZSTD_isError(more) || (more && !out.pos && in.pos == before))
			return err_set(f->err, -EBADMSG,
				       "cannot unpack '%s': what is packed there makes no sense",
				       f->path);
		size += out.pos;
		if (take(f, out.pos) < 0)
			return -EFBIG;
	}
	*ret_size = size;
	return 0;
}

static int unpack_request(struct frames *f, struct view packed)
{
	size_t size = 0;
	int r = unpack(f, packed, &size);

	if (r < 0)
		return r;
	if (size && f->room[HEAD] == '{') {
		f->room[HEAD + size] = '\n';
		return write_all(f, f->room + HEAD, size + 1);
	}

	uint32_t length = htonl(size);

	memcpy(f->room, &length, HEAD);
	return write_all(f, f->room, HEAD + size);
}

static int unpack_all(struct frames *f, struct view rest)
{
	int r = 0;

	while (r == 0 && rest.len) {
		size_t length = rest.len < HEAD ? 0 : length_at(rest.s);

		if (rest.len < HEAD + length || rest.len < HEAD) /* half a line, half a length */
			return write_all(f, f->room && f->room[HEAD] == '{' ? "{" : "\1", 1);
		r = unpack_request(f, (struct view){ rest.s + HEAD, length });
		rest.s += HEAD + length;
		rest.len -= HEAD + length;
	}
	return r;
}

int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err)
{
	_cleanup_(frames_done) struct frames f = {
		.path = path, .fd = fd, .left = limit, .limit = limit, .err = err
	};

	f.zstd = ZSTD_createDCtx();
	if (!f.zstd)
		abort(); /* there is no memory */
	ZSTD_DCtx_setParameter(f.zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
	return unpack_all(&f, file);
}

#else

int packed_frames_unpack(const char *path, struct view file, int fd, uint64_t limit,
			 struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "'%s' is packed by zstd, which needs the package libzstd-dev when sonde is "
		       "built",
		       path);
}

#endif
