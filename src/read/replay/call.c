/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls, and the objects behind file descriptors.
 *
 * The kernel's recorder looks up a descriptor when the thread blocks.  A trace
 * has no descriptor table, but it has the calls that change it.  So the replay
 * keeps a table for each process: open(), socket() and similar calls fill it, dup()
 * copies an entry, close() removes one, and fork() copies the table.  A descriptor
 * that was open before the trace began is unknown until a call implies its kind:
 * fsync(), for example, takes only files.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <xxhash.h>

#include "read/replay/internal.h"

/* x86-64 numbers, as in event/syscall_table.h. */
enum {
	CALL_OPEN = 2,
	CALL_CLOSE = 3,
	CALL_LSEEK = 8,
	CALL_PREAD64 = 17,
	CALL_PWRITE64 = 18,
	CALL_DUP = 32,
	CALL_DUP2 = 33,
	CALL_SOCKET = 41,
	CALL_ACCEPT = 43,
	CALL_FCNTL = 72,
	CALL_FLOCK = 73,
	CALL_FSYNC = 74,
	CALL_FDATASYNC = 75,
	CALL_FTRUNCATE = 77,
	CALL_CREAT = 85,
	CALL_FUTEX = 202,
	CALL_EPOLL_CREATE = 213,
	CALL_GETDENTS64 = 217,
	CALL_INOTIFY_INIT = 253,
	CALL_OPENAT = 257,
	CALL_SYNC_FILE_RANGE = 277,
	CALL_SIGNALFD = 282,
	CALL_TIMERFD_CREATE = 283,
	CALL_EVENTFD = 284,
	CALL_FALLOCATE = 285,
	CALL_ACCEPT4 = 288,
	CALL_SIGNALFD4 = 289,
	CALL_EVENTFD2 = 290,
	CALL_EPOLL_CREATE1 = 291,
	CALL_DUP3 = 292,
	CALL_INOTIFY_INIT1 = 294,
	CALL_IO_URING_SETUP = 425,
	CALL_OPENAT2 = 437,
	CALL_FUTEX_WAIT = 455,
};

/* The value of a descriptor in the table. */
static uint64_t as_value(enum object_kind kind, uint64_t object)
{
	return object << 8 | kind;
}

void replay_descriptors_share(struct replay_thread *t, struct replay_thread *with)
{
	if (!with->descriptors) {
		with->descriptors = must_alloc(sizeof(*with->descriptors));
		with->descriptors->users = 1;
	}
	t->descriptors = with->descriptors;
	t->descriptors->users++;
}

void replay_descriptors_copy(struct replay_thread *t, const struct replay_thread *from)
{
	uint64_t key, value;

	if (!from->descriptors || !from->descriptors->map.count)
		return;
	t->descriptors = must_alloc(sizeof(*t->descriptors));
	t->descriptors->users = 1;
	for (size_t pos = 0; map_next(&from->descriptors->map, &pos, &key, &value);)
		*map_insert(&t->descriptors->map, key) = value;
}

void replay_descriptors_drop(struct replay_thread *t)
{
	struct descriptors *d = TAKE(t->descriptors);

	if (!d || --d->users)
		return;
	map_done(&d->map);
	free(d);
}

static void set_descriptor(struct replay_thread *t, uint64_t fd, uint64_t value)
{
	if (!t->descriptors) {
		t->descriptors = must_alloc(sizeof(*t->descriptors));
		t->descriptors->users = 1;
	}
	*map_insert(&t->descriptors->map, fd) = value;
}

static uint64_t get_descriptor(const struct replay_thread *t, uint64_t fd)
{
	const uint64_t *value = t->descriptors ? map_find(&t->descriptors->map, fd) : NULL;

	return value ? *value : as_value(OBJECT_NONE, 0);
}

static enum object_kind kind_of_socket(uint64_t domain)
{
	switch (domain) {
	case AF_INET:
	case AF_INET6:
		return OBJECT_INET;
	case AF_UNIX:
		return OBJECT_UNIX;
	default:
		return OBJECT_SOCKET;
	}
}

static enum object_kind kind_of_path(const char *path, uint64_t flags)
{
	if (strncmp(path, "/dev/tty", 8) == 0 || strncmp(path, "/dev/pt", 7) == 0)
		return OBJECT_TTY;
	if (strncmp(path, "/dev/input/", 11) == 0)
		return OBJECT_INPUT;
	return flags & O_DIRECTORY ? OBJECT_DIRECTORY : OBJECT_FILE;
}

/* A file is identified by its path, if the trace contains it. */
static uint64_t file_value(struct replay *r, const struct replay_thread *t, uint64_t flags)
{
	const char *path = strtab_get(r->strings, t->path);
	enum object_kind kind = kind_of_path(path, flags);

	if (!*path || kind == OBJECT_TTY || kind == OBJECT_INPUT)
		return as_value(kind, 0);

	uint64_t object = XXH3_64bits(path, strlen(path)) >> 8;
	uint64_t *described = map_insert(&r->files, object);

	if (!*described) {
		struct record_file *file =
			replay_make(r, RECORD_FILE, sizeof(*file), t->tid, t->cpu, r->now);

		file->object = object;
		file->name = t->path.i;
		*described = 1;
	}
	return as_value(kind, object);
}

/* The object behind the descriptor that a call returns; 0 if it returns none. */
static uint64_t returned_value(struct replay *r, const struct replay_thread *t)
{
	switch (t->call) {
	case CALL_OPEN:
		return file_value(r, t, t->args[1]);
	case CALL_CREAT:
	case CALL_OPENAT2:
		return file_value(r, t, 0);
	case CALL_OPENAT:
		return file_value(r, t, t->args[2]);
	case CALL_SOCKET:
		return as_value(kind_of_socket(t->args[0]), 0);
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
	case CALL_DUP:
	case CALL_DUP2:
	case CALL_DUP3:
		return get_descriptor(t, t->args[0]);
	case CALL_FCNTL:
		return t->args[1] == F_DUPFD || t->args[1] == F_DUPFD_CLOEXEC
			       ? get_descriptor(t, t->args[0])
			       : 0;
	case CALL_EPOLL_CREATE:
	case CALL_EPOLL_CREATE1:
		return as_value(OBJECT_EPOLL, 0);
	case CALL_INOTIFY_INIT:
	case CALL_INOTIFY_INIT1:
		return as_value(OBJECT_INOTIFY, 0);
	case CALL_SIGNALFD:
	case CALL_SIGNALFD4:
		return as_value(OBJECT_SIGNALFD, 0);
	case CALL_TIMERFD_CREATE:
		return as_value(OBJECT_TIMERFD, 0);
	case CALL_EVENTFD:
	case CALL_EVENTFD2:
		return as_value(OBJECT_EVENTFD, 0);
	case CALL_IO_URING_SETUP:
		return as_value(OBJECT_IO_URING, 0);
	default:
		return 0;
	}
}

/* Calls that only take files. */
static bool takes_file(int nr)
{
	switch (nr) {
	case CALL_LSEEK:
	case CALL_PREAD64:
	case CALL_PWRITE64:
	case CALL_FSYNC:
	case CALL_FDATASYNC:
	case CALL_FTRUNCATE:
	case CALL_GETDENTS64:
	case CALL_SYNC_FILE_RANGE:
	case CALL_FALLOCATE:
		return true;
	default:
		return false;
	}
}

static void follow_descriptors(struct replay *r, struct replay_thread *t, int64_t result)
{
	if (result < 0)
		return;
	if (t->call == CALL_CLOSE) {
		if (t->descriptors)
			map_remove(&t->descriptors->map, t->args[0]);
		return;
	}

	uint64_t value = returned_value(r, t);

	if (value)
		set_descriptor(t, result, value);
}

void replay_call_enter(struct replay *r, struct replay_thread *t, const struct raw_event *e)
{
	t->call = e->syscall.nr >= 0 && e->syscall.nr < INT16_MAX ? e->syscall.nr : SYSCALL_UNKNOWN;
	t->call_start = e->time;
	memcpy(t->args, e->syscall.args, sizeof(t->args));
	t->path = e->syscall.path.s
			  ? strtab_add_n(r->strings, e->syscall.path.s, e->syscall.path.len)
			  : (str_id){ 0 };
}

static void make_call(struct replay *r, const struct replay_thread *t, nsec_t end, int64_t result,
		      uint8_t flags)
{
	struct record_syscall *call =
		replay_make(r, RECORD_SYSCALL, sizeof(*call), t->tid, t->cpu, end);

	call->start = t->call_start;
	memcpy(call->args, t->args, sizeof(call->args));
	call->result = result;
	call->nr = t->call;
	call->flags = flags;
}

void replay_call_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e)
{
	t->cpu = e->cpu;
	if (t->call_start) {
		make_call(r, t, e->time, e->syscall.result, 0);
		follow_descriptors(r, t, e->syscall.result);
	}
	t->call = SYSCALL_NONE;
	t->call_start = 0;
}

void replay_call_finish(struct replay *r, struct replay_thread *t)
{
	if (t->call_start)
		make_call(r, t, r->now, 0, SYSCALL_OPEN);
}

void replay_call_site(const struct replay_thread *t, struct wait_site *site)
{
	site->syscall = t->kernel ? SYSCALL_NONE : t->call;
	if (!t->call_start)
		return;
	if (t->call == CALL_FUTEX || t->call == CALL_FUTEX_WAIT) {
		site->object = t->args[0];
		site->object_kind = OBJECT_FUTEX;
		if (t->call == CALL_FUTEX)
			site_set_futex(site, t->args[1], t->args[2]);
	} else if (syscall_class_of(t->call) == SYSCALL_DESCRIPTOR || t->call == CALL_FLOCK ||
		   t->call == CALL_FCNTL) {
		uint64_t value = get_descriptor(t, t->args[0]);

		site->object = value >> 8;
		site->object_kind = value & 0xff;
		if (!site->object_kind && takes_file(t->call))
			site->object_kind = OBJECT_FILE;
		/* waits for a disk are uninterruptible: this one was for a device or a FIFO */
		if (site->object_kind == OBJECT_FILE && !(site->flags & INTERVAL_UNINTERRUPTIBLE))
			site->object_kind = OBJECT_NONE;
	}
}
