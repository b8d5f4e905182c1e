/* SPDX-License-Identifier: Apache-2.0 */
#include "record/process_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "record/arguments.h"

/* Read the beginning of a small file of /proc or /sys, without trailing newlines and NULs. */
static size_t read_text(const char *path, char *ret, size_t room)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, room - 1);

	if (n < 0)
		n = 0;
	while (n > 0 && (ret[n - 1] == '\0' || ret[n - 1] == '\n'))
		n--;
	ret[n] = '\0';
	return n;
}

/* The cgroup path in the unified hierarchy, otherwise the first path of another hierarchy. */
static const char *cgroup_path(char *text)
{
	const char *best = "";

	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			continue;
		if (strncmp(line, "0::", 3) == 0 && strcmp(path + 1, "/") != 0)
			return path + 1;
		if (!*best || strcmp(best, "/") == 0)
			best = path + 1;
	}
	return best;
}

char *process_text_cmdline(uint32_t pid, bool arguments)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);

	size_t len = read_text(path, text, sizeof(text));

	if (len == 0)
		return NULL;
	return arguments ? arguments_mask(text, len) : arguments_program(text, len);
}

char *process_text_cgroup(uint32_t pid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	read_text(path, text, sizeof(text));
	return must_strdup(cgroup_path(text));
}

bool process_text_device(uint32_t device, char ret[128])
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", device >> 20, device & 0xfffff);
	read_text(path, text, sizeof(text));

	const char *line = strstr(text, "DEVNAME=");

	return line && sscanf(line, "DEVNAME=%127[^\n ]", ret) == 1;
}
