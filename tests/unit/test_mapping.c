/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapping.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/base.h"
#include "test.h"

enum { PAGE = 4096, PAGES = 8 };

/* A sanitizer's handler would report the children, which end by SIGBUS on purpose. */
__attribute__((constructor)) static void restore_default(void)
{
	signal(SIGBUS, SIG_DFL);
}

static int make_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	char page[PAGE];

	memset(page, 'x', sizeof(page));
	for (int i = 0; i < PAGES; i++)
		CHECK_INT(write(fd, page, sizeof(page)), PAGE);
	return fd;
}

static volatile char *map(int fd, const char *name)
{
	volatile char *text =
		mapping_new(fd, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, name);

	if (!text)
		abort();
	return text;
}

TEST(missing_pages_read_as_zeros_and_the_mapping_is_lost)
{
	_cleanup_(closep) int fd = make_file();
	volatile char *text = map(fd, "first"), *other = map(fd, "second");
	unsigned int before = mapping_losses();

	CHECK_INT(text[7 * PAGE], 'x');
	CHECK(!mapping_is_lost((char *)text));
	CHECK_INT(ftruncate(fd, 2 * PAGE), 0);
	CHECK_INT(text[2 * PAGE - 1], 'x');
	CHECK_INT(text[5 * PAGE + 17], 0);
	CHECK_INT(text[7 * PAGE], 0); /* replaced together with page 5 */
	CHECK_INT(mapping_losses(), before + 1);
	text[2 * PAGE] = 'y'; /* a write counts as a loss, too */
	CHECK_INT(text[2 * PAGE], 'y');
	CHECK(mapping_is_lost((char *)text));
	CHECK(!mapping_is_lost((char *)other));
	mapping_free((char *)text, PAGES * PAGE);
	mapping_free((char *)other, PAGES * PAGE);
	CHECK_STR(mapping_lost_name(), "first");
}

TEST(a_mapping_without_a_name_is_not_reported_by_name)
{
	_cleanup_(closep) int fd = make_file();
	volatile char *text = map(fd, NULL);

	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(text[0], 0);
	CHECK(mapping_is_lost((char *)text));
	mapping_free((char *)text, PAGES * PAGE);
	CHECK_STR(mapping_lost_name(), "first");
}

TEST(a_freed_mapping_leaves_no_state_at_its_address)
{
	_cleanup_(closep) int fd = make_file();

	for (int i = 0; i < 3; i++) { /* probably at the same address */
		volatile char *text = map(fd, "again");

		CHECK(!mapping_is_lost((char *)text));
		CHECK_INT(ftruncate(fd, 0), 0);
		CHECK_INT(text[0], 0);
		CHECK(mapping_is_lost((char *)text));
		mapping_free((char *)text, PAGES * PAGE);
		CHECK_INT(ftruncate(fd, (off_t)PAGES * PAGE), 0);
	}
}

/* The signal that kills a child which calls fn; 0 if it exits. */
static int signal_of(void (*act)(volatile char *text, int fd))
{
	_cleanup_(closep) int fd = make_file();
	volatile char *text = map(fd, "child");
	int status = 0;

	fflush(stdout);

	pid_t pid = fork();

	if (pid == 0) {
		act(text, fd);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	mapping_free((char *)text, PAGES * PAGE);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void touch_ours(volatile char *text, int fd)
{
	if (ftruncate(fd, 0) < 0 || text[0] != 0 || !mapping_is_lost((char *)text))
		_exit(1);
}

static void touch_unknown(volatile char *text, int fd)
{
	volatile char *unknown = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	(void)text;
	mapping_guard_free(mapping_guard_new("none"));
	if (ftruncate(fd, 0) == 0)
		(void)unknown[0];
}

static void touch_guarded(volatile char *text, int fd)
{
	volatile char *unknown = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	struct mapping_guard *guard = mapping_guard_new("library");
	unsigned int before = mapping_losses();

	if (ftruncate(fd, 0) < 0 || unknown[PAGE] != 0 || unknown[0] != 0 ||
	    mapping_losses() != before + 2 || mapping_is_lost((char *)text))
		_exit(1);
	mapping_guard_free(guard);
}

static void send_it(volatile char *text, int fd)
{
	(void)text;
	(void)fd;
	kill(getpid(), SIGBUS);
}

TEST(a_forked_child_keeps_its_mappings)
{
	CHECK_INT(signal_of(touch_ours), 0);
}

TEST(a_guard_covers_the_mappings_of_a_library)
{
	CHECK_INT(signal_of(touch_guarded), 0);
	CHECK(signal_of(touch_unknown) != 0); /* an exit status, with a sanitizer */
}

TEST(sigbus_from_another_process_keeps_its_action)
{
	CHECK(signal_of(send_it) != 0);
}

static void *map_and_lose(void *arg)
{
	size_t *wrong = arg;

	for (int i = 0; i < 200; i++) {
		_cleanup_(closep) int fd = memfd_create("thread", MFD_CLOEXEC);

		if (ftruncate(fd, (off_t)PAGES * PAGE) < 0)
			abort();

		volatile char *text = map(fd, "thread");

		if (i % 3 == 0 && ftruncate(fd, 0) < 0)
			abort();
		*wrong += text[(i % PAGES) * PAGE] != 0;
		*wrong += mapping_is_lost((char *)text) != (i % 3 == 0);
		mapping_free((char *)text, PAGES * PAGE);
	}
	return NULL;
}

TEST(a_loss_affects_only_its_own_mapping)
{
	pthread_t threads[4];
	size_t wrong[ARRAY_LEN(threads)] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_create(&threads[i], NULL, map_and_lose, &wrong[i]);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], NULL);
		CHECK_INT(wrong[i], 0);
	}
}
