/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/unpack.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { MAX_SIZE = 1 << 28 }; /* far more than anybody packs in one piece */

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

struct method {
	const char *name, *package;
	bool (*can_be)(struct view packed, size_t size); /* NULL: not built in */
	bool (*run)(struct unpack *unpack, struct view packed, char *ret, size_t size);
};

struct unpack {
	const struct method *method;
	uint64_t limit, left; /* bytes that may come out: at all, still */
	bool exceeded;
#ifdef HAVE_ZSTD
	ZSTD_DCtx *zstd; /* its tables are made once */
#endif
};

#ifdef HAVE_ZLIB
static bool zlib_can_be(struct view packed, size_t size)
{
	return size / 1032 <= packed.len; /* deflate cannot do better */
}

static bool zlib_run(struct unpack *unpack, struct view packed, char *ret, size_t size)
{
	uLongf got = size;

	return uncompress((Bytef *)ret, &got, (const Bytef *)packed.s, packed.len) == Z_OK &&
	       got == size;
}
#endif

#ifdef HAVE_ZSTD
static bool zstd_can_be(struct view packed, size_t size)
{
	unsigned long long told = ZSTD_getFrameContentSize(packed.s, packed.len);

	return told == size || told == ZSTD_CONTENTSIZE_UNKNOWN;
}

static bool zstd_run(struct unpack *unpack, struct view packed, char *ret, size_t size)
{
	if (!unpack->zstd)
		unpack->zstd = ZSTD_createDCtx();
	return unpack->zstd &&
	       ZSTD_decompressDCtx(unpack->zstd, ret, size, packed.s, packed.len) == size;
}
#endif

static const struct method methods[] = {
#ifdef HAVE_ZLIB
	{ "zlib", "zlib1g-dev", zlib_can_be, zlib_run },
#else
	{ "zlib", "zlib1g-dev", NULL, NULL },
#endif
#ifdef HAVE_ZSTD
	{ "zstd", "libzstd-dev", zstd_can_be, zstd_run },
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
				"'%s' is packed by %s, which needs the package %s when sonde is "
				"built",
				path, name, methods[i].package);
			return NULL;
		}

		struct unpack *unpack = must_alloc(sizeof(*unpack));

		unpack->method = &methods[i];
		unpack->limit = unpack->left = unpack_limit(file_size);
		return unpack;
	}
	err_set(err, -EBADMSG,
		"'%s' is packed in a way that sonde does not know: it knows zlib and zstd", path);
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
	if (size > MAX_SIZE || !unpack->method->can_be(packed, size))
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
