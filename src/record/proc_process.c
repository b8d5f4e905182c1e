/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc_process.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"
#include "record/listeners.h"

enum {
	LISTENERS_MAX = 1024,   /* lines of a file */
	DESCRIPTORS_MAX = 1024, /* a process opens its listening sockets first */
	THREADS_MAX = 512,      /* most children belong to the first ones */
	CHILDREN_MAX = 4096,
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

uint32_t proc_next_process(DIR *proc)
{
	uint64_t pid;

	for (struct dirent *e; (e = readdir(proc));)
		if (parse_count(e->d_name, UINT32_MAX, &pid) == 0)
			return pid;
	return 0;
}

/* The owner of /proc/PID does not serve: it is root if the process cannot dump core. */
bool proc_read_user(uint32_t pid, uint32_t *ret)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %" SCNu32, ret) == 1)
			return true;
	return false;
}

void proc_each_socket(uint32_t pid, size_t max, proc_socket_fn *fn, void *arg)
{
	char path[320], target[64];
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	_cleanup_(closedirp) DIR *dir = opendir(path);

	for (size_t i = 0; i < max && dir && (e = readdir(dir)); i++) {
		unsigned long inode;

		snprintf(path, sizeof(path), "/proc/%u/fd/%s", pid, e->d_name);
		ssize_t n = readlink(path, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) == 1)
			fn(arg, pid, inode);
	}
}

/* The kernel lists listeners first. */
static void read_listeners(uint32_t pid, const char *name, uint16_t family, struct map *ports)
{
	struct record_socket_state state;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, name);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	if (!file || !fgets(line, sizeof(line), file)) /* a heading */
		return;
	for (int i = 0; i < LISTENERS_MAX && fgets(line, sizeof(line), file) &&
			listeners_parse(line, family, &state);
	     i++)
		*map_insert(ports, state.object) = state.address.local_port;
}

struct listener_search {
	struct map ports; /* inode of a listening socket -> port */
	proc_port_fn *fn;
	void *arg;
};

static void find_port(void *arg, uint32_t pid, uint64_t inode)
{
	const struct listener_search *search = arg;
	const uint64_t *port = map_find(&search->ports, inode);

	(void)pid;
	if (port)
		search->fn(search->arg, *port);
}

void proc_each_listening_port(uint32_t pid, proc_port_fn *fn, void *arg)
{
	struct listener_search search = { .fn = fn, .arg = arg };

	read_listeners(pid, "tcp", AF_INET, &search.ports);
	read_listeners(pid, "tcp6", AF_INET6, &search.ports);
	if (search.ports.count)
		proc_each_socket(pid, DESCRIPTORS_MAX, find_port, &search);
	map_done(&search.ports);
}

void proc_each_child(uint32_t pid, proc_child_fn *fn, void *arg)
{
	char path[320];
	unsigned int child;
	struct dirent *e;
	size_t children = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	_cleanup_(closedirp) DIR *threads = opendir(path);

	for (size_t i = 0; i < THREADS_MAX && threads && (e = readdir(threads)); i++) {
		snprintf(path, sizeof(path), "/proc/%u/task/%s/children", pid, e->d_name);
		_cleanup_(fclosep) FILE *file = fopen(path, "re");

		for (; children < CHILDREN_MAX && file && fscanf(file, "%u", &child) == 1;
		     children++)
			fn(arg, child);
	}
}
