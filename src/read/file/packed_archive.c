/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks archives and compressed files with libarchive, in up to two steps: one
 * filter, chosen by the magic number, decompresses the file; the result is read as an
 * archive or as a single file.  Each step counts the bytes that it produces.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mapping.h"
#include "read/ctf/ctf.h"
#include "read/file/packed.h"
#include "read/file/unpack.h"

#ifdef HAVE_ARCHIVE

#include <archive.h>
#include <archive_entry.h>

enum { FILES_MAX = 50000 }; /* below the kernel's limit of mappings, vm.max_map_count */

struct unpacking {
	const char *path;
	struct archive *filter; /* decompresses the file; NULL if it is not compressed */
	struct unpack_budget filter_budget;
	char block[1 << 16]; /* output of the filter */
	struct archive *archive;
	struct unpack_budget budget; /* of the archive */
	struct file_set files;
	int fd;   /* of the last file */
	int code; /* of the first failure of the filter; err contains its message */
	struct err *err;
};

static void unpacking_done(struct unpacking *u)
{
	archive_read_free(u->archive);
	archive_read_free(u->filter);
	file_set_done(&u->files);
	closep(&u->fd);
}

static int fail(struct unpacking *u, struct archive *archive)
{
	if (u->code < 0)
		return u->code;
	return err_set(u->err, -EBADMSG, "cannot unpack '%s': %s", u->path,
		       archive_error_string(archive) ?: "damaged file");
}

/* Writes the content of an entry to fd, or only counts its bytes if fd is -1. */
static int unpack_content(struct unpacking *u, int fd, uint64_t *ret_size)
{
	char buf[1 << 16];

	*ret_size = 0;
	for (ssize_t n; (n = archive_read_data(u->archive, buf, sizeof(buf))) != 0;) {
		if (n < 0)
			return fail(u, u->archive);
		int code = unpack_budget_take(&u->budget, n, u->err);

		if (code == 0 && fd >= 0)
			code = unpack_write(u->path, fd, buf, n, u->err);
		if (code < 0)
			return code;
		*ret_size += n;
	}
	return 0;
}

static int unpack_file(struct unpacking *u, const char *name)
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
		(struct trace_file){ must_printf("%s/%s", u->path, name), data, size, true };
	closep(&u->fd);
	u->fd = TAKE_FD(fd);
	return 0;
}

/* libarchive skips the content of other entries without counting it, so it is read here. */
static int unpack_entry(struct unpacking *u, struct archive_entry *entry)
{
	uint64_t size;

	if (archive_entry_filetype(entry) == AE_IFREG || !archive_entry_filetype(entry))
		return unpack_file(u, archive_entry_pathname(entry) ?: "?");
	return unpack_content(u, -1, &size);
}

/* Adds the filter; libarchive returns a warning if it would run an external program. */
static int add_filter(struct unpacking *u, enum packed_kind kind)
{
	static const struct {
		int (*support)(struct archive *archive);
		int code;
	} filters[] = {
		[PACKED_GZIP] = { archive_read_support_filter_gzip, ARCHIVE_FILTER_GZIP },
		[PACKED_ZSTD] = { archive_read_support_filter_zstd, ARCHIVE_FILTER_ZSTD },
		[PACKED_XZ] = { archive_read_support_filter_xz, ARCHIVE_FILTER_XZ },
		[PACKED_BZIP2] = { archive_read_support_filter_bzip2, ARCHIVE_FILTER_BZIP2 },
		[PACKED_LZ4] = { archive_read_support_filter_lz4, ARCHIVE_FILTER_LZ4 },
	};

	if (filters[kind].support(u->filter) != ARCHIVE_OK)
		return err_set(u->err, -ENOTSUP,
			       "'%s' is compressed with a method that this libarchive was built "
			       "without: decompress it first",
			       u->path);
	return archive_read_append_filter(u->filter, filters[kind].code) == ARCHIVE_OK
		       ? 0
		       : fail(u, u->filter);
}

static int open_filter(struct unpacking *u, enum packed_kind kind)
{
	struct archive_entry *entry;

	u->filter = archive_read_new();
	archive_read_support_format_raw(u->filter);

	int code = add_filter(u, kind);

	if (code < 0)
		return code;
	if (archive_read_open_filename(u->filter, u->path, sizeof(u->block)) != ARCHIVE_OK ||
	    archive_read_next_header(u->filter, &entry) != ARCHIVE_OK)
		return fail(u, u->filter);
	return 0;
}

static ssize_t read_filter(struct archive *archive, void *arg, const void **ret)
{
	struct unpacking *u = arg;
	ssize_t n = archive_read_data(u->filter, u->block, sizeof(u->block));

	if (n < 0)
		u->code = fail(u, u->filter);
	else
		u->code = unpack_budget_take(&u->filter_budget, n, u->err);
	*ret = u->block;
	return u->code < 0 ? ARCHIVE_FATAL : n;
}

static int open_archive(struct unpacking *u, enum packed_kind kind)
{
	struct stat st;
	int r;

	if (stat(u->path, &st) < 0)
		return err_errno(u->err, "cannot open '%s'", u->path);

	uint64_t limit = unpack_limit(st.st_size);

	u->budget = u->filter_budget = (struct unpack_budget){ u->path, limit, limit };
	u->archive = archive_read_new();
	archive_read_support_format_tar(u->archive);
	archive_read_support_format_zip(u->archive);
	if (kind == PACKED_ARCHIVE) {
		r = archive_read_open_filename(u->archive, u->path, sizeof(u->block));
	} else {
		int code = open_filter(u, kind);

		if (code < 0)
			return code;
		archive_read_support_format_raw(u->archive);
		r = archive_read_open(u->archive, u, NULL, read_filter, NULL);
	}
	return r == ARCHIVE_OK ? 0 : fail(u, u->archive);
}

static int unpack_all(struct unpacking *u, enum packed_kind kind)
{
	struct archive_entry *entry;
	int code = open_archive(u, kind), status = ARCHIVE_OK;

	for (size_t count = 0; code == 0; count++) {
		status = archive_read_next_header(u->archive, &entry);
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			break;
		if (count == FILES_MAX)
			return err_set(u->err, -EFBIG, "cannot unpack '%s': more than %d files",
				       u->path, FILES_MAX);
		code = unpack_entry(u, entry);
	}
	if (code == 0 && status != ARCHIVE_EOF)
		code = fail(u, u->archive);
	return code;
}

static int open_single(struct unpacking *u, const char *format, struct input **ret)
{
	const struct trace_file *file = &u->files.items.items[0];

	if (packed_matches((const char *)file->data, file->size))
		return err_set(u->err, -EBADMSG,
			       "'%s' is compressed more than once: decompress it first", u->path);
	return packed_open_content(u->path, u->fd, format, ret, u->err);
}

int packed_open_archive(const char *path, enum packed_kind kind, const char *format,
			struct input **ret, struct err *err)
{
	_cleanup_(unpacking_done) struct unpacking u = { .path = path, .fd = -1, .err = err };
	int code = unpack_all(&u, kind);

	if (code < 0)
		return code;
	if (ctf_has_trace(&u.files) && (!format || strcmp(format, "ctf") == 0))
		return ctf_open_files(path, &u.files, ret, err);
	if (u.files.items.count == 1)
		return open_single(&u, format, ret);
	return err_set(err, -EBADMSG,
		       "'%s' contains %zu files and no CTF trace: unpack it and pass the files",
		       path, u.files.items.count);
}

#else

int packed_open_archive(const char *path, enum packed_kind kind, const char *format,
			struct input **ret, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "cannot unpack '%s': sonde was built without libarchive (package "
		       "libarchive-dev); unpack it first",
		       path);
}

#endif
