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
	GUESTS = 64,        /* at a time */
	ACCEPTS_MAX = 4096, /* in one round */
	DIRECTORY_MODE = 0755,
	SOCKET_MODE = 0666, /* a process of any user can be recorded */
};

enum { IN_DIRECTORY, ABSTRACT, LISTENERS };

struct registrations {
	int listeners[LISTENERS]; /* -1 if there is none */
	int directory;            /* in which we listen, or -1 */
	int number;               /* that we have there */
	VEC(int) guests;          /* that have connected and sent nothing yet */
	unsigned int accepts_left;
	registrations_filter_fn *filter;
	void *filter_arg;
	struct registrations_refused refused;
	char trouble[256];
};

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* The directory of this user, if no other user can write there; else a negative errno. */
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
	fchmod(fd, DIRECTORY_MODE); /* whatever the umask is */
	return TAKE_FD(fd);
}

/* Whether a recorder listens there; else its name can be taken. */
static bool is_alive(const struct sockaddr_un *address, socklen_t size)
{
	_cleanup_(closep) int s = new_socket();

	return connect(s, (const struct sockaddr *)address, size) == 0 || errno == EAGAIN;
}

/*
 * Listen in the directory, at the first number that no recorder has.  One that was
 * killed has left its name.  The lock keeps others from doing the same meanwhile.
 */
static int listen_in_directory(struct registrations *registrations)
{
	_cleanup_(closep) int fd = new_socket();
	char path[64];

	if (fd < 0 || flock(registrations->directory, LOCK_EX) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", registrations->directory);

	int r = -EADDRINUSE;

	for (int i = 0; i < SPAN_SOCKETS && r == -EADDRINUSE; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_path(path, i, &address);
		const char *name = strrchr(address.sun_path, '/') + 1;

		if (is_alive(&address, size))
			continue;
		unlinkat(registrations->directory, name, 0);
		r = bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
		if (r == 0 && (fchmodat(registrations->directory, name, SOCKET_MODE, 0) < 0 ||
			       listen(fd, BACKLOG) < 0))
			r = -errno;
		registrations->number = i;
	}
	flock(registrations->directory, LOCK_UN);
	return r < 0 ? r : TAKE_FD(fd);
}

/* At the first abstract name that is free. */
static int listen_abstract(void)
{
	_cleanup_(closep) int fd = new_socket();
	int r = fd < 0 ? -errno : -EADDRINUSE;

	for (int i = 0; i < SPAN_SOCKETS && r == -EADDRINUSE; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);

		r = bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
	}
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

/* Who has the abstract name of a number; false if that cannot be found out. */
static bool find_holder(int number, struct ucred *ret)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_name(number, &address), length = sizeof(*ret);
	_cleanup_(closep) int s = new_socket();

	return s >= 0 && connect(s, (struct sockaddr *)&address, size) == 0 &&
	       getsockopt(s, SOL_SOCKET, SO_PEERCRED, ret, &length) == 0;
}

/* The names are taken: by other recorders, or by a process that only wants to be in the way. */
static void explain_taken(struct registrations *registrations)
{
	const char *origin =
		registrations->listeners[IN_DIRECTORY] < 0 ? "programs" : "programs in containers";
	struct ucred holder = { 0 };

	for (int i = 0; i < SPAN_SOCKETS; i++) {
		bool is_known = find_holder(i, &holder);

		if (is_known && (holder.uid == 0 || holder.uid == geteuid()))
			continue;
		snprintf(registrations->trouble, sizeof(registrations->trouble),
			 "process %d of user %d occupies the name '@" SPAN_SOCKET_NAME
			 "%d', where agents register: spans of %s that end quickly can be "
			 "missing",
			 is_known ? holder.pid : 0, is_known ? (int)holder.uid : -1, i, origin);
		return;
	}
	snprintf(registrations->trouble, sizeof(registrations->trouble),
		 "%d other recorders are running: spans of %s that end quickly can be missing",
		 SPAN_SOCKETS, origin);
}

static void listen_all(struct registrations *registrations)
{
	registrations->directory = open_directory();
	registrations->listeners[IN_DIRECTORY] = registrations->directory < 0
							 ? registrations->directory
							 : listen_in_directory(registrations);
	registrations->listeners[ABSTRACT] = listen_abstract();
	if (registrations->listeners[ABSTRACT] == -EADDRINUSE)
		explain_taken(registrations);
	else if (registrations->listeners[ABSTRACT] < 0 &&
		 registrations->listeners[IN_DIRECTORY] < 0)
		snprintf(registrations->trouble, sizeof(registrations->trouble),
			 "agents cannot register: %s; spans of programs that end quickly can be "
			 "missing",
			 strerror(-registrations->listeners[ABSTRACT]));
}

static bool accept_all(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return true;
}

struct registrations *registrations_new(void)
{
	struct registrations *registrations = must_alloc(sizeof(*registrations));

	registrations->filter = accept_all;
	listen_all(registrations);
	registrations_begin_round(registrations);
	return registrations;
}

static void leave_directory(struct registrations *registrations)
{
	struct sockaddr_un address;

	span_socket_path("", registrations->number, &address);
	unlinkat(registrations->directory, address.sun_path + 1, 0);
}

void registrations_free(struct registrations *registrations)
{
	if (!registrations)
		return;
	for (size_t i = 0; i < registrations->guests.count; i++)
		close(registrations->guests.items[i]);
	vec_done(&registrations->guests);
	if (registrations->listeners[IN_DIRECTORY] >= 0)
		leave_directory(registrations);
	for (size_t i = 0; i < LISTENERS; i++)
		closep(&registrations->listeners[i]);
	closep(&registrations->directory);
	free(registrations);
}

const char *registrations_problem(const struct registrations *registrations)
{
	return registrations->trouble;
}

void registrations_set_filter(struct registrations *registrations, registrations_filter_fn *fn,
			      void *arg)
{
	registrations->filter = fn;
	registrations->filter_arg = arg;
}

struct registrations_refused registrations_refused(const struct registrations *registrations)
{
	return registrations->refused;
}

void registrations_begin_round(struct registrations *registrations)
{
	registrations->accepts_left = ACCEPTS_MAX;
}

/*
 * The one descriptor of a message; -EAGAIN if nothing has come, -EBADMSG if it is not
 * what it should be.  More than one does not fit, and is closed by the kernel.
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
				  /* in CMSG_SPACE() there is room for two */
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

/* Whether the process may register. */
static bool is_welcome(struct registrations *registrations, int guest)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	    registrations->filter(registrations->filter_arg, peer.pid))
		return true;
	registrations->refused = (struct registrations_refused){ registrations->refused.count + 1,
								 peer.pid, peer.uid };
	return false;
}

/* Between its call and its offer, an agent may be held up; but those who just stay make room. */
static void welcome(struct registrations *registrations, int listener)
{
	int guest;

	while (listener >= 0 && registrations->guests.count < GUESTS &&
	       registrations->accepts_left > 0 &&
	       (guest = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		registrations->accepts_left--;
		if (is_welcome(registrations, guest))
			*vec_push(&registrations->guests) = guest;
		else
			close(guest);
	}
}

static void say_goodbye(struct registrations *registrations, size_t i)
{
	close(registrations->guests.items[i]);
	memmove(&registrations->guests.items[i], &registrations->guests.items[i + 1],
		(--registrations->guests.count - i) * sizeof(registrations->guests.items[0]));
}

bool registrations_take(struct registrations *registrations, uint32_t *ret_pid, int *ret_fd)
{
	for (size_t i = 0; i < LISTENERS; i++)
		welcome(registrations, registrations->listeners[i]);
	for (size_t i = 0; i < registrations->guests.count;) {
		struct ucred peer = { 0 };
		socklen_t size = sizeof(peer);
		int s = registrations->guests.items[i], fd = receive_fd(s);

		if (fd == -EAGAIN && registrations->guests.count < GUESTS) {
			i++;
			continue;
		}

		int r = getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size);

		say_goodbye(registrations, i);
		if (fd >= 0 && r == 0) {
			*ret_pid = peer.pid;
			*ret_fd = fd;
			return true;
		}
		closep(&fd);
	}
	return false;
}
