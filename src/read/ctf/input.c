/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_input - the input format "ctf": detects and opens CTF directories.
 *
 * The built-in decoder reads all traces of LTTng and many others.  Traces with features
 * that it does not support are read through libbabeltrace2, if sonde was built with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "read/ctf/ctf.h"
#include "read/ctf/babeltrace.h"
#include "read/ctf/lexer.h"
#include "read/raw/input.h"

enum {
	DEPTH = 8,          /* maximum depth of a trace below the directory */
	DIRECTORIES = 4096, /* maximum number of directories searched */
};

struct trace_search {
	struct file_set *files; /* NULL to search only for the existence of a trace */
	unsigned left;          /* number of directories left to search */
	bool found;
	struct err *err;
};

static bool has_metadata(const char *path)
{
	_cleanup_(freep) char *name = must_printf("%s/metadata", path);
	_cleanup_(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[64];
	ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof(head));

	return size > 0 && ctf_is_metadata(head, size);
}

static int search_directory(struct trace_search *s, const char *path, unsigned depth);

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int search_subdirectories(struct trace_search *s, const char *path, unsigned depth)
{
	_cleanup_(closedirp) DIR *dir = opendir(path);
	int code = 0;

	for (struct dirent *e; dir && code == 0 && (e = readdir(dir));) {
		_cleanup_(freep) char *name = must_printf("%s/%s", path, e->d_name);
		struct stat st;

		if (e->d_name[0] != '.' && lstat(name, &st) == 0 && S_ISDIR(st.st_mode))
			code = search_directory(s, name, depth + 1);
	}
	return code;
}

static int search_directory(struct trace_search *s, const char *path, unsigned depth)
{
	if (s->left == 0 || depth > DEPTH || (s->found && !s->files))
		return 0;
	s->left--;
	if (!has_metadata(path))
		return search_subdirectories(s, path, depth);
	s->found = true;
	return s->files ? file_set_map(s->files, path, s->err) : 0;
}

int ctf_find_traces(const char *path, struct file_set *ret, struct err *err)
{
	struct trace_search s = { .files = ret, .left = DIRECTORIES, .err = err };

	return search_directory(&s, path, 0);
}

static bool ctf_is_dir(const char *path)
{
	struct trace_search s = { .left = DIRECTORIES };

	search_directory(&s, path, 0);
	return s.found;
}

static int fail_version_2(const char *name, struct err *err)
{
	return err_set(err, -EPROTONOSUPPORT,
		       "'%s' is a CTF 2 trace, which sonde cannot read: convert it to CTF 1.8 with "
		       "Babeltrace 2.1 or later: babeltrace2 '%s' --component=sink.ctf.fs "
		       "--params='path=\"OUT\",ctf-version=\"1\"'",
		       name, name);
}

/* Returns -ENOTSUP or -EPROTONOSUPPORT if libbabeltrace2 can possibly read the files. */
static int open_files(const char *name, struct file_set *files, struct input **ret, struct err *err)
{
	struct raw_source *source = NULL;
	int code = ctf_source_new(name, files, &source, err);

	if (code < 0)
		return code;
	*ret = raw_input_new(&ctf_format, source);
	ctf_source_meta(source, &(*ret)->meta);
	return 0;
}

int ctf_open_files(const char *name, struct file_set *files, struct input **ret, struct err *err)
{
	int code = open_files(name, files, ret, err);

	return code == -EPROTONOSUPPORT ? fail_version_2(name, err) : code;
}

static int ctf_open(const char *path, struct input **ret, struct err *err)
{
	_cleanup_(file_set_done) struct file_set files = { 0 };
	struct raw_source *source = NULL;
	int code = ctf_find_traces(path, &files, err);

	if (code == 0)
		code = open_files(path, &files, ret, err);
	if (code != -ENOTSUP && code != -EPROTONOSUPPORT)
		return code;

	bool is_version_2 = code == -EPROTONOSUPPORT;

	code = ctf_babeltrace_new(path, &source, err);
	if (code == 0)
		*ret = raw_input_new(&ctf_format, source);
	return code < 0 && is_version_2 ? fail_version_2(path, err) : code;
}

const struct input_format ctf_format = {
	.name = "ctf",
	.matches_dir = ctf_is_dir,
	.open = ctf_open,
	.next = raw_input_next,
	.string = raw_input_string,
	.free = raw_input_free,
};
