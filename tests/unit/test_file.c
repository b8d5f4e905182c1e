/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, and files that other users planted under their names. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "build.h"
#include "bytes.h"
#include "test.h"

enum { OTHER_USER = 54321 };

static const char *create_error(const char *path, int code)
{
	static struct err err;

	err.text[0] = '\0';
	CHECK_INT(file_create(path, &err), code);
	return err.text;
}

static void put(const char *path, const char *text)
{
	bytes_write(&(struct bytes){ (unsigned char *)text, strlen(text) }, path);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

TEST(a_new_file_is_readable_by_its_owner_only)
{
	const char *path = scratch("new");
	mode_t mask = umask(0);
	struct err err = { "" };
	_cleanup_(closep) int fd = file_create(path, &err);
	struct stat st;

	umask(mask);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK(st.st_uid == geteuid());
}

TEST(an_own_file_is_replaced_whatever_its_mode)
{
	_cleanup_(freep) char *path = must_strdup(scratch("old"));
	struct err err = { "" };
	struct stat st;

	put(path, "old");
	CHECK_INT(chmod(path, 0644), 0);

	_cleanup_(closep) int reader = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(closep) int fd = file_create(path, &err);

	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK(fstat(reader, &st) == 0 && st.st_size == 3);
}

TEST(a_symbolic_link_is_not_followed)
{
	_cleanup_(freep) char *target = must_strdup(scratch("target"));
	_cleanup_(freep) char *dangling = must_strdup(scratch("dangling"));
	const char *link = scratch("link");

	put(target, "mine");
	CHECK_INT(symlink(target, link), 0);
	CHECK_INT(symlink("/nowhere/at/all", dangling), 0);
	CHECK(strstr(create_error(link, -ELOOP), "it is a symbolic link"));
	CHECK(strstr(create_error(dangling, -ELOOP), "it is a symbolic link"));
	CHECK_INT(size_of(target), 4);
}

TEST(a_file_of_another_user_is_refused_and_not_emptied)
{
	_cleanup_(freep) char *path = must_strdup(scratch("theirs"));
	struct err err = { "" };

	put(path, "theirs");
	if (chown(path, OTHER_USER, OTHER_USER) < 0)
		SKIP("only root can give a file away");
	CHECK(strstr(create_error(path, -EPERM), "it belongs to another user (uid 54321)"));
	CHECK_INT(file_append(path, &err), -EPERM);
	CHECK_INT(file_replace("/nowhere/x", path, &err), -EPERM);
	CHECK_INT(size_of(path), 6);
}

/* A file that an earlier run under sudo created can be replaced. */
TEST(under_sudo_files_of_the_calling_user_are_replaced)
{
	_cleanup_(freep) char *path = must_strdup(scratch("sudo"));
	struct err err = { "" };
	struct stat st;

	put(path, "old");
	if (chown(path, OTHER_USER, OTHER_USER) < 0)
		SKIP("only root can give a file away");
	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);

	_cleanup_(closep) int fd = file_create(path, &err);

	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	CHECK_STR(err.text, "");
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 54321 && st.st_gid == 54322);
}

TEST(pipes_and_devices_are_not_replaced)
{
	const char *fifo = scratch("fifo");
	struct err err = { "" };

	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK(strstr(create_error(fifo, -EINVAL), "not a regular file"));
	CHECK(strstr(create_error("/dev/full", -EINVAL), "not a regular file"));
	CHECK(strstr(create_error("/dev", -EINVAL), "not a regular file"));
	CHECK_INT(file_append("/dev/null", &err), -EINVAL);
}

/* The check must not block to wait for a reader of the pipe. */
TEST(a_pipe_of_another_user_is_not_written_to)
{
	const char *fifo = scratch("their-fifo");
	struct err err = { "" };
	int fd = -1;

	CHECK_INT(mkfifo(fifo, 0666), 0);
	if (chown(fifo, OTHER_USER, OTHER_USER) < 0)
		SKIP("only root can give a file away");
	CHECK_INT(file_open_special(fifo, &fd, &err), 0);
	CHECK_INT(file_check_output(fifo, &err), -EINVAL);
}

TEST(devices_and_descriptors_can_be_outputs)
{
	const char *const names[] = { "/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
	struct err err = { "" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(closep) int fd = -1;

		CHECK_INT(file_open_special(names[i], &fd, &err), 1);
	}

	int none = -1;

	CHECK_INT(file_open_special(scratch("nothing"), &none, &err), 0);
}

/* The directory is read-only, but the file is writable. */
static void empty_in_place(void)
{
	const char *path = scratch("place/x");
	struct err err = { "" };
	struct stat st;

	if (geteuid() == 0 && setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
		_exit(2);

	_cleanup_(closep) int fd = file_create(path, &err);

	CHECK_STR(err.text, "");
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0);
	CHECK_INT(st.st_mode & 07777, 0600);
}

TEST(a_file_in_a_read_only_directory_is_truncated)
{
	_cleanup_(freep) char *dir = must_strdup(scratch("place"));
	_cleanup_(freep) char *path = must_strdup(scratch("place/x"));

	CHECK_INT(mkdir(dir, 0755), 0);
	put(path, "old");
	if (geteuid() != 0)
		SKIP("only root can make such a directory for another user");
	CHECK_INT(chown(path, OTHER_USER, OTHER_USER), 0);
	CHECK_INT(chmod(scratch(""), 0755), 0);
	in_child(empty_in_place);
}
