/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_file - find and open the file behind a mapping.
 *
 * The path of a mapping can lead to a different file: the process is in a
 * container, or a package upgrade has replaced the file.  A wrong function name
 * is worse than none, so the inode number of the file must be that of the
 * mapping.  While the process runs, these are tried in order:
 *
 *	the path itself, if device and inode are those of the mapping
 *	the path under the root directory of the process
 *	/proc/PID/map_files, which works for deleted files, with privileges
 *	/proc/PID/exe, which works for a deleted program without them
 *
 * A file that is reachable by path in our own namespace is not kept open: its
 * inode and time of change are saved, and compared when it is opened at the end of
 * the recording.  Other files are kept open.
 *
 * The device is not compared in the latter cases: on overlayfs and btrfs, stat()
 * and /proc/PID/maps report different devices for the same file.
 *
 * Paths are resolved inside the root of the process (RESOLVE_IN_ROOT), so that no
 * symbolic link leads out of it.  Only regular files are opened, as opening a pipe
 * or a device can have side effects.
 */
#include "record/symbol/internal.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { OPEN_FILES = 400, PATH_ROOM = 4096 };

static bool same_file(struct file_id a, struct file_id b)
{
	return a.device == b.device && a.inode == b.inode;
}

static struct file_id id_of(const struct stat *st)
{
	return (struct file_id){ st->st_dev, st->st_ino };
}

/* The kernel writes a newline in a path as \012, and a backslash as itself. */
static bool unescape(const char *path, char *buf, size_t room)
{
	const char *at = strstr(path, "\\012");

	if (!at || strlen(path) >= room)
		return false;
	for (; at; at = strstr(path, "\\012")) {
		buf = mempcpy(buf, path, at - path);
		*buf++ = '\n';
		path = at + 4;
	}
	strcpy(buf, path);
	return true;
}

/* An O_PATH descriptor of the regular file at a path inside root, or -1. */
static int find_in_root(int root, const char *path, int flags, struct stat *st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT };
	_cleanup_(closep) int fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 || fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		return -1;
	return TAKE_FD(fd);
}

/* Open the file of an O_PATH descriptor for reading. */
static int reopen(int path_fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* Like open(), but only for a regular file with this inode number; otherwise -1. */
static int open_inode(const char *path, ino_t inode)
{
	struct stat st;
	_cleanup_(closep) int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != inode)
		return -1;
	return reopen(fd);
}

static nsec_t changed(const struct stat *st)
{
	return st->st_ctim.tv_sec * NSEC_PER_SEC + st->st_ctim.tv_nsec;
}

static void set_found(struct module *mod, const struct stat *st)
{
	mod->found = id_of(st);
	mod->changed = changed(st);
}

static bool find_by_own_path(struct module *mod, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !same_file(id_of(&st), mod->mapped))
		return false;
	set_found(mod, &st);
	return true;
}

static bool find_in_process_root(struct module *mod, const char *path, uint32_t pid)
{
	char name[64];
	struct stat st, own;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/root", pid);
	_cleanup_(closep) int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	_cleanup_(closep) int fd = find_in_root(root, path, 0, &st);
	if (fd < 0 || st.st_ino != mod->mapped.inode)
		return false;
	set_found(mod, &st);
	if (stat(path, &own) != 0 || !same_file(id_of(&own), mod->found))
		mod->fd = reopen(fd);
	return true;
}

static bool find_by_mapping(struct module *mod, uint32_t pid, const struct mapping *map)
{
	char name[96];

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		 map->start, map->end);
	mod->fd = open_inode(name, mod->mapped.inode);
	if (mod->fd < 0) {
		snprintf(name, sizeof(name), "/proc/%" PRIu32 "/exe", pid);
		mod->fd = open_inode(name, mod->mapped.inode);
	}
	return mod->fd >= 0;
}

static void find_file(struct module *mod, uint32_t pid, const struct mapping *map)
{
	char plain[PATH_ROOM];
	bool escaped = unescape(mod->name, plain, sizeof(plain));

	if (!mod->deleted) {
		if (find_by_own_path(mod, mod->name) || find_in_process_root(mod, mod->name, pid))
			return;
		if (escaped &&
		    (find_by_own_path(mod, plain) || find_in_process_root(mod, plain, pid)))
			return;
	}
	find_by_mapping(mod, pid, map);
}

/* The pid of a process in its own PID namespace, which is in the name of its perf map. */
static uint32_t own_pid(int proc)
{
	_cleanup_(closep) int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	char *last = strrchr(line, '\t');
	return last ? strtoul(last, NULL, 10) : 0;
}

/*
 * Like perf, accept only files of the process's user and of root.  Do not follow a symbolic link:
 * it could lead to a file that only root may read.
 */
static int open_perfmap(int proc)
{
	char path[64];
	struct stat owner, st;
	_cleanup_(closep) int root = openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint32_t pid = own_pid(proc);

	if (root < 0 || pid == 0 || fstat(proc, &owner) != 0)
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	_cleanup_(closep) int fd = find_in_root(root, path, O_NOFOLLOW, &st);
	if (fd < 0 || (st.st_uid != 0 && st.st_uid != owner.st_uid))
		return -1;
	return reopen(fd);
}

static void find_perfmap(struct module *mod)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, mod->pid);
	mod->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mod->proc >= 0)
		mod->fd = open_perfmap(mod->proc);
}

/* All processes have the same vDSO image, so use our own. */
static int open_vdso(void)
{
	const Elf64_Ehdr *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!image || sizeof(void *) != 8)
		return -1;
	size_t size = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	_cleanup_(closep) int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		return -1;
	return TAKE_FD(fd);
}

static int open_again(const struct module *mod, const char *path)
{
	struct stat st;
	_cleanup_(closep) int fd = open_inode(path, mod->found.inode);

	if (fd < 0 || fstat(fd, &st) != 0 || !same_file(id_of(&st), mod->found) ||
	    changed(&st) != mod->changed)
		return -1;
	return TAKE_FD(fd);
}

int module_open(const struct module *mod)
{
	char plain[PATH_ROOM];
	int fd = -1;

	if (mod->kind == MODULE_VDSO)
		return open_vdso();
	if (mod->kind == MODULE_JIT && mod->proc >= 0)
		fd = open_perfmap(mod->proc); /* it may have been replaced */
	if (fd < 0 && mod->fd >= 0)
		fd = fcntl(mod->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 && mod->kind == MODULE_FILE && mod->found.inode != 0) {
		fd = open_again(mod, mod->name);
		if (fd < 0 && unescape(mod->name, plain, sizeof(plain)))
			fd = open_again(mod, plain);
	}
	return fd;
}

int module_open_mapped(const struct module *like, uint32_t pid, const struct mapping *map)
{
	struct module mod = *like;

	mod.fd = mod.proc = -1;
	find_file(&mod, pid, map);

	int fd = module_open(&mod);

	closep(&mod.fd);
	return fd;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* If the file cannot be opened, assume a program, except for memory files. */
static bool is_program(const struct module *mod)
{
	_cleanup_(closep) int fd = module_open(mod);

	return fd >= 0 ? is_elf(fd) : strncmp(mod->name, "/memfd:", 7) != 0;
}

void module_find_file(struct modules *mods, uint32_t module, uint32_t pid,
		      const struct mapping *map)
{
	struct module *mod = &mods->list.items[module];

	if (mod->searched)
		return;
	mod->searched = true;
	if (mods->open_files >= OPEN_FILES)
		return;
	if (mod->kind == MODULE_JIT)
		find_perfmap(mod);
	else if (mod->kind == MODULE_FILE)
		find_file(mod, pid, map);
	mods->open_files += (mod->fd >= 0) + (mod->proc >= 0);
	if (mod->kind == MODULE_FILE && !is_program(mod))
		mod->kind = MODULE_DATA;
}
