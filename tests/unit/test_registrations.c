/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/registrations.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event/span_socket.h"
#include "record/confine.h"
#include "test.h"

/* Our own network namespace: other recorders use the same abstract names. */
static bool alone(void)
{
	static int moved = -1;

	if (moved < 0)
		moved = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	return moved;
}

/* And our own empty /run. */
static bool has_run(void)
{
	static int mounted = -1;

	if (mounted < 0)
		mounted = alone() && geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
			  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			  mount("run", "/run", "tmpfs", 0, NULL) == 0;
	return mounted;
}

static int connect_to(const struct sockaddr_un *address, socklen_t size)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (s < 0 || connect(s, (const struct sockaddr *)address, size) < 0)
		abort();
	return s;
}

static int call(void)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_name(0, &address);

	return connect_to(&address, size);
}

static int call_in_directory(int number)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_path("/run/sonde", number, &address);

	return connect_to(&address, size);
}

/* A message with this many descriptors of the same file. */
static void offer(int s, size_t count, int fd)
{
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(head) + i * sizeof(int), &fd, sizeof(int));
	if (sendmsg(s, &message, MSG_NOSIGNAL) != 1)
		abort();
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

TEST(a_registration_has_the_pid_of_its_process)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();
	_cleanup_(closep) int s = call(), fd = -1;
	uint32_t pid = 0;

	CHECK(!registrations_take(registrations, &pid, &fd)); /* nothing was sent yet */
	offer(s, 1, STDERR_FILENO);
	CHECK(registrations_take(registrations, &pid, &fd));
	CHECK_INT(pid, getpid());
	CHECK(fd > STDERR_FILENO);
	CHECK(!registrations_take(registrations, &pid, &fd));
}

/* Space for one descriptor, rounded up, is enough for two. */
TEST(extra_descriptors_are_not_leaked)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();
	size_t before = open_files();

	for (size_t count = 2; count <= 8; count++) {
		_cleanup_(closep) int s = call(), fd = -1;
		uint32_t pid;

		offer(s, count, STDERR_FILENO);
		registrations_take(registrations, &pid, &fd);
	}
	CHECK_INT(open_files(), before);
}

TEST(a_message_without_descriptor_is_not_a_registration)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();
	_cleanup_(closep) int s = call(), fd = -1;
	uint32_t pid;

	CHECK_INT(send(s, "", 1, MSG_NOSIGNAL), 1);
	CHECK(!registrations_take(registrations, &pid, &fd));
	CHECK_INT(fd, -1);
}

static size_t inherited_files(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);

		count += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return count;
}

TEST(descriptors_are_not_inherited_and_all_are_closed)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	size_t before = open_files(), inherited = inherited_files();
	struct registrations *registrations = registrations_new();
	int s = call(), silent = call(), fd = -1;
	uint32_t pid;

	offer(s, 1, STDERR_FILENO);
	CHECK(registrations_take(registrations, &pid, &fd));
	CHECK_INT(inherited_files(), inherited);
	registrations_free(registrations);
	close(s);
	close(silent);
	close(fd);
	CHECK_INT(open_files(), before);
}

TEST(a_registration_through_the_directory_is_accepted)
{
	if (!has_run())
		SKIP("a mount namespace cannot be made");

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();
	_cleanup_(closep) int s = call_in_directory(0), fd = -1;
	struct stat st;
	uint32_t pid = 0;

	offer(s, 1, STDERR_FILENO);
	CHECK(registrations_take(registrations, &pid, &fd));
	CHECK_INT(pid, getpid());
	CHECK_STR(registrations_problem(registrations), "");
	CHECK_INT(stat("/run/sonde", &st), 0);
	CHECK_INT(st.st_mode & 0777, 0755);
}

TEST(a_number_in_the_directory_is_free_after_its_recorder_ends)
{
	if (!has_run())
		SKIP("a mount namespace cannot be made");

	struct registrations *first = registrations_new(), *second = registrations_new();

	close(call_in_directory(0));
	close(call_in_directory(1));
	CHECK_INT(link("/run/sonde/sonde-recorder-0", "/run/sonde/left"), 0);
	registrations_free(first);
	CHECK(access("/run/sonde/sonde-recorder-0", F_OK) < 0);
	/* left by a killed recorder */
	CHECK_INT(rename("/run/sonde/left", "/run/sonde/sonde-recorder-0"), 0);
	first = registrations_new();
	close(call_in_directory(0));
	CHECK_INT(access("/run/sonde/sonde-recorder-2", F_OK), -1);
	registrations_free(first);
	registrations_free(second);
}

/* A keeper may not connect to sockets, so its recorders may not. */
TEST(a_recorder_of_a_keeper_leaves_the_numbers_of_others)
{
	_cleanup_(registrations_freep) struct registrations *first = NULL;
	struct err err;
	int status = 1;

	if (!has_run())
		SKIP("a mount namespace cannot be made");
	first = registrations_new();

	pid_t pid = fork();

	if (pid == 0) {
		if (confine_keeper(&err) < 0)
			_exit(2);
		registrations_new(); /* killed: it removes nothing */
		_exit(access("/run/sonde/sonde-recorder-1", F_OK) < 0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);

	_cleanup_(closep) int s = call_in_directory(0), fd = -1;
	uint32_t from;

	offer(s, 1, STDERR_FILENO);
	CHECK(registrations_take(first, &from, &fd));
}

TEST(a_directory_writable_by_others_is_not_used)
{
	if (!has_run())
		SKIP("a mount namespace cannot be made");
	registrations_free(registrations_new());
	CHECK_INT(chmod("/run/sonde", 0777), 0);

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();

	CHECK(access("/run/sonde/sonde-recorder-0", F_OK) < 0);
	CHECK_INT(chmod("/run/sonde", 0755), 0);
}

TEST(a_recorder_warns_if_all_names_are_in_use)
{
	struct registrations *others[SPAN_SOCKETS];

	if (!alone())
		SKIP("a network namespace cannot be made");
	for (size_t i = 0; i < SPAN_SOCKETS; i++)
		others[i] = registrations_new();

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();

	CHECK(strstr(registrations_problem(registrations), "other recorders are running") != NULL);
	for (size_t i = 0; i < SPAN_SOCKETS; i++)
		registrations_free(others[i]);
}

static bool refuse(void *arg, uint32_t pid, uint32_t user)
{
	++*(size_t *)arg;
	return pid != (uint32_t)getpid() || user != geteuid();
}

TEST(unrecorded_processes_are_refused_and_counted)
{
	enum { CALLS = 300 };

	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(registrations_freep) struct registrations *registrations = registrations_new();
	size_t filtered = 0;
	uint32_t pid;
	int fd, s[CALLS];

	registrations_set_filter(registrations, refuse, &filtered);
	for (size_t i = 0; i < CALLS; i++)
		s[i] = call();
	CHECK(!registrations_take(registrations, &pid, &fd));
	CHECK_INT(filtered, CALLS); /* more than are accepted at a time */
	CHECK_INT(registrations_refused(registrations).count, CALLS);
	CHECK_INT(registrations_refused(registrations).pid, getpid());
	for (size_t i = 0; i < CALLS; i++)
		close(s[i]);
}
