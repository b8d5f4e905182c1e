/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/packed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "read/file/packed_frames.h"
#include "read/file/unpack.h"

/* Magic numbers, in the order in which they are compared. */
static const struct packed_magic {
	size_t offset, size;
	const char *bytes;
	const char *name;
	enum packed_kind kind;
} magics[] = {
	{ 0, 4, "LRZI", "lrzip", PACKED_UNSUPPORTED },
	{ 0, 9, "\x89LZO\0\r\n\x1a\n", "lzop", PACKED_UNSUPPORTED },
	{ 0, 12, "GRZipII\0\2\4:)", "grzip", PACKED_UNSUPPORTED },
	{ 0, 2, "\x1f\x9d", "compress", PACKED_UNSUPPORTED },
	{ 0, 4, "LZIP", "lzip", PACKED_UNSUPPORTED },
	{ 0, 6, "7z\xbc\xaf\x27\x1c", "7-Zip", PACKED_UNSUPPORTED },
	{ 0, 6, "Rar!\x1a\7", "RAR", PACKED_UNSUPPORTED },
	{ 0, 2, "\x1f\x8b", "gzip", PACKED_GZIP },
	{ 0, 4, "\x28\xb5\x2f\xfd", "zstd", PACKED_ZSTD },
	{ 0, 6, "\xfd\x37\x7a\x58\x5a", "xz", PACKED_XZ }, /* includes the NUL */
	{ 0, 3, "BZh", "bzip2", PACKED_BZIP2 },
	{ 0, 4, "\x04\x22\x4d\x18", "lz4", PACKED_LZ4 },
	{ 0, 4, "PK\3\4", "zip", PACKED_ARCHIVE },
	{ 257, 5, "ustar", "tar", PACKED_ARCHIVE },
};

static const struct packed_magic *magic_of(const char *head, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(magics); i++)
		if (size >= magics[i].offset + magics[i].size &&
		    memcmp(head + magics[i].offset, magics[i].bytes, magics[i].size) == 0)
			return &magics[i];
	return NULL;
}

bool packed_matches(const char *head, size_t size)
{
	return magic_of(head, size) || packed_frames_matches(head, size);
}

/* A copy of the text in which `to` replaces each `from`. */
static char *replace_all(const char *text, const char *from, const char *to)
{
	char *all = must_strdup(text);

	for (char *found = all; (found = strstr(found, from));) {
		_cleanup_(freep) char *before = all;
		size_t at = found - all;

		all = must_printf("%.*s%s%s", (int)at, before, to, found + strlen(from));
		found = all + at + strlen(to);
	}
	return all;
}

void packed_rename(struct err *err, const char *content, const char *path)
{
	_cleanup_(freep) char *text = replace_all(err->text, content, path);

	snprintf(err->text, sizeof(err->text), "%s", text);
}

int packed_open_content(const char *path, int fd, const char *format, struct input **ret,
			struct err *err)
{
	_cleanup_(freep) char *unpacked = must_printf("/proc/self/fd/%d", fd);
	int code = input_open(unpacked, format, ret, err);

	if (code < 0) {
		packed_rename(err, unpacked, path);
		return code;
	}
	if ((*ret)->warning) {
		_cleanup_(freep) char *before = (*ret)->warning;

		(*ret)->warning = replace_all(before, unpacked, path);
	}
	if (!(*ret)->content) /* an archive in a compressed file has two layers */
		(*ret)->content = TAKE(unpacked);
	return code;
}

static int open_frames(const char *path, struct view file, const char *format, struct input **ret,
		       struct err *err)
{
	_cleanup_(closep) int fd = memfd_create("sonde", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "cannot unpack '%s'", path);

	int r = packed_frames_unpack(path, file, fd, unpack_limit(file.len), err);

	return r < 0 ? r : packed_open_content(path, fd, format, ret, err);
}

int packed_open(const char *path, const char *format, struct input **ret, struct err *err)
{
	_cleanup_(file_unmap) struct view file = { 0 };
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;

	const struct packed_magic *magic = magic_of(file.s, file.len);

	if (!magic)
		return open_frames(path, file, format, ret, err);
	if (magic->kind == PACKED_UNSUPPORTED)
		return err_set(err, -ENOTSUP,
			       "'%s' is compressed with %s, which sonde cannot read: decompress it "
			       "first",
			       path, magic->name);
	return packed_open_archive(path, magic->kind, format, ret, err);
}
