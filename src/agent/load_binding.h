/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_binding - load the binding for an SDK.
 *
 * Each binding is a library of its own, so that its dependencies are needed only in
 * processes that use the SDK.  It is installed beside the agent; in a build it is in the
 * folder of its sources.  A loaded binding is never unloaded.
 */
#ifndef SONDE_AGENT_LOAD_BINDING_H
#define SONDE_AGENT_LOAD_BINDING_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Find a function of the binding; NULL if it cannot be loaded. */
static inline void *binding_symbol(const char *folder, const char *library, const char *name)
{
	const char *const folders[] = { "", folder };
	char path[PATH_MAX];
	Dl_info self;

	if (!dladdr((void *)binding_symbol, &self))
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
