/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: requests that were compressed one by one.  The output never exceeds the limit, or
 * there is a message.
 */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "read/file/packed_frames.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum { LIMIT = 1 << 20 };
	struct bytes given = { (uint8_t *)bytes, size };
	_cleanup_(bytes_done) struct bytes copy = bytes_copy(&given, size);
	struct view file = { (const char *)copy.data, size };
	_cleanup_(closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t heads = 5 * (size / 4 + 1); /* a length for each request, and a newline */
	struct err err = { "" };
	struct stat stat;

	if (!packed_frames_matches(file.s, file.len))
		return 0;
	if (packed_frames_unpack("fuzz", file, fd, LIMIT, &err) < 0)
		assert(strstr(err.text, "'fuzz'"));
	else
		assert(!*err.text);
	assert(fstat(fd, &stat) == 0 && (size_t)stat.st_size <= LIMIT + heads);
	return 0;
}
