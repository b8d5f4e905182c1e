/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the flight recorder: how they are created, and by which users they can be requested.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd_message.h"
#include "flight/capture_dir.h"
#include "flight/snap.h"
#include "test.h"

struct place {
	char path[64];
};

static struct place place_new(void)
{
	struct place p = { "/tmp/sonde-flight-XXXXXX" };

	CHECK(mkdtemp(p.path) != NULL);
	return p;
}

static size_t place_count(const struct place *p)
{
	DIR *dir = opendir(p->path);
	size_t count = 0;

	for (struct dirent *e; dir && (e = readdir(dir));)
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	if (dir)
		closedir(dir);
	return count;
}

static void place_done(struct place *p)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", p->path);
	CHECK_INT(system(command), 0);
}

static struct capture_dir *open_dir(const struct place *p)
{
	struct capture_dir *dir = NULL;
	struct err err = { "" };

	CHECK_INT(capture_dir_open(p->path, &dir, &err), 0);
	return dir;
}

TEST(a_capture_has_its_name_only_when_it_is_complete)
{
	_cleanup_(place_done) struct place p = place_new();
	_cleanup_(capture_dir_freep) struct capture_dir *dir = open_dir(&p);
	struct err err = { "" };
	char path[128];
	struct stat st;
	int fd = capture_dir_create(dir, "x.sonde", &err);

	snprintf(path, sizeof(path), "%s/x.sonde", p.path);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, "abc", 3), 3);
	CHECK(stat(path, &st) < 0);
	CHECK_INT(capture_dir_commit(dir, "x.sonde", &err), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_size, 3);
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK_INT(place_count(&p), 1);
	close(fd);
}

TEST(no_file_is_replaced)
{
	_cleanup_(place_done) struct place p = place_new();
	_cleanup_(capture_dir_freep) struct capture_dir *dir = open_dir(&p);
	struct err err = { "" };

	close(capture_dir_create(dir, "x.sonde", &err));
	CHECK_INT(capture_dir_create(dir, "x.sonde", &err), -EEXIST);
	CHECK_INT(capture_dir_commit(dir, "x.sonde", &err), 0);
	close(capture_dir_create(dir, "x.sonde", &err));
	CHECK_INT(capture_dir_commit(dir, "x.sonde", &err), -EEXIST);
	CHECK(strstr(err.text, "x.sonde"));
	capture_dir_remove(dir, "x.sonde");
	CHECK_INT(place_count(&p), 1);
}

TEST(unsafe_names_are_refused)
{
	_cleanup_(place_done) struct place p = place_new();
	_cleanup_(capture_dir_freep) struct capture_dir *dir = open_dir(&p);
	struct err err = { "" };

	CHECK_INT(capture_dir_create(dir, "../x.sonde", &err), -EINVAL);
	CHECK_INT(capture_dir_create(dir, "/etc/x.sonde", &err), -EINVAL);
	CHECK_INT(capture_dir_create(dir, "x", &err), -EINVAL);
	CHECK_INT(capture_dir_commit(dir, "missing.sonde", &err), -ENOENT);
	CHECK_INT(place_count(&p), 0);
}

TEST(a_partial_file_is_removed_at_the_end)
{
	_cleanup_(place_done) struct place p = place_new();
	struct capture_dir *dir = open_dir(&p);
	struct err err = { "" };

	close(capture_dir_create(dir, "x.sonde", &err));
	CHECK_INT(place_count(&p), 1);
	capture_dir_free(dir);
	CHECK_INT(place_count(&p), 0);
}

TEST(files_of_a_killed_flight_recorder_are_removed_at_the_next_start)
{
	_cleanup_(place_done) struct place p = place_new();
	static const char *const names[] = { ".sonde-snap-4194304",
					     ".sonde-partial-4194304-x.sonde", ".sonde-snap-1",
					     "mine.sonde" };
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", p.path, names[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	capture_dir_free(open_dir(&p));
	CHECK_INT(place_count(&p), 2); /* process 1 is running */
}

TEST(directories_that_others_can_write_to_are_refused)
{
	_cleanup_(place_done) struct place p = place_new();
	struct capture_dir *dir = NULL;
	struct err err = { "" };

	CHECK_INT(chmod(p.path, 0777), 0);
	CHECK_INT(capture_dir_open(p.path, &dir, &err), -EPERM);
	CHECK(strstr(err.text, "every user"));
	CHECK(capture_dir_open("/dev/null", &dir, &err) < 0);
	CHECK(capture_dir_open("/proc/self/none/x", &dir, &err) < 0);
}

TEST(a_missing_directory_is_created_for_its_user_only)
{
	_cleanup_(place_done) struct place p = place_new();
	struct capture_dir *dir = NULL;
	struct err err = { "" };
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "%s/new", p.path);
	CHECK_INT(capture_dir_open(path, &dir, &err), 0);
	CHECK_STR(capture_dir_path(dir), path);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	capture_dir_free(dir);
}

/* A flight recorder that answers one request. */
static pid_t serve_once(const struct place *p, int code, const char *text)
{
	int ready[2];
	char byte;

	CHECK_INT(pipe(ready), 0);

	pid_t pid = fork();

	if (pid == 0) {
		struct control_server *s = NULL;
		struct err err = { "" };

		if (snap_server_new(p->path, &s, &err) < 0 || write(ready[1], "", 1) < 0)
			_exit(1);
		close(ready[0]);
		close(ready[1]);
		while (poll(&(struct pollfd){ control_server_fd(s), POLLIN, 0 }, 1, 5000) > 0)
			if (control_server_poll(s)) {
				snap_server_reply(s, code, text);
				_exit(0);
			}
		_exit(1);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

TEST(a_snap_returns_the_path_of_the_capture)
{
	_cleanup_(place_done) struct place p = place_new();
	pid_t server = serve_once(&p, 0, "/x/y.sonde");
	_cleanup_(freep) char *path = NULL;
	struct err err = { "" };

	CHECK_INT(snap_ask(server, &path, &err), 0);
	CHECK_STR(path, "/x/y.sonde");
	waitpid(server, NULL, 0);
}

TEST(a_snap_returns_the_error_of_the_flight_recorder)
{
	_cleanup_(place_done) struct place p = place_new();
	pid_t server = serve_once(&p, -ENOSPC, "cannot write 'y': No space left on device");
	char *path = NULL;
	struct err err = { "" };

	CHECK(snap_ask(server, &path, &err) < 0);
	CHECK_STR(err.text, "cannot write 'y': No space left on device");
	waitpid(server, NULL, 0);
}

TEST(a_reply_with_control_characters_is_refused)
{
	_cleanup_(place_done) struct place p = place_new();
	pid_t server = serve_once(&p, 0, "/x/\033[2J.sonde");
	char *path = NULL;
	struct err err = { "" };

	CHECK_INT(snap_ask(server, &path, &err), -EBADMSG);
	waitpid(server, NULL, 0);
}

TEST(a_snap_without_a_flight_recorder_fails)
{
	char *path = NULL;
	struct err err = { "" };

	CHECK_INT(snap_ask(getpid(), &path, &err), -ESRCH);
	CHECK(strstr(err.text, "not a flight recorder"));
}

TEST(a_flight_recorder_that_dies_ends_the_snap)
{
	_cleanup_(place_done) struct place p = place_new();
	pid_t server = serve_once(&p, 0, "");
	char *path = NULL;
	struct err err = { "" };

	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	CHECK(snap_ask(server, &path, &err) < 0);
}

TEST(a_connection_that_asks_nothing_gets_no_reply)
{
	_cleanup_(place_done) struct place p = place_new();
	struct control_server *s = NULL;
	struct err err = { "" };

	CHECK_INT(snap_server_new(p.path, &s, &err), 0);
	CHECK(!control_server_poll(s));
	snap_server_reply(s, 0, "x");
	control_server_free(s);
}

TEST(a_path_too_long_for_a_socket_is_reported)
{
	struct control_server *s = NULL;
	struct err err = { "" };
	char path[300];

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	CHECK_INT(snap_server_new(path, &s, &err), -ENAMETOOLONG);
	CHECK(strstr(err.text, "SIGUSR1"));
}

TEST(a_status_passes_with_and_without_a_descriptor)
{
	int pair[2], fd = -1;

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CHECK_INT(fd_message_send(pair[0], 0, STDERR_FILENO), 0);
	CHECK_INT(fd_message_receive(pair[1], &fd), 0);
	CHECK(fd > STDERR_FILENO);
	close(fd);
	CHECK_INT(fd_message_send(pair[0], -ENOSPC, -1), 0);
	CHECK_INT(fd_message_receive(pair[1], &fd), -ENOSPC);
	CHECK_INT(send(pair[0], "malformed", 9, 0), 9);
	CHECK_INT(fd_message_receive(pair[1], &fd), -EBADMSG);
	close(pair[0]);
	CHECK_INT(fd_message_receive(pair[1], &fd), -EPIPE);
	close(pair[1]);
}
