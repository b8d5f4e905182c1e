/* SPDX-License-Identifier: Apache-2.0 */
#include "record/scope.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/vec.h"
#include "record/proc_process.h"

enum { TCP_STATE_LISTEN = 10 };

#define PF_EXITING 0x4 /* task_struct.flags in the kernel */

struct process_parent {
	uint32_t pid, parent;
};

struct tcp_socket {
	uint64_t inode;
	uint16_t port;
	bool listens;
};

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

void scope_done(struct scope *scope)
{
	map_done(&scope->pids);
	map_done(&scope->ports);
}

static bool in_scope(const struct scope *scope, uint32_t pid)
{
	return map_find(&scope->pids, pid) != NULL;
}

/* From /proc/PID/stat; false if the process is gone. */
static bool read_stat(uint32_t pid, uint32_t *ret_parent, uint32_t *ret_flags)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	/* the command name can contain parentheses: search for the last one */
	return file && fgets(line, sizeof(line), file) && strrchr(line, ')') &&
	       sscanf(strrchr(line, ')'), ") %*c %" SCNu32 " %*d %*d %*d %*d %" SCNu32, ret_parent,
		      ret_flags) == 2;
}

static uint32_t parent_of(uint32_t pid)
{
	uint32_t parent, flags;

	return read_stat(pid, &parent, &flags) ? parent : 0;
}

bool scope_is_exiting(uint32_t pid)
{
	uint32_t parent, flags;

	return !read_stat(pid, &parent, &flags) || flags & PF_EXITING;
}

/* A parent can follow its children in /proc: repeat until no process is added. */
bool scope_add_descendants(struct scope *scope)
{
	size_t first = scope->pids.count;
	_cleanup_(closedirp) DIR *proc = opendir("/proc");
	VEC(struct process_parent) all = { 0 };
	size_t before;

	for (uint32_t pid; proc && (pid = proc_next_process(proc));)
		*vec_push(&all) = (struct process_parent){ pid, parent_of(pid) };
	do {
		before = scope->pids.count;
		for (size_t i = 0; i < all.count; i++)
			if (in_scope(scope, all.items[i].parent))
				map_insert(&scope->pids, all.items[i].pid);
	} while (scope->pids.count > before);
	vec_done(&all);
	return scope->pids.count > first;
}

int scope_add_pid(struct scope *scope, uint32_t pid, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (access(path, F_OK) < 0)
		return err_set(err, -ESRCH, "there is no process %u", pid);
	map_insert(&scope->pids, pid);
	scope_add_descendants(scope);
	return 0;
}

typedef VEC(struct tcp_socket) tcp_sockets;

static void read_tcp_sockets(const char *path, tcp_sockets *sockets)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned int port, state;
		unsigned long inode;

		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %lu", &port,
			   &state, &inode) == 3)
			*vec_push(sockets) =
				(struct tcp_socket){ inode, port, state == TCP_STATE_LISTEN };
	}
}

static tcp_sockets read_all_tcp_sockets(void)
{
	tcp_sockets sockets = { 0 };

	read_tcp_sockets("/proc/net/tcp", &sockets);
	read_tcp_sockets("/proc/net/tcp6", &sockets);
	return sockets;
}

struct port_search {
	struct scope *scope;
	struct map inodes; /* socket inode -> port; either all sockets or the listening ones */
};

static void add_owner(void *arg, uint32_t pid, uint64_t inode)
{
	struct port_search *search = arg;

	if (map_find(&search->inodes, inode))
		map_insert(&search->scope->pids, pid);
}

int scope_add_port(struct scope *scope, uint16_t port, struct err *err)
{
	_cleanup_(closedirp) DIR *proc = opendir("/proc");
	struct port_search search = { .scope = scope };

	if (!proc)
		return err_errno(err, "cannot read /proc");

	tcp_sockets sockets = read_all_tcp_sockets();

	for (size_t i = 0; i < sockets.count; i++)
		if (sockets.items[i].listens && sockets.items[i].port == port)
			*map_insert(&search.inodes, sockets.items[i].inode) = port;

	bool listens = search.inodes.count;

	for (uint32_t pid; listens && (pid = proc_next_process(proc));)
		proc_each_socket(pid, SIZE_MAX, add_owner, &search);
	map_done(&search.inodes);
	vec_done(&sockets);
	map_insert(&scope->ports, port);
	scope_add_descendants(scope);
	return listens;
}

static void add_port(void *arg, uint32_t pid, uint64_t inode)
{
	struct port_search *search = arg;
	const uint64_t *port = map_find(&search->inodes, inode);

	(void)pid;
	if (port)
		map_insert(&search->scope->ports, *port);
}

void scope_find_ports(struct scope *scope)
{
	struct port_search search = { .scope = scope };
	tcp_sockets sockets = read_all_tcp_sockets();
	uint64_t pid, unused;

	for (size_t i = 0; i < sockets.count; i++)
		*map_insert(&search.inodes, sockets.items[i].inode) = sockets.items[i].port;
	for (size_t at = 0; map_next(&scope->pids, &at, &pid, &unused);)
		proc_each_socket(pid, SIZE_MAX, add_port, &search);
	map_done(&search.inodes);
	vec_done(&sockets);
}

static void add_cgroup_processes(struct scope *scope, const char *path)
{
	_cleanup_(freep) char *procs = must_printf("%s/cgroup.procs", path);
	_cleanup_(fclosep) FILE *file = fopen(procs, "re");
	_cleanup_(closedirp) DIR *dir = opendir(path);
	unsigned int pid;

	while (file && fscanf(file, "%u", &pid) == 1)
		map_insert(&scope->pids, pid);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_type == DT_DIR && e->d_name[0] != '.') {
			_cleanup_(freep) char *below = must_printf("%s/%s", path, e->d_name);

			add_cgroup_processes(scope, below);
		}
}

/*
 * The id of a cgroup v1 hierarchy, from the super options of its mount: they contain its
 * controllers, and /proc/self/cgroup maps controllers to ids.
 */
static int hierarchy_with(const char *options)
{
	_cleanup_(fclosep) FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096], controllers[256];
	int number;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%d:%255[^:]:", &number, controllers) != 2)
			continue;

		size_t len = strlen(controllers);
		const char *at = strstr(options, controllers);

		if (at && (at == options || at[-1] == ',') && strchr(",\n", at[len]))
			return number;
	}
	return -1;
}

/* The hierarchy id of the cgroupfs mount on a device: 0 for cgroup v2; -1 if unknown. */
static int hierarchy_of(dev_t device)
{
	_cleanup_(fclosep) FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned int major, minor;
		char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
		    makedev(major, minor) != device)
			continue;
		if (strncmp(rest, " - cgroup2 ", 11) == 0)
			return 0;
		if (strncmp(rest, " - cgroup ", 10) == 0)
			return hierarchy_with(strrchr(rest, ' ') + 1);
	}
	return -1;
}

int scope_add_cgroup(struct scope *scope, const char *path, struct err *err)
{
	_cleanup_(freep) char *full = path[0] == '/' && access(path, F_OK) == 0
					      ? must_strdup(path)
					      : must_printf("/sys/fs/cgroup/%s", path);
	struct stat st;

	if (stat(full, &st) < 0)
		return err_errno(err, "cannot open control group '%s'", path);
	scope->cgroup_hierarchy = hierarchy_of(st.st_dev);
	if (scope->cgroup_hierarchy < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -EINVAL, "'%s' is not a control group", path);
	scope->cgroup = st.st_ino;
	add_cgroup_processes(scope, full);
	return 0;
}
