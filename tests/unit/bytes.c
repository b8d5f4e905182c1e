/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "event/capture_format.h"

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	abort();
}

struct bytes bytes_read(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	must(fd >= 0 && fstat(fd, &st) == 0, path);
	struct bytes bytes = { must_alloc(st.st_size + 1), st.st_size };

	must(read(fd, bytes.data, bytes.size) == (ssize_t)bytes.size, path);
	return bytes;
}

/* Of exactly this size, so that a sanitizer detects a read past the end. */
struct bytes bytes_copy(const struct bytes *from, size_t size)
{
	struct bytes bytes = { must_alloc(size ? size : 1), size };

	memcpy(bytes.data, from->data, size < from->size ? size : from->size);
	return bytes;
}

void bytes_write(const struct bytes *bytes, const char *path)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd >= 0 && write(fd, bytes->data, bytes->size) == (ssize_t)bytes->size, path);
}

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
}

static size_t header_size(const struct bytes *bytes)
{
	struct file_header h = { 0 };

	memcpy(&h, bytes->data, bytes->size < sizeof(h) ? bytes->size : sizeof(h));
	return h.size >= sizeof(h) + 8 && h.size <= bytes->size && h.size % BLOCK_ALIGN == 0
		       ? h.size
		       : bytes->size;
}

/* The offset of the block after the one at this offset, if that is complete. */
static size_t next_offset(const struct bytes *bytes, size_t at)
{
	struct block_header h;
	size_t left = bytes->size - at;

	if (left < sizeof(h))
		return bytes->size;
	memcpy(&h, bytes->data + at, sizeof(h));
	left -= sizeof(h);
	return h.size > left || capture_padded(h.size) > left
		       ? bytes->size
		       : at + sizeof(h) + capture_padded(h.size);
}

size_t bytes_block(const struct bytes *bytes, unsigned n)
{
	size_t at = header_size(bytes);

	while (n-- > 0 && at < bytes->size)
		at = next_offset(bytes, at);
	return at;
}

void bytes_seal(struct bytes *bytes)
{
	size_t at = header_size(bytes);
	struct block_header h;

	if (at >= sizeof(struct file_header) + 8) {
		uint64_t checksum = XXH3_64bits(bytes->data, at - 8);

		memcpy(bytes->data + at - 8, &checksum, 8);
	}
	for (size_t next; bytes->size - at >= sizeof(h); at = next) {
		memcpy(&h, bytes->data + at, sizeof(h));
		next = next_offset(bytes, at);
		if (next - at == sizeof(h) + capture_padded(h.size))
			h.payload_checksum =
				XXH3_64bits(bytes->data + at + sizeof(h), capture_padded(h.size));
		h.checksum = block_checksum(&h);
		memcpy(bytes->data + at, &h, sizeof(h));
	}
}
