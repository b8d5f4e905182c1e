/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/registrations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "event/span_socket.h"

enum {
	BACKLOG = 4096,
	CLIENTS_MAX = 64,   /* at a time */
	ACCEPTS_MAX = 4096, /* in one round */
	DIRECTORY_MODE = 0755,
	SOCKET_MODE = 0666, /* processes of any user can be recorded */
	LOCK_MODE = 0600,   /* others cannot lock it */
};

enum { IN_DIRECTORY, ABSTRACT, LISTENERS };

struct registrations {
	int listeners[LISTENERS]; /* sockets, or a negative errno */
	int directory;            /* that contains our socket, or a negative errno */
	int number;               /* of our socket in the directory */
	int lock;                 /* file that is locked as long as we use the number */
	VEC(int) clients;         /* connected, nothing received yet */
	unsigned int accepts_left;
	registrations_filter_fn *filter;
	void *filter_arg;
	struct registrations_refused refused;
	char problem[256];
};

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Open or create the directory of this user; fails if another user can write to it. */
static int open_directory(void)
{
	char path[64];
	struct stat st;

	span_socket_directory(geteuid(), path);
	mkdir(path, DIRECTORY_MODE);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return -EPERM;
	fchmod(fd, DIRECTORY_MODE); /* independent of the umask */
	return TAKE_FD(fd);
}

/*
 * Lock a number; -EADDRINUSE if a recorder has it.  The lock ends with the recorder, even if it is
 * killed.  Connecting to its socket would not do: a recorder that a keeper started may not.
 */
static int lock_number(int directory, int number)
{
	char name[64];

	snprintf(name, sizeof(name), SPAN_SOCKET_NAME "%d.lock", number);

	_cleanup_(closep) int fd =
		openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, LOCK_MODE);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	return TAKE_FD(fd);
}

/* Listen at a number of the directory; -EADDRINUSE if another recorder does. */
static int listen_at(struct registrations *r, int fd, const char *directory, int number)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_path(directory, number, &address);
	const char *name = strrchr(address.sun_path, '/') + 1;

	r->lock = lock_number(r->directory, number);
	if (r->lock < 0)
		return r->lock;
	unlinkat(r->directory, name, 0); /* left by a recorder that was killed */
	r->number = number;
	if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    fchmodat(r->directory, name, SOCKET_MODE, 0) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

/* Listen in the directory, at the first number that is not in use. */
static int listen_in_directory(struct registrations *r)
{
	_cleanup_(closep) int fd = new_socket();
	char path[64];
	int result = -EADDRINUSE;

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->directory);
	for (int i = 0; i < SPAN_SOCKETS && result == -EADDRINUSE; i++)
		result = listen_at(r, fd, path, i);
	return result < 0 ? result : TAKE_FD(fd);
}

/* Listen at the first free abstract name. */
static int listen_abstract(void)
{
	_cleanup_(closep) int fd = new_socket();
	int result = fd < 0 ? -errno : -EADDRINUSE;

	for (int i = 0; i < SPAN_SOCKETS && result == -EADDRINUSE; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);

		result = bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
	}
	if (result == 0 && listen(fd, BACKLOG) < 0)
		result = -errno;
	return result < 0 ? result : TAKE_FD(fd);
}

/* Find the process that listens at an abstract name. */
static bool find_listener(int number, struct ucred *ret)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_name(number, &address), length = sizeof(*ret);
	_cleanup_(closep) int s = new_socket();

	return s >= 0 && connect(s, (struct sockaddr *)&address, size) == 0 &&
	       getsockopt(s, SOL_SOCKET, SO_PEERCRED, ret, &length) == 0;
}

/* All abstract names are in use: by other recorders, or by a process that blocks them. */
static void explain_in_use(struct registrations *r)
{
	const char *affected =
		r->listeners[IN_DIRECTORY] < 0 ? "programs" : "programs in containers";
	struct ucred peer = { 0 };

	for (int i = 0; i < SPAN_SOCKETS; i++) {
		bool is_known = find_listener(i, &peer);

		if (is_known && (peer.uid == 0 || peer.uid == geteuid()))
			continue;
		snprintf(r->problem, sizeof(r->problem),
			 "process %d of user %d occupies the socket '@" SPAN_SOCKET_NAME
			 "%d', where agents register: spans of short-lived %s can be missing",
			 is_known ? peer.pid : 0, is_known ? (int)peer.uid : -1, i, affected);
		return;
	}
	snprintf(r->problem, sizeof(r->problem),
		 "%d other recorders are running: spans of short-lived %s can be missing",
		 SPAN_SOCKETS, affected);
}

static void listen_all(struct registrations *r)
{
	r->directory = open_directory();
	r->listeners[IN_DIRECTORY] = r->directory < 0 ? r->directory : listen_in_directory(r);
	r->listeners[ABSTRACT] = listen_abstract();
	if (r->listeners[ABSTRACT] == -EADDRINUSE)
		explain_in_use(r);
	else if (r->listeners[ABSTRACT] < 0 && r->listeners[IN_DIRECTORY] < 0)
		snprintf(r->problem, sizeof(r->problem),
			 "agents cannot register: %s; spans of short-lived programs can be missing",
			 strerror(-r->listeners[ABSTRACT]));
}

static bool accept_all(void *arg, uint32_t pid, uint32_t user)
{
	(void)arg;
	(void)pid;
	(void)user;
	return true;
}

struct registrations *registrations_new(void)
{
	struct registrations *r = must_alloc(sizeof(*r));

	r->filter = accept_all;
	r->lock = -1;
	listen_all(r);
	registrations_begin_round(r);
	return r;
}

static void remove_socket(struct registrations *r)
{
	struct sockaddr_un address;

	span_socket_path("", r->number, &address);
	unlinkat(r->directory, address.sun_path + 1, 0);
}

void registrations_free(struct registrations *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->clients.count; i++)
		close(r->clients.items[i]);
	vec_done(&r->clients);
	if (r->listeners[IN_DIRECTORY] >= 0)
		remove_socket(r);
	for (size_t i = 0; i < LISTENERS; i++)
		closep(&r->listeners[i]);
	closep(&r->directory);
	closep(&r->lock); /* after the socket was removed */
	free(r);
}

const char *registrations_problem(const struct registrations *r)
{
	return r->problem;
}

void registrations_set_filter(struct registrations *r, registrations_filter_fn *fn, void *arg)
{
	r->filter = fn;
	r->filter_arg = arg;
}

struct registrations_refused registrations_refused(const struct registrations *r)
{
	return r->refused;
}

void registrations_begin_round(struct registrations *r)
{
	r->accepts_left = ACCEPTS_MAX;
}

/*
 * Receive the one descriptor of a message; -EAGAIN if none has arrived, -EBADMSG if the message is
 * malformed.  The kernel closes further descriptors, for which there is no space.
 */
static int receive_fd(int socket)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  /* not CMSG_SPACE(), which is enough for two */
				  .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;

	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int fd = -EBADMSG;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* Whether the process may register; counts refusals. */
static bool is_accepted(struct registrations *r, int client)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	    r->filter(r->filter_arg, peer.pid, peer.uid))
		return true;
	r->refused = (struct registrations_refused){ r->refused.count + 1, peer.pid, peer.uid };
	return false;
}

static void accept_clients(struct registrations *r, int listener)
{
	int client;

	while (listener >= 0 && r->clients.count < CLIENTS_MAX && r->accepts_left > 0 &&
	       (client = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		r->accepts_left--;
		if (is_accepted(r, client))
			*vec_push(&r->clients) = client;
		else
			close(client);
	}
}

static void disconnect(struct registrations *r, size_t i)
{
	close(r->clients.items[i]);
	memmove(&r->clients.items[i], &r->clients.items[i + 1],
		(--r->clients.count - i) * sizeof(r->clients.items[0]));
}

/*
 * An agent can be preempted between its connect() and its sendmsg(), so silent clients stay
 * connected, unless they use up all connections.
 */
bool registrations_take(struct registrations *r, uint32_t *ret_pid, int *ret_fd)
{
	for (size_t i = 0; i < LISTENERS; i++)
		accept_clients(r, r->listeners[i]);
	for (size_t i = 0; i < r->clients.count;) {
		struct ucred peer = { 0 };
		socklen_t size = sizeof(peer);
		int s = r->clients.items[i], fd = receive_fd(s);

		if (fd == -EAGAIN && r->clients.count < CLIENTS_MAX) {
			i++;
			continue;
		}

		bool has_peer = getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;

		disconnect(r, i);
		if (fd >= 0 && has_peer) {
			*ret_pid = peer.pid;
			*ret_fd = fd;
			return true;
		}
		closep(&fd);
	}
	return false;
}
