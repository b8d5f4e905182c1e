/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapping.h"

int file_map(const char *path, struct view *ret, struct err *err)
{
	/* O_NONBLOCK: opening a pipe must not wait for its other end */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "'%s' is no regular file", path);
	if (st.st_size == 0) {
		*ret = (struct view){ "", 0 };
		return 0;
	}

	void *data = mapping_new(fd, st.st_size, PROT_READ, MAP_PRIVATE, path);

	if (!data)
		return err_errno(err, "cannot map '%s'", path);
	*ret = (struct view){ data, st.st_size };
	return 0;
}

void file_unmap(struct view *view)
{
	if (view->len)
		mapping_free((void *)view->s, view->len);
	*view = (struct view){ 0 };
}
