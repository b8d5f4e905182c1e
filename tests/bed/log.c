/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "log.h"

struct log {
	size_t room;
	atomic_size_t used;
	struct entry entries[];
};

nsec_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec_t)t.tv_sec * NSEC_PER_SEC + (nsec_t)t.tv_nsec;
}

void die(const char *fmt, ...)
{
	int error = errno;
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(error));
	_exit(1);
}

/* Populated, so that no request causes a page fault. */
struct log *log_new(size_t room)
{
	struct log *log =
		mmap(NULL, sizeof(*log) + room * sizeof(log->entries[0]), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (log == MAP_FAILED)
		die("cannot allocate the log");
	log->room = room;
	return log;
}

struct entry *log_entry(struct log *log)
{
	size_t i = atomic_fetch_add(&log->used, 1);

	errno = ENOSPC;
	if (i >= log->room)
		die("the log is full after %zu requests", log->room);
	return &log->entries[i];
}

static void write_ends(const struct ends *e, FILE *file)
{
	fprintf(file, "\"local\": \"%s\", \"peer\": \"%s\", \"inode\": %lu", e->local, e->peer,
		e->inode);
}

static void write_call(const struct call_entry *c, FILE *file)
{
	fprintf(file, "{\"wire\": \"%s\", ", c->wire);
	write_ends(&c->ends, file);
	fprintf(file,
		", \"tid\": %u, \"server\": %u, \"gave\": %u, \"got\": %u, \"sending\": %lu, "
		"\"sent\": %lu, "
		"\"replied\": %lu}",
		c->tid, c->server, c->gave, c->got, c->sending, c->sent, c->replied);
}

static void write_entry(const struct entry *e, FILE *file)
{
	fprintf(file, "{\"id\": \"%s\", \"hop\": \"%s\", ", e->id, e->hop);
	write_ends(&e->ends, file);
	fprintf(file,
		", \"pid\": %u, \"reader\": %u, \"worker\": %u, \"replier\": %u, \"got\": %u, "
		"\"gave\": %u, "
		"\"read\": %lu, \"replying\": %lu, \"replied\": %lu, \"calls\": [",
		e->pid, e->reader, e->worker, e->replier, e->got, e->gave, e->read, e->replying,
		e->replied);
	for (uint32_t i = 0; i < e->call_count; i++) {
		if (i)
			fputs(", ", file);
		write_call(&e->calls[i], file);
	}
	fputs("]}\n", file);
}

void log_write(const struct log *log, FILE *file)
{
	size_t used = atomic_load(&log->used);

	for (size_t i = 0; i < used && i < log->room; i++)
		if (log->entries[i].replied)
			write_entry(&log->entries[i], file);
}
