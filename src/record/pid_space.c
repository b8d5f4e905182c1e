/* SPDX-License-Identifier: Apache-2.0 */
#include "record/pid_space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/text.h"

#ifndef NS_GET_PID_FROM_PIDNS /* as Linux 6.11 has it */
#define NS_GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int)
#endif

static uint32_t space_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

uint32_t pid_space_of(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	return space_at(path);
}

uint32_t pid_space_own(void)
{
	return space_at("/proc/self/ns/pid");
}

/* The last number of the line NSpid: that in the innermost namespace. */
static uint32_t innermost_number(uint32_t pid, const char *tid)
{
	char path[320], text[4096];

	snprintf(path, sizeof(path), "/proc/%u/task/%s/status", pid, tid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';

	char *line = strstr(text, "\nNSpid:"), *end = line ? strchr(line + 1, '\n') : NULL;

	if (!end)
		return 0;
	*end = '\0';
	return strtoul(strrchr(line, '\t') + 1, NULL, 10);
}

static uint32_t search(uint32_t pid, uint32_t tid)
{
	char path[64];
	uint32_t found = 0;
	uint64_t number;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);

	DIR *dir = opendir(path);

	for (struct dirent *e; dir && !found && (e = readdir(dir));)
		if (parse_count(e->d_name, UINT32_MAX, &number) == 0 &&
		    innermost_number(pid, e->d_name) == tid)
			found = number;
	if (dir)
		closedir(dir);
	return found;
}

uint32_t pid_space_translate(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int number = fd < 0 || tid > INT32_MAX ? -1 : ioctl(fd, NS_GET_PID_FROM_PIDNS, tid);

	if (number > 0)
		return number;
	return fd >= 0 && (errno == ENOTTY || errno == EINVAL) ? search(pid, tid) : 0;
}
