/* SPDX-License-Identifier: Apache-2.0 */
/* host LIBRARY... - a program without SDK: runs each library, then lists its own resources. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

static void list(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	printf("%s: %d\n", path, count);
}

/* Print the path of each mapping. */
static void maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char name[4096];

	while (file && fscanf(file, "%*s %*s %*s %*s %*s%4095[^\n]", name) >= 0)
		puts(name);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		int (*run)(void) = library ? (int (*)(void))dlsym(library, "plugin_run") : NULL;

		if (!run || run()) {
			fprintf(stderr, "%s: %s\n", argv[i], run ? "failed" : dlerror());
			return 1;
		}
		dlclose(library);
	}
	list("/proc/self/fd");
	list("/proc/self/task");
	maps();
	return 0;
}
