/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_file - the file that a mapping is of.
 *
 * A mapping has a path, but the path may lead elsewhere: the process lives in
 * a container, or a package upgrade has put a new file there.  A wrong name is
 * worse than none, so a file is taken only if its inode number is that of the
 * mapping.  These ways are tried, while the process lives:
 *
 *	the path itself, if device and inode are those of the mapping
 *	the path under the root directory of the process
 *	/proc/PID/map_files, which works for deleted files, with privileges
 *	/proc/PID/exe, which works for a deleted program without them
 *
 * A file that our own path leads to is not kept open: its number and the time
 * of its last change are noted, and checked when it is opened again in the end.
 * Others are held open.
 *
 * The device is compared only where it can be: on overlayfs and btrfs, stat()
 * and /proc/PID/maps tell different ones for the same file.
 *
 * Paths are followed inside the root of the process (RESOLVE_IN_ROOT), so that
 * no symbolic link leads out of it, and what is found is opened only if it is
 * a regular file: a pipe or a device would not stand being read by us.
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

/* A regular file at path inside root, as O_PATH: looked at, not yet opened. */
static int look_in_root(int root, const char *path, int flags, struct stat *st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT };
	_cleanup_(closep) int fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 || fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		return -1;
	return TAKE_FD(fd);
}

static int reopen(int looked_at)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", looked_at);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* As open(), but only a regular file with this inode number; -1 if it is not. */
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

static bool seek_own_path(struct module *mod, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !same_file(id_of(&st), mod->mapped))
		return false;
	set_found(mod, &st);
	return true;
}

static bool seek_in_root(struct module *mod, const char *path, uint32_t pid)
{
	char name[64];
	struct stat st, own;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/root", pid);
	_cleanup_(closep) int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	_cleanup_(closep) int fd = look_in_root(root, path, 0, &st);
	if (fd < 0 || st.st_ino != mod->mapped.inode)
		return false;
	set_found(mod, &st);
	if (stat(path, &own) != 0 || !same_file(id_of(&own), mod->found))
		mod->fd = reopen(fd);
	return true;
}

static bool seek_mapped(struct module *mod, uint32_t pid, const struct mapping *map)
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

static void seek_file(struct module *mod, uint32_t pid, const struct mapping *map)
{
	char plain[PATH_ROOM];
	bool escaped = unescape(mod->name, plain, sizeof(plain));

	if (!mod->deleted) {
		if (seek_own_path(mod, mod->name) || seek_in_root(mod, mod->name, pid))
			return;
		if (escaped && (seek_own_path(mod, plain) || seek_in_root(mod, plain, pid)))
			return;
	}
	seek_mapped(mod, pid, map);
}

/* The number of a process in its own namespace, which is what it names its perf map by. */
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
 * As perf does, believe only the process itself, and root.  A link to a file of root's would be
 * read with our rights.
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
	_cleanup_(closep) int fd = look_in_root(root, path, O_NOFOLLOW, &st);
	if (fd < 0 || (st.st_uid != 0 && st.st_uid != owner.st_uid))
		return -1;
	return reopen(fd);
}

static void seek_jit(struct module *mod)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, mod->pid);
	mod->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mod->proc >= 0)
		mod->fd = open_perfmap(mod->proc);
}

/* The kernel gives every process the same image: take our own. */
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

int file_open(const struct module *mod)
{
	char plain[PATH_ROOM];
	int fd = -1;

	if (mod->kind == MODULE_VDSO)
		return open_vdso();
	if (mod->kind == MODULE_JIT && mod->proc >= 0)
		fd = open_perfmap(mod->proc); /* grown since, or written anew */
	if (fd < 0 && mod->fd >= 0)
		fd = fcntl(mod->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 && mod->kind == MODULE_FILE && mod->found.inode != 0) {
		fd = open_again(mod, mod->name);
		if (fd < 0 && unescape(mod->name, plain, sizeof(plain)))
			fd = open_again(mod, plain);
	}
	return fd;
}

int file_open_mapped(const struct module *like, uint32_t pid, const struct mapping *map)
{
	struct module mod = *like;

	mod.fd = mod.proc = -1;
	seek_file(&mod, pid, map);

	int fd = file_open(&mod);

	closep(&mod.fd);
	return fd;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* If it cannot be seen, a file in memory is hardly one, and any other hardly not. */
static bool is_program(const struct module *mod)
{
	_cleanup_(closep) int fd = file_open(mod);

	return fd >= 0 ? is_elf(fd) : strncmp(mod->name, "/memfd:", 7) != 0;
}

void file_seek(struct modules *mods, uint32_t module, uint32_t pid, const struct mapping *map)
{
	struct module *mod = &mods->list.items[module];

	if (mod->sought)
		return;
	mod->sought = true;
	if (mods->open_files >= OPEN_FILES)
		return;
	if (mod->kind == MODULE_JIT)
		seek_jit(mod);
	else if (mod->kind == MODULE_FILE)
		seek_file(mod, pid, map);
	mods->open_files += (mod->fd >= 0) + (mod->proc >= 0);
	if (mod->kind == MODULE_FILE && !is_program(mod))
		mod->kind = MODULE_DATA;
}
