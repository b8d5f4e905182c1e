/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside - a binding is a library of its own, so that what it needs is needed
 * only where its SDK is.  It lies beside the agent where that is installed, and in the
 * folder of its sources in a build.  Once loaded, it stays.
 */
#ifndef SONDE_AGENT_LOAD_BINDING_H
#define SONDE_AGENT_LOAD_BINDING_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A function of the binding, or NULL. */
static inline void *binding_function(const char *folder, const char *library, const char *name)
{
	const char *const folders[] = { "", folder };
	char path[PATH_MAX];
	Dl_info self;

	if (!dladdr((void *)binding_function, &self))
		return NULL;
	const char *slash = strrchr(self.dli_fname, '/');
	int length = slash ? (int)(slash + 1 - self.dli_fname) : 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		int n = snprintf(path, sizeof(path), "%.*s%s%s", length, self.dli_fname, folders[i],
				 library);
		void *binding = n > 0 && n < (int)sizeof(path)
					? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
					: NULL;

		if (binding)
			return dlsym(binding, name);
	}
	return NULL;
}

#endif
