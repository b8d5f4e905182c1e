/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage SAMPLE COUNT [SEED] - damages a trace at random and reads it, COUNT times.
 *
 * The damage is what disks, networks and full file systems cause: flipped bits,
 * overwritten, moved or missing blocks, a missing end.  A child process builds a model
 * from each damaged copy, as the commands do.  It must succeed or fail with an error
 * message; it must not crash, use more than LIMIT seconds of CPU time, or use more than
 * twice the memory that the undamaged sample needs, plus some slack for the allocator.
 * Copies that fail are kept, and their paths printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/vec.h"
#include "model/model.h"
#include "read/merge.h"

/* Seconds of CPU time, since the host can be busy; the alarm stops a child that sleeps. */
enum { NO_MESSAGE = 3 }; /* exit code of a failure without an error message */
enum { LIMIT = 30, ELAPSED_LIMIT = 10 * LIMIT, SLACK_KIB = 8 * 1024 };

struct part {       /* a file of the sample */
	char *name; /* path below the sample; "" if the sample is a file */
	char *data;
	size_t size;
};

struct bytes {
	char *data;
	size_t size;
};

static VEC(struct part) parts;
static const char *sample;
static uint64_t seed;

static uint64_t random_below(uint64_t limit)
{
	seed += 0x9e3779b97f4a7c15; /* splitmix64 */

	uint64_t z = seed;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return limit ? (z ^ z >> 31) % limit : 0;
}

static void die(const char *what, const char *name)
{
	fprintf(stderr, "damage: %s '%s': %s\n", what, name, strerror(errno));
	exit(1);
}

static struct bytes read_file(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		die("cannot open", path);

	struct bytes b = { must_alloc(st.st_size + 1), st.st_size };

	if (read(fd, b.data, b.size) != (ssize_t)b.size)
		die("cannot read", path);
	return b;
}

static int add_part(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (type != FTW_F)
		return 0;

	struct bytes b = read_file(path);

	*vec_push(&parts) = (struct part){ must_strdup(path + strlen(sample)), b.data, b.size };
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

static void write_part(const char *directory, const char *name, struct bytes b)
{
	_cleanup_(freep) char *path = must_printf("%s%s", directory, name);

	make_parents(path);

	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, b.data, b.size) != (ssize_t)b.size)
		die("cannot write", path);
}

static void damage_once(struct bytes *b)
{
	size_t at = random_below(b->size), length = 1 + random_below(64);

	if (!b->size)
		return;
	if (length > b->size - at)
		length = b->size - at;
	switch (random_below(7)) {
	case 0:
		b->data[at] ^= 1 << random_below(8);
		break;
	case 1:
		b->data[at] = random_below(256);
		break;
	case 2:
		memset(b->data + at, random_below(2) ? 0xff : 0, length);
		break;
	case 3:
		memmove(b->data + at, b->data + random_below(b->size - length + 1), length);
		break;
	case 4: /* missing block */
		memmove(b->data + at, b->data + at + length, b->size - at - length);
		b->size -= length;
		break;
	case 5:
		for (size_t i = 0; i < length; i++)
			b->data[at + i] = random_below(256);
		break;
	default: /* missing end, usually a short one */
		if (random_below(4) == 0)
			b->size = at;
		else
			b->size -= length;
		break;
	}
}

static void write_damaged(const char *path)
{
	size_t victim = random_below(parts.count);

	for (size_t i = 0; i < parts.count; i++) {
		const struct part *part = &parts.items[i];
		struct bytes b = { must_alloc(part->size + 1), part->size };

		memcpy(b.data, part->data, part->size);
		if (i == victim)
			for (uint64_t n = 1 + random_below(8); n; n--)
				damage_once(&b);
		write_part(path, part->name, b);
		free(b.data);
	}
}

/* Runs in the child process. */
static int read_all(char *path)
{
	_cleanup_(merge_freep) struct merge *merge = NULL;
	_cleanup_(model_freep) struct model *model = model_new();
	const struct source *source;
	const struct record *record;
	struct err err = { "" };
	int r = merge_open((char *[]){ path, NULL }, NULL, &merge, &err);

	while (r >= 0 && (r = merge_next(merge, &record, &source, &err)) > 0)
		model_add(model, source, record);
	model_finish(model);
	if (r < 0 && !err.text[0])
		return NO_MESSAGE;
	return r < 0 ? 1 : 0;
}

/* Returns the exit code, or -1 and the reason; *ret_memory is the peak resident size in KiB. */
static int try(char *path, long *ret_memory, const char **ret_why)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child < 0)
		die("cannot fork", "");
	if (child == 0) {
		setrlimit(RLIMIT_CPU, &(struct rlimit){ LIMIT, LIMIT + 1 });
		alarm(ELAPSED_LIMIT);
		_exit(read_all(path));
	}
	if (wait4(child, &status, 0, &usage) < 0)
		die("cannot wait", "");
	*ret_memory = usage.ru_maxrss;
	if (WIFSIGNALED(status)) {
		int by = WTERMSIG(status);

		*ret_why = by == SIGALRM || by == SIGXCPU ? "took too long" : strsignal(by);
		return -1;
	}
	if (WEXITSTATUS(status) > 1) {
		*ret_why = WEXITSTATUS(status) == NO_MESSAGE ? "failed without an error message"
							     : "reported by a sanitizer";
		return -1;
	}
	return WEXITSTATUS(status);
}

static void fail(const char *path, uint64_t number, const char *why)
{
	_cleanup_(freep) char *kept = must_printf("%s.kept-%" PRIu64, path, number);

	rename(path, kept);
	printf("FAIL: copy %" PRIu64 ": %s; kept as '%s'\n", number, why, kept);
}

/* The results of all copies. */
struct sum {
	uint64_t read, refused, failed;
	long whole, most; /* KiB */
};

/* Sanitizers add to the memory, so their builds have no limit. */
static bool too_much(long memory, long whole)
{
#ifdef SANITIZED
	return false;
#else
	return memory > 2 * whole + SLACK_KIB;
#endif
}

static void test_copy(char *copy, uint64_t number, struct sum *sum)
{
	const char *why = "took too much memory";
	long memory;

	write_damaged(copy);

	int r = try(copy, &memory, &why);

	sum->most = memory > sum->most ? memory : sum->most;
	if (r >= 0 && too_much(memory, sum->whole))
		r = -1;
	if (r == 0)
		sum->read++;
	else if (r > 0)
		sum->refused++;
	else if (sum->failed++ < 10)
		fail(copy, number, why);
	nftw(copy, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	char path[] = "/tmp/damage-XXXXXX";
	struct sum sum = { 0 };
	const char *why;

	if (!count) {
		fprintf(stderr, "usage: damage SAMPLE COUNT [SEED]\n");
		return 2;
	}
	sample = argv[1];
	while (strlen(sample) > 1 && sample[strlen(sample) - 1] == '/')
		argv[1][strlen(sample) - 1] = '\0';
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	if (nftw(sample, add_part, 16, FTW_PHYS) < 0 || !parts.count)
		die("cannot read", sample);
	if (try(argv[1], &sum.whole, &why) != 0) {
		fprintf(stderr, "damage: cannot read the undamaged '%s'\n", sample);
		return 1;
	}
	if (!mkdtemp(path))
		die("cannot create", path);

	_cleanup_(freep) char *copy = must_printf("%s/trace", path);

	for (uint64_t i = 0; i < count; i++)
		test_copy(copy, i, &sum);
	rmdir(path);
	printf("%" PRIu64 " damaged: %" PRIu64 " read, %" PRIu64 " refused, %" PRIu64
	       " failed; memory %ld KiB undamaged, %ld KiB at most\n",
	       count, sum.read, sum.refused, sum.failed, sum.whole, sum.most);
	return sum.failed ? 1 : 0;
}
