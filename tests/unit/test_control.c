/* SPDX-License-Identifier: Apache-2.0 */
#include "base/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test.h"

static const char name[] = "@sonde-test-control";

static struct control_server *server(void)
{
	struct control_server *s = NULL;

	CHECK_INT(control_server_new(name, &s), 0);
	return s;
}

static int client(void)
{
	struct control_peer peer;
	int fd = control_connect(name, &peer);

	CHECK(fd >= 0);
	CHECK_INT(peer.pid, getpid());
	return fd;
}

/* What the client receives; NULL if it was disconnected. */
static const char *reply_text(int fd, struct control_reply *reply)
{
	return recv(fd, reply, sizeof(*reply), MSG_DONTWAIT) == sizeof(*reply) ? reply->text : NULL;
}

static bool is_disconnected(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

TEST(requests_are_replied_to_one_by_one)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	_cleanup_(closep) int first = client(), second = client();
	struct control_reply reply = { 0 };
	struct view request;

	CHECK(!control_server_poll(s));
	CHECK_INT(send(first, "one", 3, 0), 3);
	CHECK_INT(send(second, "other", 5, 0), 5);
	CHECK(control_server_poll(s));
	CHECK(control_server_next(s, &request));
	CHECK(view_is(request, "one"));
	control_server_reply(s, -EINVAL, "no");
	CHECK(control_server_poll(s));
	CHECK(control_server_next(s, &request));
	CHECK(view_is(request, "other"));
	control_server_reply(s, 0, "yes");
	CHECK(!control_server_next(s, &request));
	CHECK_STR(reply_text(first, &reply), "no");
	CHECK_INT(reply.code, -EINVAL);
	CHECK_STR(reply_text(second, &reply), "yes");
	CHECK_INT(reply.code, 0);
}

TEST(a_silent_client_gives_way_to_the_next)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	int silent[CONTROL_CLIENTS];

	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		silent[i] = client();
		CHECK(!control_server_poll(s));
	}

	_cleanup_(closep) int last = client();

	CHECK_INT(send(last, "x", 1, 0), 1);
	CHECK(control_server_poll(s));
	CHECK(is_disconnected(silent[0]));
	CHECK(!is_disconnected(silent[1]));
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		close(silent[i]);
	CHECK(control_server_poll(s));
}

TEST(a_request_that_is_empty_too_large_or_the_second_ends_the_connection)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	_cleanup_(closep) int empty = client(), large = client(), twice = client();
	_cleanup_(freep) char *bytes = must_alloc(CONTROL_REQUEST_MAX + 1);

	CHECK_INT(send(empty, "", 0, 0), 0);
	CHECK_INT(send(large, bytes, CONTROL_REQUEST_MAX + 1, 0), CONTROL_REQUEST_MAX + 1);
	CHECK_INT(send(twice, "a", 1, 0), 1);
	CHECK_INT(send(twice, "b", 1, 0), 1);
	for (int i = 0; i < 4; i++)
		control_server_poll(s);
	CHECK(!control_server_poll(s));
	CHECK(is_disconnected(empty));
	CHECK(is_disconnected(large));
	CHECK(is_disconnected(twice));
}

TEST(the_largest_request_arrives)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	_cleanup_(closep) int fd = client();
	_cleanup_(freep) char *bytes = must_alloc(CONTROL_REQUEST_MAX);
	struct view request = { 0 };

	memset(bytes, 'x', CONTROL_REQUEST_MAX);
	CHECK_INT(send(fd, bytes, CONTROL_REQUEST_MAX, 0), CONTROL_REQUEST_MAX);
	CHECK(control_server_poll(s));
	CHECK(control_server_next(s, &request));
	CHECK_INT(request.len, CONTROL_REQUEST_MAX);
	CHECK(memcmp(request.s, bytes, request.len) == 0);
}

TEST(a_client_that_has_gone_takes_its_request_along)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	int fd = client();

	CHECK_INT(send(fd, "x", 1, 0), 1);
	CHECK(control_server_poll(s));
	close(fd);
	CHECK(!control_server_poll(s));
}

/* In a child, as another user: 0 if it is disconnected without a reply. */
static int ask_as_other_user(void)
{
	struct control_peer peer;
	struct control_reply reply;
	int fd;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 2;
	fd = control_connect(name, &peer);
	if (fd < 0)
		return 3;
	return control_ask(fd, (struct view){ "x", 1 }, 5 * NSEC_PER_SEC, &reply) == -EPIPE ? 0 : 1;
}

TEST(another_user_is_disconnected)
{
	if (geteuid() != 0)
		SKIP("only root can become another user");

	_cleanup_(control_server_freep) struct control_server *s = server();
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(ask_as_other_user());
	CHECK_INT(poll(&(struct pollfd){ control_server_fd(s), POLLIN, 0 }, 1, 5000), 1);
	CHECK(!control_server_poll(s));
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
}

TEST(a_server_that_does_not_reply_is_not_waited_for)
{
	_cleanup_(control_server_freep) struct control_server *s = server();
	_cleanup_(closep) int fd = client();
	struct control_reply reply;

	CHECK_INT(control_ask(fd, (struct view){ "x", 1 }, NSEC_PER_MSEC, &reply), -EAGAIN);
}

TEST(a_name_is_free_again_after_the_server)
{
	struct control_peer peer;
	struct control_server *again = NULL;
	struct control_server *s = server();

	CHECK_INT(control_server_new(name, &again), -EADDRINUSE);
	control_server_free(s);
	CHECK_INT(control_connect(name, &peer), -ECONNREFUSED);
	control_server_free(server());
}

TEST(a_socket_in_the_file_system_belongs_to_its_user_only)
{
	char directory[] = "/tmp/sonde-test-XXXXXX";
	struct control_server *s = NULL;
	struct stat st;

	CHECK(mkdtemp(directory));

	_cleanup_(freep) char *path = must_printf("%s/s", directory);

	CHECK_INT(control_server_new(path, &s), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	control_server_free(s);
	unlink(path);
	rmdir(directory);
}
