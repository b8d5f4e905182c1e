/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/capture_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/caps.h"
#include "base/fd_message.h"
#include "base/text.h"
#include "flight/capture_name.h"

#define PARTIAL ".sonde-partial-"

enum dir_operation { DIR_CREATE = 1, DIR_COMMIT, DIR_REMOVE };

struct dir_request {
	uint32_t operation; /* enum dir_operation */
	char name[sizeof(struct capture_name)];
};

struct capture_dir {
	char *path;
	int socket;
	pid_t process;
};

/* The state of the process. */
struct dir_process {
	int dir, socket;
	pid_t owner; /* the flight recorder */
};

struct file_name {
	char s[NAME_MAX + 1];
};

static struct file_name partial_name(pid_t owner, const char *name)
{
	struct file_name partial;

	snprintf(partial.s, sizeof(partial.s), PARTIAL "%d-%s", owner, name);
	return partial;
}

static int create_partial(const struct dir_process *p, const char *partial)
{
	int fd =
		openat(p->dir, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : caps_give_file(fd);
}

/* Not all file systems have RENAME_NOREPLACE; a link never replaces a file, either. */
static int commit_partial(const struct dir_process *p, const char *partial, const char *name)
{
	if (renameat2(p->dir, partial, p->dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(p->dir, partial, p->dir, name, 0) < 0)
		return -errno;
	unlinkat(p->dir, partial, 0);
	return 0;
}

/* Returns a descriptor, 0 or a negative errno. */
static int obey(const struct dir_process *p, const struct dir_request *request)
{
	if (!memchr(request->name, '\0', sizeof(request->name)) ||
	    !capture_name_is_safe(request->name))
		return -EINVAL;

	struct file_name partial = partial_name(p->owner, request->name);

	switch (request->operation) {
	case DIR_CREATE:
		return create_partial(p, partial.s);
	case DIR_COMMIT:
		return commit_partial(p, partial.s, request->name);
	case DIR_REMOVE:
		return unlinkat(p->dir, partial.s, 0) < 0 ? -errno : 0;
	default:
		return -EINVAL;
	}
}

/* Whether a file is one of this flight recorder, or of one that was killed with all its processes.
 */
static bool is_left_over(const char *name, pid_t owner)
{
	static const char *const prefixes[] = { PARTIAL, CAPTURE_DIR_SOCKET };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
			long pid = strtol(name + strlen(prefixes[i]), NULL, 10);

			return pid == owner ||
			       (pid > 0 && pid <= INT_MAX && kill(pid, 0) < 0 && errno == ESRCH);
		}
	return false;
}

static void remove_left_over(int dir, pid_t owner)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; list && (e = readdir(list));)
		if (is_left_over(e->d_name, owner))
			unlinkat(dir, e->d_name, 0);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
}

static void serve(const struct dir_process *p)
{
	struct dir_request request;

	while (recv(p->socket, &request, sizeof(request), 0) == sizeof(request)) {
		int r = obey(p, &request);

		if (fd_message_send(p->socket, r < 0 ? r : 0,
				    request.operation == DIR_CREATE ? r : -1) < 0)
			break;
		if (request.operation == DIR_CREATE && r >= 0)
			close(r);
	}
	remove_left_over(p->dir, p->owner);
}

/*
 * Root becomes the owner of the directory.  In a directory of root it keeps one capability, to give
 * files to the user who called sudo.
 */
static int limit_process(const struct stat *st)
{
	caps_set keep = geteuid() == 0 && st->st_uid == 0 ? CAP_BIT(CAP_CHOWN) : 0;

	if (geteuid() == 0 && st->st_uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(st->st_gid, st->st_gid, st->st_gid) < 0 ||
	     setresuid(st->st_uid, st->st_uid, st->st_uid) < 0))
		return -errno;
	keep &= caps_permitted();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return caps_limit(keep, keep);
}

/* Signals of the terminal are for the flight recorder; its end is the end of this process. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		signal(signals[i], SIG_IGN);
}

_Noreturn static void run_process(struct dir_process *p, const struct stat *st)
{
	int low = p->dir < p->socket ? p->dir : p->socket;
	int high = p->dir < p->socket ? p->socket : p->dir;

	ignore_signals();
	if (low > 0)
		close_range(0, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, UINT_MAX, 0);
	if (limit_process(st) < 0)
		_exit(EXIT_FAILURE);
	umask(0077);
	serve(p);
	_exit(EXIT_SUCCESS);
}

static int check_dir(const char *path, const struct stat *st, struct err *err)
{
	if (!caps_is_own_user(st->st_uid))
		return err_set(err, -EPERM,
			       "cannot write captures to '%s': it belongs to another user (uid "
			       "%u); choose another directory with -o",
			       path, st->st_uid);
	if (st->st_mode & S_IWOTH)
		return err_set(err, -EPERM,
			       "cannot write captures to '%s': every user can write to it; choose "
			       "another directory with -o, such as '%s/captures'",
			       path, path);
	return 0;
}

/* Returns a descriptor of the directory. */
static int open_dir(const char *path, struct stat *ret, struct err *err)
{
	bool is_new = mkdir(path, 0700) == 0;

	if (!is_new && errno != EEXIST)
		return err_errno(err, "cannot create the directory '%s'", path);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "cannot open the directory '%s'", path);
	if (is_new)
		caps_give_file(fd);
	if (fstat(fd, ret) < 0)
		return err_errno(err, "cannot open the directory '%s'", path);
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return err_errno(err, "cannot write captures to '%s'", path);

	int r = check_dir(path, ret, err);

	return r < 0 ? r : TAKE_FD(fd);
}

int capture_dir_open(const char *path, struct capture_dir **ret, struct err *err)
{
	struct stat st;
	_cleanup_(closep) int fd = open_dir(path, &st, err);
	int pair[2];

	if (fd < 0)
		return fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "cannot create a socket");

	_cleanup_(capture_dir_freep) struct capture_dir *dir = must_alloc(sizeof(*dir));
	struct dir_process process = { .dir = fd, .socket = pair[1], .owner = getpid() };

	dir->socket = pair[0];
	dir->path = realpath(path, NULL) ?: must_strdup(path);
	remove_left_over(fd, getpid());
	dir->process = fork();
	if (dir->process == 0)
		run_process(&process, &st);
	close(pair[1]);
	if (dir->process < 0)
		return err_errno(err, "cannot start a process that creates files");
	*ret = TAKE(dir);
	return 0;
}

void capture_dir_free(struct capture_dir *dir)
{
	if (!dir)
		return;
	close(dir->socket);
	if (dir->process > 0)
		while (waitpid(dir->process, NULL, 0) < 0 && errno == EINTR)
			;
	free(dir->path);
	free(dir);
}

const char *capture_dir_path(const struct capture_dir *dir)
{
	return dir->path;
}

static int request_of(struct capture_dir *dir, enum dir_operation operation, const char *name,
		      int *ret_fd)
{
	struct dir_request request = { .operation = operation };

	snprintf(request.name, sizeof(request.name), "%s", name);
	if (send(dir->socket, &request, sizeof(request), MSG_NOSIGNAL) < 0)
		return -errno;
	return fd_message_receive(dir->socket, ret_fd);
}

int capture_dir_create(struct capture_dir *dir, const char *name, struct err *err)
{
	int fd = -1, r = request_of(dir, DIR_CREATE, name, &fd);

	if (r == 0 && fd < 0)
		r = -EBADMSG;
	if (r < 0)
		err_set(err, r, "cannot create '%s' in '%s': %s", name, dir->path, strerror(-r));
	return r < 0 ? r : fd;
}

int capture_dir_commit(struct capture_dir *dir, const char *name, struct err *err)
{
	int r = request_of(dir, DIR_COMMIT, name, NULL);

	if (r < 0)
		err_set(err, r, "cannot create '%s' in '%s': %s", name, dir->path, strerror(-r));
	return r;
}

void capture_dir_remove(struct capture_dir *dir, const char *name)
{
	request_of(dir, DIR_REMOVE, name, NULL);
}
