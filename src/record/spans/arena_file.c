/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/arena_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mapping.h"

uint64_t arena_file_device(void)
{
	_cleanup_(closep) int fd = memfd_create("sonde", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

int arena_file_identify(int fd, uint64_t device, uint64_t *ret_inode)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE | STATX_INO,
		  &st) < 0)
		return -errno;
	if (makedev(st.stx_dev_major, st.stx_dev_minor) != device || !S_ISREG(st.stx_mode) ||
	    st.stx_size != sizeof(struct span_arena))
		return -EBADMSG;
	*ret_inode = st.stx_ino;
	return 0;
}

int arena_file_open(int fd, uint64_t device)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	uint64_t inode;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	_cleanup_(closep) int own = open(path, O_RDWR | O_CLOEXEC);

	if (own < 0)
		return -errno;

	int seals = fcntl(own, F_GET_SEALS);

	if (seals < 0 || (seals & wanted) != wanted)
		return -EBADMSG;

	int r = arena_file_identify(own, device, &inode);

	return r < 0 ? r : TAKE_FD(own);
}

int arena_file_map_open(int own, struct span_arena **ret)
{
	struct span_arena *arena =
		mapping_new(own, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED, NULL);

	if (!arena)
		return -errno;
	if (memcmp(arena->magic, SPAN_ARENA_MAGIC, sizeof(arena->magic)) != 0 ||
	    arena->version != SPAN_ARENA_VERSION) {
		arena_file_unmap(arena);
		return -EBADMSG;
	}
	*ret = arena;
	return 0;
}

void arena_file_unmap(struct span_arena *arena)
{
	mapping_free(arena, sizeof(*arena));
}

int arena_file_map(int fd, uint64_t device, struct span_arena **ret)
{
	uint64_t inode;
	int r = arena_file_identify(fd, device, &inode);
	_cleanup_(closep) int own = r < 0 ? r : arena_file_open(fd, device);

	return own < 0 ? own : arena_file_map_open(own, ret);
}
