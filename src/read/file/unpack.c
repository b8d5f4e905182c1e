/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { MAX_SIZE = 1 << 28 }; /* bytes; far more than any tool compresses in one piece */

uint64_t unpack_limit(uint64_t packed_size)
{
	static const uint64_t ratio = 256, least = 64 << 20;
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2, limit;

	if (packed_size < least / ratio)
		return least;
	if (__builtin_mul_overflow(packed_size, ratio, &limit))
		return memory;
	return limit < memory ? limit : memory;
}

int unpack_budget_take(struct unpack_budget *budget, size_t size, struct err *err)
{
	if (size > budget->left)
		return err_set(err, -EFBIG,
			       "'%s' unpacks to more than %" PRIu64
			       " MiB, the limit for its size: unpack it and pass the result to "
			       "sonde",
			       budget->path, budget->limit >> 20);
	budget->left -= size;
	return 0;
}

int unpack_write(const char *path, int fd, const char *data, size_t size, struct err *err)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			return err_errno(err, "cannot unpack '%s'", path);
		data += n;
		size -= n;
	}
	return 0;
}

struct unpack_method {
	const char *name, *package;
	bool (*is_plausible)(struct view packed, size_t size); /* NULL: not built in */
	bool (*run)(struct unpack *unpack, struct view packed, char *ret, size_t size);
};

struct unpack {
	const struct unpack_method *method;
	uint64_t limit, left; /* bytes that may be unpacked: in all, and from now on */
	bool exceeded;
#ifdef HAVE_ZSTD
	ZSTD_DCtx *zstd; /* allocated once, since its tables are large */
#endif
};

#ifdef HAVE_ZLIB
static bool zlib_is_plausible(struct view packed, size_t size)
{
	return size / 1032 <= packed.len; /* the maximum ratio of deflate */
}

static bool zlib_run(struct unpack *unpack, struct view packed, char *ret, size_t size)
{
	uLongf got = size;

	return uncompress((Bytef *)ret, &got, (const Bytef *)packed.s, packed.len) == Z_OK &&
	       got == size;
}
#endif

#ifdef HAVE_ZSTD
static bool zstd_is_plausible(struct view packed, size_t size)
{
	unsigned long long stored = ZSTD_getFrameContentSize(packed.s, packed.len);

	return stored == size || stored == ZSTD_CONTENTSIZE_UNKNOWN;
}

static bool zstd_run(struct unpack *unpack, struct view packed, char *ret, size_t size)
{
	if (!unpack->zstd)
		unpack->zstd = ZSTD_createDCtx();
	return unpack->zstd &&
	       ZSTD_decompressDCtx(unpack->zstd, ret, size, packed.s, packed.len) == size;
}
#endif

static const struct unpack_method methods[] = {
#ifdef HAVE_ZLIB
	{ "zlib", "zlib1g-dev", zlib_is_plausible, zlib_run },
#else
	{ "zlib", "zlib1g-dev", NULL, NULL },
#endif
#ifdef HAVE_ZSTD
	{ "zstd", "libzstd-dev", zstd_is_plausible, zstd_run },
#else
	{ "zstd", "libzstd-dev", NULL, NULL },
#endif
};

struct unpack *unpack_new(const char *name, const char *path, uint64_t file_size, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, name) != 0)
			continue;
		if (!methods[i].run) {
			err_set(err, -ENOTSUP,
				"cannot unpack '%s': sonde was built without %s (package %s)", path,
				name, methods[i].package);
			return NULL;
		}

		struct unpack *unpack = must_alloc(sizeof(*unpack));

		unpack->method = &methods[i];
		unpack->limit = unpack->left = unpack_limit(file_size);
		return unpack;
	}
	err_set(err, -EBADMSG,
		"cannot unpack '%s': unknown compression method; sonde supports zlib and zstd",
		path);
	return NULL;
}

void unpack_free(struct unpack *unpack)
{
	if (!unpack)
		return;
#ifdef HAVE_ZSTD
	ZSTD_freeDCtx(unpack->zstd);
#endif
	free(unpack);
}

bool unpack_admit(struct unpack *unpack, struct view packed, size_t size)
{
	if (size > MAX_SIZE || !unpack->method->is_plausible(packed, size))
		return false;
	if (size > unpack->left) {
		unpack->exceeded = true;
		return false;
	}
	unpack->left -= size;
	return true;
}

uint64_t unpack_exceeded(const struct unpack *unpack)
{
	return unpack->exceeded ? unpack->limit : 0;
}

bool unpack_run(struct unpack *unpack, struct view packed, char *ret, size_t size)
{
	return unpack->method->run(unpack, packed, ret, size);
}
