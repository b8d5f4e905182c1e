/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk - waits that a block device ends: D.
 *
 *	disk KIND DIRECTORY [COUNT [KIBIBYTES]]
 *
 * fsync writes and flushes; direct reads with O_DIRECT; fault touches a mapped page
 * that is not in memory.  The kernel counts how often a call blocks: see truth.h.
 *
 * Also prints the counters of /proc/self/io and the extents of the file, which the
 * block I/O of direct must cover exactly once.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "truth.h"

#define EXTENT_MAX 4096
#define PAGE 4096

static unsigned long count;
static size_t piece; /* size of one call, bytes */
static char *buffer;
static int file = -1;
static char path[PATH_MAX];

static void write_file(void)
{
	for (unsigned long i = 0; i < count; i++)
		must(pwrite(file, buffer, piece, (off_t)(i * piece)), "write");
	must(fsync(file), "fsync");
}

static void reopen(int flags)
{
	close(file);
	file = (int)must(open(path, flags), "open");
	must(-posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
}

static void prepare_fsync(void)
{
	write_file(); /* allocate the blocks, so that all rounds are equal */
}

static void call_fsync(struct track *t, unsigned long i)
{
	must(pwrite(file, buffer, piece, (off_t)(i * piece)), "write");
	call_begin(t);
	must(fsync(file), "fsync");
	call_end(t);
}

static void prepare_direct(void)
{
	write_file();
	reopen(O_RDONLY | O_DIRECT);
}

static void call_direct(struct track *t, unsigned long i)
{
	call_begin(t);
	must(pread(file, buffer, piece, (off_t)(i * piece)), "read");
	call_end(t);
}

static const volatile char *map;

static void prepare_fault(void)
{
	write_file();
	reopen(O_RDONLY);
	void *p = mmap(NULL, count * piece, PROT_READ, MAP_SHARED, file, 0);
	if (p == MAP_FAILED)
		must(-1, "mmap");
	must(madvise(p, count * piece, MADV_RANDOM), "madvise"); /* no read-ahead */
	map = p;
}

__attribute__((noinline)) static char touch_page(const volatile char *p)
{
	return *p;
}

static void call_fault(struct track *t, unsigned long i)
{
	call_begin(t);
	touch_page(map + i * piece);
	call_end(t);
}

static void tell_extents(void)
{
	struct fiemap *f = calloc(1, sizeof(*f) + EXTENT_MAX * sizeof(f->fm_extents[0]));
	int64_t *places = calloc(2 * EXTENT_MAX, sizeof(*places));

	f->fm_length = FIEMAP_MAX_OFFSET;
	f->fm_flags = FIEMAP_FLAG_SYNC;
	f->fm_extent_count = EXTENT_MAX;
	if (ioctl(file, FS_IOC_FIEMAP, f) == 0) {
		for (unsigned i = 0; i < f->fm_mapped_extents; i++) {
			places[2 * i] = (int64_t)f->fm_extents[i].fe_physical;
			places[2 * i + 1] = (int64_t)f->fm_extents[i].fe_length;
		}
		truth_add_list("extents", places, 2 * f->fm_mapped_extents);
	}
	free(places);
	free(f);
}

/* A line "NAME: NUMBER" of /proc/self/io, or -1. */
static long io_count(const char *name)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[64];
	long value = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtol(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static const struct kind {
	const char *name;
	size_t kibibytes;
	void (*prepare)(void);
	void (*call)(struct track *, unsigned long);
} kinds[] = {
	{ "fsync", 8192, prepare_fsync, call_fsync },
	{ "direct", 8192, prepare_direct, call_direct },
	{ "fault", 64, prepare_fault, call_fault },
};

static void work(const struct kind *kind)
{
	kind->prepare();
	tell_extents();
	truth_gate();
	struct track *t = track_new(kind->name);
	long read_before = io_count("read_bytes"), written_before = io_count("write_bytes");
	for (unsigned long i = 0; i < count; i++)
		kind->call(t, i);
	truth_add("read_bytes", "%ld", io_count("read_bytes") - read_before);
	truth_add("write_bytes", "%ld", io_count("write_bytes") - written_before);
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	struct stat st;

	truth_init("disk");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc > 2 && strcmp(kinds[i].name, argv[1]) == 0)
			kind = &kinds[i];
	if (!kind) {
		fputs("disk: KIND DIRECTORY, and a KIND that there is\n", stderr);
		return 1;
	}
	count = number_arg(argc, argv, 3, 53);
	piece = number_arg(argc, argv, 4, kind->kibibytes) << 10;
	if (posix_memalign((void **)&buffer, PAGE, piece) != 0)
		return 1;
	memset(buffer, 1, piece);
	snprintf(path, sizeof(path), "%s/disk.%d", argv[2], getpid());
	file = (int)must(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), "create");
	must(fstat(file, &st), "fstat");
	truth_add("device", "%ju", (uintmax_t)st.st_dev);
	truth_add("inode", "%ju", (uintmax_t)st.st_ino);
	truth_add("path", "\"%s\"", path);
	work(kind);
	unlink(path);
	truth_print();
	return 0;
}
