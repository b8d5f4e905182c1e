/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives and compressed files by libarchive, in up to two steps: the file is
 * decompressed by the one filter that its magic number names, and the result is
 * read as an archive, or as a single file.  Both steps count what they produce.
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

enum { FILES = 50000 }; /* as many as can be mapped */

struct unpacking {
	const char *path;
	struct archive *layer; /* decompresses; NULL if the archive is not compressed */
	uint64_t layer_left;   /* bytes that it may still produce */
	char block[1 << 16];   /* of them */
	struct archive *archive;
	uint64_t left;  /* bytes that may still come out of the archive */
	uint64_t limit; /* what left and layer_left began with */
	struct file_set files;
	int fd;   /* of the last file */
	int code; /* of the first failure while decompressing; err has its message */
	struct err *err;
};

static void unpacking_done(struct unpacking *u)
{
	archive_read_free(u->archive);
	archive_read_free(u->layer);
	file_set_done(&u->files);
	closep(&u->fd);
}

static int fail(struct unpacking *u, struct archive *archive)
{
	if (u->code < 0)
		return u->code;
	return err_set(u->err, -EBADMSG, "cannot unpack '%s': %s", u->path,
		       archive_error_string(archive) ?: "it is damaged");
}

static int take(struct unpacking *u, uint64_t *left, size_t size)
{
	if (size > *left)
		return err_set(u->err, -EFBIG,
			       "'%s' unpacks to more than %" PRIu64
			       " MiB, the limit for its size: unpack it and pass the result to "
			       "sonde",
			       u->path, u->limit >> 20);
	*left -= size;
	return 0;
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

/* The rest of an entry, into a file without a name; fd is -1 if it is only to be counted. */
static int unpack_content(struct unpacking *u, int fd, uint64_t *ret_size)
{
	char buf[1 << 16];

	*ret_size = 0;
	for (ssize_t n; (n = archive_read_data(u->archive, buf, sizeof(buf))) != 0;) {
		if (n < 0)
			return fail(u, u->archive);
		if (take(u, &u->left, n) < 0)
			return -EFBIG;
		if (fd >= 0 && write_all(fd, buf, n) < 0)
			return err_errno(u->err, "cannot unpack '%s'", u->path);
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

/* libarchive would skip the content of a directory without counting it. */
static int unpack_entry(struct unpacking *u, struct archive_entry *entry)
{
	uint64_t size;

	if (archive_entry_filetype(entry) == AE_IFREG || !archive_entry_filetype(entry))
		return unpack_file(u, archive_entry_pathname(entry) ?: "?");
	return unpack_content(u, -1, &size);
}

/* Selects the one filter; a warning says that it would be a program. */
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

	if (filters[kind].support(u->layer) != ARCHIVE_OK)
		return err_set(u->err, -ENOTSUP,
			       "'%s' is compressed with a method that this libarchive was built "
			       "without: decompress it first",
			       u->path);
	return archive_read_append_filter(u->layer, filters[kind].code) == ARCHIVE_OK
		       ? 0
		       : fail(u, u->layer);
}

static int open_layer(struct unpacking *u, enum packed_kind kind)
{
	struct archive_entry *entry;

	u->layer = archive_read_new();
	archive_read_support_format_raw(u->layer);

	int code = add_filter(u, kind);

	if (code < 0)
		return code;
	if (archive_read_open_filename(u->layer, u->path, sizeof(u->block)) != ARCHIVE_OK ||
	    archive_read_next_header(u->layer, &entry) != ARCHIVE_OK)
		return fail(u, u->layer);
	return 0;
}

static ssize_t read_layer(struct archive *archive, void *arg, const void **ret)
{
	struct unpacking *u = arg;
	ssize_t n = archive_read_data(u->layer, u->block, sizeof(u->block));

	if (n < 0)
		u->code = fail(u, u->layer);
	else
		u->code = take(u, &u->layer_left, n);
	*ret = u->block;
	return u->code < 0 ? ARCHIVE_FATAL : n;
}

static int open_archive(struct unpacking *u, enum packed_kind kind)
{
	struct stat st;
	int r;

	if (stat(u->path, &st) < 0)
		return err_errno(u->err, "cannot open '%s'", u->path);
	u->left = u->layer_left = u->limit = unpack_limit(st.st_size);
	u->archive = archive_read_new();
	archive_read_support_format_tar(u->archive);
	archive_read_support_format_zip(u->archive);
	if (kind == PACKED_ARCHIVE) {
		r = archive_read_open_filename(u->archive, u->path, sizeof(u->block));
	} else {
		int code = open_layer(u, kind);

		if (code < 0)
			return code;
		archive_read_support_format_raw(u->archive);
		r = archive_read_open(u->archive, u, NULL, read_layer, NULL);
	}
	return r == ARCHIVE_OK ? 0 : fail(u, u->archive);
}

static int unpack(struct unpacking *u, enum packed_kind kind)
{
	struct archive_entry *entry;
	int code = open_archive(u, kind), status = ARCHIVE_OK;

	for (size_t count = 0; code == 0; count++) {
		status = archive_read_next_header(u->archive, &entry);
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			break;
		if (count == FILES)
			return err_set(u->err, -EFBIG, "'%s' has more than %d files", u->path,
				       FILES);
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
	int code = unpack(&u, kind);

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

int packed_open_archive(const char *path, enum packed_kind kind, const char *format,
			struct input **ret, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "'%s' is packed, and sonde was built without libarchive (package "
		       "libarchive-dev): unpack it first",
		       path);
}

#endif
