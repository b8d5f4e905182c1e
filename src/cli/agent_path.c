/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is looked for from where this program is, so that a build can be
 * used in place and an installation can be moved.
 */
#include "cli/agent_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/base.h"

/* From the folder of the program: in a build, and where it is installed. */
static const char *const places[] = {
	"src/agent/libsonde-agent.so",
	SONDE_LIBDIR_FROM_BINDIR "/libsonde-agent.so",
};

int agent_path_find(char **ret, struct err *err)
{
	char program[PATH_MAX], full[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n < 0)
		return err_errno(err, "cannot tell where sonde is");
	program[n] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		_cleanup_(freep) char *path = must_printf("%s/%s", program, places[i]);

		if (!realpath(path, full))
			continue;
		/* the loader takes both for the end of a name */
		if (strpbrk(full, ": "))
			return err_set(err, -EINVAL,
				       "'%s' cannot be preloaded: its path has a blank or a colon",
				       full);
		*ret = must_strdup(full);
		return 0;
	}
	return err_set(err, -ENOENT, "there is no libsonde-agent.so for '%s/sonde'", program);
}
