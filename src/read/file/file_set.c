/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/file_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapping.h"

void file_set_done(struct file_set *set)
{
	for (size_t i = 0; i < set->items.count; i++) {
		struct trace_file *f = &set->items.items[i];

		if (f->is_mapped)
			mapping_free(f->data, f->size);
		else
			free(f->data);
		free(f->name);
	}
	vec_done(&set->items);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Ignores empty files and anything but regular files. */
static int map_file(struct file_set *set, const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;

	void *data = mapping_new(fd, st.st_size, PROT_READ, MAP_PRIVATE, path);

	if (!data)
		return err_errno(err, "cannot map '%s'", path);
	*vec_push(&set->items) = (struct trace_file){ must_strdup(path), data, st.st_size, true };
	return 0;
}

int file_set_map(struct file_set *set, const char *path, struct err *err)
{
	_cleanup_(closedirp) DIR *dir = opendir(path);
	int code = 0;

	if (!dir)
		return err_errno(err, "cannot open '%s'", path);
	for (struct dirent *e; code == 0 && (e = readdir(dir));) {
		_cleanup_(freep) char *name = must_printf("%s/%s", path, e->d_name);

		if (e->d_name[0] != '.')
			code = map_file(set, name, err);
	}
	return code;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct trace_file *)a)->name, ((const struct trace_file *)b)->name);
}

void file_set_sort(struct file_set *set)
{
	if (set->items.count)
		qsort(set->items.items, set->items.count, sizeof(set->items.items[0]),
		      compare_names);
}
