/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event/counter.h"
#include "test.h"

static char scratch_dir[256];
static pid_t scratch_owner;

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	abort();
}

static void remove_scratch(void)
{
	if (getpid() != scratch_owner)
		return;
	DIR *dir = opendir(scratch_dir);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (unlinkat(dirfd(dir), e->d_name, 0) < 0)
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
	rmdir(scratch_dir);
}

const char *scratch(const char *name)
{
	static char path[sizeof(scratch_dir) + 64];

	if (!scratch_dir[0]) {
		const char *tmp = getenv("TMPDIR");

		snprintf(scratch_dir, sizeof(scratch_dir), "%s/sonde-test-XXXXXX", tmp ?: "/tmp");
		must(mkdtemp(scratch_dir), "mkdtemp");
		scratch_owner = getpid();
		atexit(remove_scratch);
	}
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	return path;
}

const struct capture_meta build_meta = {
	.host = "testhost",
	.kernel = "6.1.0-test",
	.machine = "x86_64",
	.command = "sonde record -p 17",
	.tool = "sonde test",
	.cpu_count = 4,
	.start = 900,
	.realtime_offset = 1700000000000000000,
	.boottime_offset = -5,
};

struct capture_writer *build_capture(const char *path)
{
	struct capture_writer *w = NULL;
	struct err err;

	must(capture_create(path, &build_meta, &w, &err) == 0, path);
	return w;
}

void build_add(struct capture_writer *w, const struct record *record)
{
	struct err err;

	must(capture_write(w, record, &err) == 0, "capture_write");
}

void build_probe_event(struct capture_writer *w, nsec_t time, uint16_t type, const void *data,
		       size_t size)
{
	union {
		struct record_probe_event probe_event;
		unsigned char room[2040];
	} r = { .probe_event = { .head = { .time = time, .tid = 17, .kind = RECORD_PROBE_EVENT },
				 .type = type } };

	r.probe_event.size = size;
	r.probe_event.head.words = (sizeof(r.probe_event) + size + 7) / 8;
	memcpy(r.probe_event.data, data, size);
	build_add(w, &r.probe_event.head);
}

void build_stack(struct capture_writer *w, nsec_t time, uint32_t stack, uint16_t kernel_count,
		 uint16_t user_count)
{
	union {
		struct record_stack stack;
		unsigned char room[2040];
	} r = { .stack = { .head = { .time = time, .kind = RECORD_STACK }, .stack = stack } };
	unsigned count = kernel_count + user_count;

	r.stack.kernel_count = kernel_count;
	r.stack.user_count = user_count;
	r.stack.head.words = (sizeof(r.stack) + 4 * count + 7) / 8;
	for (unsigned i = 0; i < count; i++)
		r.stack.frames[i] = i + 1;
	build_add(w, &r.stack.head);
}

void build_close(struct capture_writer *w)
{
	struct err err;

	must(capture_close(w, &err) == 0, "capture_close");
}

void build_all_kinds(struct capture_writer *w)
{
	struct socket_address address = { .family = 2,
					  .protocol = 6,
					  .local_port = 80,
					  .peer_port = 40000,
					  .local = { 127, 0, 0, 1 },
					  .peer = { 127, 0, 0, 1 } };
	uint32_t comm = capture_add_string(w, "redis-server"),
		 name = capture_add_string(w, "dump.rdb");
	struct err err;

	build_add(w, REC(CLOCK, clock, 1000, 0, .realtime = 1700000000000000000));
	build_add(w, REC(TASK, task, 1001, 17, .pid = 16, .parent = 1, .comm = comm));
	build_add(w, REC(PROCESS, process, 1002, 16, .pid = 16, .cmdline = comm));
	build_add(w, REC(RUN, run, 1003, 17, .start = 1000, .irq = 1));
	build_add(w, REC(SOCKET, socket, 1004, 17, .object = 99, .address = address));
	build_add(w, REC(MESSAGE, message, 1005, 17, .object = 99, .bytes = 12));
	build_add(w, REC(SOCKET_STATE, socket_state, 1006, 0, .address = address, .to = 1));
	build_add(w, REC(FILE, file, 1007, 17, .object = 5, .inode = 7, .name = name));
	build_add(w, REC(WAIT, wait, 1008, 17, .start = 1003, .woken = 1007, .state = 'D'));
	must(capture_flush(w, &err) == 0, "capture_flush");
	build_add(w, REC(SYSCALL, syscall, 1009, 17, .start = 1003, .nr = 74));
	build_add(w, REC(BLOCK, block, 1010, 17, .start = 1004, .bytes = 4096, .op = 'F'));
	build_add(w, REC(DEVICE, device, 1011, 0, .name = capture_add_string(w, "vda")));
	build_add(w, REC(PROBE_TYPE, probe_type, 1012, 0, .type = 1,
			 .name = capture_add_string(w, "sched:sched_migrate_task")));
	build_probe_event(w, 1013, 1, "abcde", 5);
	build_add(w, REC(SAMPLE, sample, 1014, 17, .stack = 1));
	build_stack(w, 1015, 1, 1, 2);
	build_add(w, REC(FRAME, frame, 1016, 0, .frame = 1, .address = 0xffffffff81000000));
	build_add(w,
		  REC(SYMBOL, symbol, 1017, 0, .frame = 1, .name = capture_add_string(w, "fsync")));
	build_add(w, REC(LOSS, loss, 1018, 0, .start = 1000, .end = 1001, .count = 3));
	build_add(w, REC(CONTEXT, context, 1019, 17, .since = 1012, .flags = CONTEXT_OBSERVED));
	build_add(w, REC(ATTRIBUTE, attribute, 1020, 17, .key = comm, .value = name,
			 .type = ATTRIBUTE_STRING));
	build_add(w, REC(SPAN, span, 1021, 17, .start = 1004, .service = comm));
	build_add(w, REC(EXIT, exit, 1022, 17, .pid = 16));
	build_add(w, REC(TRANSMIT, transmit, 1023, 0, .object = 4711, .left = 1016, .position = 7));
	build_add(w, REC(EPOCH, epoch, 1024, 0, .number = 1));
	build_add(w, REC(UNREAD, unread, 1025, 0, .object = 4711, .arrived = 1002, .bytes = 7));
	build_add(w, REC(COUNTER, counter, 1026, 0, .counter = COUNTER_WRITTEN, .count = 26));
}

int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		test_failures = 0;
		fn();
		_exit(test_failures > 0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	return WEXITSTATUS(status);
}
