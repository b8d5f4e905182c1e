/* SPDX-License-Identifier: Apache-2.0 */
#include "read/packed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mapping.h"
#include "read/ctf.h"
#include "read/packed_frames.h"

#ifdef HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

enum { FILES = 50000 }; /* as many as can be mapped */

bool packed_is_one(const char *head, size_t size)
{
	static const struct {
		size_t at, size;
		const char *bytes;
	} marks[] = {
		{ 0, 2, "\x1f\x8b" },         /* gzip */
		{ 0, 4, "\x28\xb5\x2f\xfd" }, /* zstd */
		{ 0, 6,
		  "\xfd"
		  "7zXZ" }, /* xz, with its NUL */
		{ 0, 3, "BZh" },
		{ 0, 4, "\x04\x22\x4d\x18" }, /* lz4 */
		{ 0, 4, "PK\3\4" },           /* zip */
		{ 257, 5, "ustar" },
	};

	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (size >= marks[i].at + marks[i].size &&
		    memcmp(head + marks[i].at, marks[i].bytes, marks[i].size) == 0)
			return true;
	return packed_frames_is_one(head, size);
}

/* The text with every `from` in it replaced, which stands for `to`. */
static char *with_name(const char *text, const char *from, const char *to)
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

/* Reads what came out, as if it had been given; but messages name the packed one. */
static int open_unpacked(const char *path, int fd, const char *format, struct input **ret,
			 struct err *err)
{
	_cleanup_(freep) char *unpacked = must_printf("/proc/self/fd/%d", fd);
	int code = input_open(unpacked, format, ret, err);

	if (code < 0) {
		_cleanup_(freep) char *text = with_name(err->text, unpacked, path);

		snprintf(err->text, sizeof(err->text), "%s", text);
	} else if ((*ret)->notice) {
		_cleanup_(freep) char *before = (*ret)->notice;

		(*ret)->notice = with_name(before, unpacked, path);
	}
	return code;
}

/* How many bytes may come out of a file of that size. */
static uint64_t limit_of(uint64_t size)
{
	return size < PACKED_ROOM / PACKED_RATIO ? PACKED_ROOM : size * PACKED_RATIO;
}

/* 1 if it is none of these. */
static int open_frames(const char *path, const char *format, struct input **ret, struct err *err)
{
	_cleanup_(file_unmap) struct view file = { 0 };
	_cleanup_(closep) int fd = -1;
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;
	if (!packed_frames_is_one(file.s, file.len))
		return 1;
	fd = memfd_create("sonde", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "cannot unpack '%s'", path);
	r = packed_frames_unpack(path, file, fd, limit_of(file.len), err);
	return r < 0 ? r : open_unpacked(path, fd, format, ret, err);
}

#ifdef HAVE_ARCHIVE

struct unpacking {
	const char *path;
	struct archive *archive;
	struct file_set files;
	int fd;        /* of the last file */
	uint64_t left; /* bytes that may come out yet */
	uint64_t limit;
	struct err *err;
};

static void unpacking_done(struct unpacking *u)
{
	archive_read_free(u->archive);
	file_set_done(&u->files);
	closep(&u->fd);
}

static int fail(struct unpacking *u)
{
	return err_set(u->err, -EBADMSG, "cannot unpack '%s': %s", u->path,
		       archive_error_string(u->archive) ?: "it is damaged");
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			return -errno;
		data += n;
		size -= n;
	}
	return 0;
}

/* The rest of an entry, into a file without a name. */
static int unpack_content(struct unpacking *u, int fd, uint64_t *ret_size)
{
	char buf[1 << 16];

	*ret_size = 0;
	for (ssize_t n; (n = archive_read_data(u->archive, buf, sizeof(buf))) != 0;) {
		if (n < 0)
			return fail(u);
		if ((uint64_t)n > u->left)
			return err_set(u->err, -EFBIG,
				       "'%s' unpacks to more than %" PRIu64
				       " MiB: unpack it and name what came out",
				       u->path, u->limit >> 20);
		u->left -= n;
		if (write_all(fd, buf, n) < 0)
			return err_errno(u->err, "cannot unpack '%s'", u->path);
		*ret_size += n;
	}
	return 0;
}

static int unpack_entry(struct unpacking *u, const char *name)
{
	_cleanup_(closep) int fd = memfd_create("sonde", MFD_CLOEXEC);
	uint64_t size;

	if (fd < 0)
		return err_errno(u->err, "cannot unpack '%s'", u->path);

	int code = unpack_content(u, fd, &size);

	if (code < 0 || size == 0)
		return code;

	void *data = mapping_new(fd, size, PROT_READ, MAP_SHARED, u->path);

	if (!data)
		return err_errno(u->err, "cannot unpack '%s'", u->path);
	*vec_push(&u->files.items) =
		(struct file){ must_printf("%s/%s", u->path, name), data, size, true };
	closep(&u->fd);
	u->fd = TAKE_FD(fd);
	return 0;
}

static int open_archive(struct unpacking *u)
{
	struct stat st;

	u->archive = archive_read_new();
	archive_read_support_filter_all(u->archive);
	archive_read_support_format_tar(u->archive);
	archive_read_support_format_zip(u->archive);
	archive_read_support_format_raw(u->archive);
	if (stat(u->path, &st) < 0)
		return err_errno(u->err, "cannot open '%s'", u->path);
	u->left = u->limit = limit_of(st.st_size);
	return archive_read_open_filename(u->archive, u->path, 1 << 16) == ARCHIVE_OK ? 0 : fail(u);
}

static int unpack(struct unpacking *u)
{
	struct archive_entry *entry;
	int code = open_archive(u), status = ARCHIVE_OK;

	for (size_t count = 0; code == 0; count++) {
		status = archive_read_next_header(u->archive, &entry);
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			break;
		if (count == FILES)
			return err_set(u->err, -EFBIG, "'%s' has more than %d files", u->path,
				       FILES);
		if (archive_entry_filetype(entry) == AE_IFREG || !archive_entry_filetype(entry))
			code = unpack_entry(u, archive_entry_pathname(entry) ?: "?");
	}
	if (code == 0 && status != ARCHIVE_EOF)
		code = fail(u);
	return code;
}

static int open_single(struct unpacking *u, const char *format, struct input **ret)
{
	const struct file *file = &u->files.items.items[0];

	if (packed_is_one((const char *)file->data, file->size))
		return err_set(u->err, -EBADMSG, "'%s' is packed twice: unpack it first", u->path);
	return open_unpacked(u->path, u->fd, format, ret, u->err);
}

static int open_archived(const char *path, const char *format, struct input **ret, struct err *err)
{
	_cleanup_(unpacking_done) struct unpacking u = { .path = path, .fd = -1, .err = err };
	int code = unpack(&u);

	if (code < 0)
		return code;
	if (ctf_has_trace(&u.files) && (!format || strcmp(format, "ctf") == 0))
		return ctf_open_files(path, &u.files, ret, err);
	if (u.files.items.count == 1)
		return open_single(&u, format, ret);
	return err_set(err, -EBADMSG,
		       "'%s' holds %zu files and no CTF trace: unpack it and name them", path,
		       u.files.items.count);
}

#else

static int open_archived(const char *path, const char *format, struct input **ret, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "'%s' is packed, and sonde was built without libarchive (package "
		       "libarchive-dev): unpack it first",
		       path);
}

#endif

int packed_open(const char *path, const char *format, struct input **ret, struct err *err)
{
	int r = open_frames(path, format, ret, err);

	return r > 0 ? open_archived(path, format, ret, err) : r;
}
