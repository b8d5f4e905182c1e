/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file that a process has loaded.  The values read from it must be within bounds. */
#include <assert.h>
#include <sys/mman.h>

#include "record/tls/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static int fd = -1;
	struct tls_process process = { .mem = -1, .loader = TLS_LOADER_GLIBC };
	struct map none = { 0 };
	struct tls_object object;
	struct tls_location location;
	struct err err;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, input, size, 0) != (ssize_t)size)
		return 0;
	process.files = &none;
	tls_object_read(fd, &object);
	if (!object.defines)
		return 0;
	assert(!object.foreign && object.value <= object.block_size);
	if (tls_slot_resolve(&process, &object, 0, &location, &err) == 0)
		assert(object.executable && location.wire.offset < 0);
	return 0;
}
