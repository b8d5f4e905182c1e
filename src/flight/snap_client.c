/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/vec.h"
#include "flight/capture_dir.h"
#include "flight/snap.h"

/* Enough for any host; other users can create any number of sockets. */
enum { LISTENERS_MAX = 64 };

/* In the flags of a socket in /proc/net/unix: __SO_ACCEPTCON of <linux/net.h>. */
#define SOCKET_LISTENS 0x10000u

struct listener {
	int fd; /* connected */
	struct control_peer peer;
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

typedef VEC(struct listener) listeners;

static void listeners_done(listeners *list)
{
	for (size_t i = 0; i < list->count; i++)
		close(list->items[i].fd);
	vec_done(list);
}

/*
 * The path in a line of /proc/net/unix, if a flight recorder listens there.  Its connections have
 * the same path.
 */
static const char *socket_path(char *line)
{
	char *path = strchr(line, '/');
	char *name = path ? strrchr(path, '/') : NULL;
	unsigned int flags;

	line[strcspn(line, "\n")] = '\0';
	if (!name || strncmp(name + 1, CAPTURE_DIR_SOCKET, strlen(CAPTURE_DIR_SOCKET)) != 0 ||
	    sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & SOCKET_LISTENS))
		return NULL;
	return path;
}

static int connect_to(const char *path, struct listener *ret)
{
	int fd = control_connect(path, &ret->peer);

	if (fd < 0)
		return fd;
	ret->fd = fd;
	snprintf(ret->directory, sizeof(ret->directory), "%.*s", (int)(strrchr(path, '/') - path),
		 path);
	return 0;
}

/* Returns whether there is a flight recorder that this user may not ask. */
static bool find_listeners(pid_t pid, listeners *ret)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char line[512];
	bool refused = false;

	while (file && ret->count < LISTENERS_MAX && fgets(line, sizeof(line), file)) {
		const char *path = socket_path(line);
		struct listener found;

		if (!path)
			continue;

		int r = connect_to(path, &found);

		refused = refused || r == -EACCES || r == -EPERM;
		if (r == 0 && (!pid || found.peer.pid == pid))
			*vec_push(ret) = found;
		else if (r == 0)
			close(found.fd);
	}
	if (file)
		fclose(file);
	return refused;
}

static int several(const listeners *list, struct err *err)
{
	char text[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < list->count && n < sizeof(text); i++)
		n += snprintf(text + n, sizeof(text) - n, "\n  -p %d  uid %u, captures in '%s'",
			      list->items[i].peer.pid, list->items[i].peer.uid,
			      list->items[i].directory);
	return err_set(err, -EINVAL, "several flight recorders are running; choose one:%s", text);
}

static int none(pid_t pid, bool refused, struct err *err)
{
	if (refused)
		return err_set(err, -EPERM,
			       "the running flight recorder belongs to another user; run "
			       "'sonde snap' as that user or root");
	if (pid)
		return err_set(err, -ESRCH, "process %d is not a flight recorder of this user",
			       pid);
	return err_set(err, -ESRCH,
		       "no flight recorder is running; start one with 'sonde record "
		       "--keep-last=30s'");
}

static int ask(const struct listener *listener, char **ret_path, struct err *err)
{
	struct control_reply reply;
	int r = control_ask(listener->fd, (struct view){ "", 1 }, 0, &reply);

	if (r == -EBADMSG)
		return err_set(err, r, "the reply of process %d is not a path", listener->peer.pid);
	if (r < 0)
		return err_set(err, -EPIPE, "the flight recorder (process %d) ended",
			       listener->peer.pid);
	if (reply.code < 0)
		return err_set(err, -EIO, "%s", reply.text);
	*ret_path = must_strdup(reply.text);
	return 0;
}

int snap_ask(pid_t pid, char **ret_path, struct err *err)
{
	_cleanup_(listeners_done) listeners list = { 0 };
	bool refused = find_listeners(pid, &list);

	if (list.count == 0)
		return none(pid, refused, err);
	if (list.count > 1)
		return several(&list, err);
	return ask(&list.items[0], ret_path, err);
}
