/* SPDX-License-Identifier: Apache-2.0 */
#include "record/offer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>

#include "event/span_socket.h"
#include "test.h"

/* A network of our own: recorders elsewhere have the same names. */
static bool alone(void)
{
	static int moved = -1;

	if (moved < 0)
		moved = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	return moved;
}

static int call(void)
{
	struct sockaddr_un address;
	socklen_t size = span_socket_name(0, &address);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (s < 0 || connect(s, (struct sockaddr *)&address, size) < 0)
		abort();
	return s;
}

/* A message with so many descriptors, all of the same file. */
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

TEST(an_offer_is_taken_with_who_made_it)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(offers_freep) struct offers *offers = offers_new();
	_cleanup_(closep) int s = call(), fd = -1;
	uint32_t pid = 0;

	CHECK(!offers_take(offers, &pid, &fd)); /* nothing is said so far */
	offer(s, 1, STDERR_FILENO);
	CHECK(offers_take(offers, &pid, &fd));
	CHECK_INT(pid, getpid());
	CHECK(fd > STDERR_FILENO);
	CHECK(!offers_take(offers, &pid, &fd));
}

/* Room for one descriptor, rounded up, is room for two. */
TEST(who_sends_many_descriptors_leaves_none)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(offers_freep) struct offers *offers = offers_new();
	size_t before = open_files();

	for (size_t count = 2; count <= 8; count++) {
		_cleanup_(closep) int s = call(), fd = -1;
		uint32_t pid;

		offer(s, count, STDERR_FILENO);
		offers_take(offers, &pid, &fd);
	}
	CHECK_INT(open_files(), before);
}

TEST(a_message_without_a_descriptor_is_no_offer)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	_cleanup_(offers_freep) struct offers *offers = offers_new();
	_cleanup_(closep) int s = call(), fd = -1;
	uint32_t pid;

	CHECK_INT(send(s, "", 1, MSG_NOSIGNAL), 1);
	CHECK(!offers_take(offers, &pid, &fd));
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

TEST(nothing_is_inherited_and_all_is_closed)
{
	if (!alone())
		SKIP("a network namespace cannot be made");

	size_t before = open_files(), inherited = inherited_files();
	struct offers *offers = offers_new();
	int s = call(), silent = call(), fd = -1;
	uint32_t pid;

	offer(s, 1, STDERR_FILENO);
	CHECK(offers_take(offers, &pid, &fd));
	CHECK_INT(inherited_files(), inherited);
	offers_free(offers);
	close(s);
	close(silent);
	close(fd);
	CHECK_INT(open_files(), before);
}
