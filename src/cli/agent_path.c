/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is found relative to the program, so that a build works in its
 * directory and an installation can be moved.
 */
#include "cli/agent_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/base.h"

/* Relative to the directory of the program: in a build, and installed. */
static const char *const candidates[] = {
	"src/agent/libsonde-agent.so",
	SONDE_LIBDIR_FROM_BINDIR "/libsonde-agent.so",
};

int agent_path_find(char **ret, struct err *err)
{
	char program[PATH_MAX], full[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n < 0)
		return err_errno(err, "cannot read '/proc/self/exe'");
	program[n] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
		_cleanup_(freep) char *path = must_printf("%s/%s", program, candidates[i]);

		if (!realpath(path, full))
			continue;
		/* both separate names in LD_PRELOAD */
		if (strpbrk(full, ": "))
			return err_set(err, -EINVAL,
				       "cannot preload '%s': its path contains a space or a colon",
				       full);
		*ret = must_strdup(full);
		return 0;
	}
	return err_set(err, -ENOENT, "cannot find libsonde-agent.so for '%s/sonde'", program);
}
