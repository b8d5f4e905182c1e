/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_worker - read a file of unknown virtue in a child process.
 *
 * Libraries that read ELF and DWARF are large, and the files come from whoever
 * we record.  So one child is forked per file.  It gives up all privileges and
 * all descriptors but two, has a limit on its memory, is the first to go when
 * the machine runs out of it, and is killed when its time is over.  It answers
 * through a pipe as it goes, function names first, so a death half-way costs
 * only what had not been said.  What it says is checked like any input.
 */
#include "record/symbol_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MEMORY_MORE (4ull << 30) /* address space beyond what we have ourselves */

/* One answer: this, then `count` times a struct said with its two strings. */
struct head {
	uint32_t key;
	uint32_t count;
	uint32_t size; /* of all that follows */
};

struct said {
	uint32_t line, offset;
	uint16_t name_len, source_len;
};

/* No file has this much to say about a frame, on average; it bounds what the parent keeps. */
enum { SAID_MAX = 4096 };
enum { ANSWER_MAX = CHAIN_MAX * (sizeof(struct said) + 2 * NAME_ROOM) };

/* The child's side. */

static size_t cut(const char *s)
{
	return strnlen(s, NAME_ROOM - 1);
}

void answer(FILE *to, size_t key, const struct symbol *chain, size_t count)
{
	struct head head = { .key = key, .count = count };

	for (size_t i = 0; i < count; i++)
		head.size += sizeof(struct said) + cut(chain[i].name) + cut(chain[i].source);
	fwrite(&head, sizeof(head), 1, to);
	for (size_t i = 0; i < count; i++) {
		struct said said = { chain[i].line, chain[i].offset, cut(chain[i].name),
				     cut(chain[i].source) };

		fwrite(&said, sizeof(said), 1, to);
		fwrite(chain[i].name, said.name_len, 1, to);
		fwrite(chain[i].source, said.source_len, 1, to);
	}
}

static void limit_memory(void)
{
	struct rlimit limit = { 0 };
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%lu", &pages) == 1) {
		limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE) + MEMORY_MORE;
		setrlimit(RLIMIT_AS, &limit);
	}
	if (file)
		fclose(file);
	file = fopen("/proc/self/oom_score_adj", "we");
	if (file) {
		fputs("1000", file);
		fclose(file);
	}
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_capset, &head, data);
}

/* Descriptors end up as: 0 to 2 nothing, 3 the file, 4 the pipe. */
static void keep_two_files(int fd, int out)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	fd = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	out = fcntl(out, F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		dup2(nothing, i);
	dup2(fd, 3);
	dup2(out, 4);
	close_range(5, ~0u, 0);
}

__attribute__((noreturn)) static void child(struct job job, int out, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN); /* a Ctrl-C is for the parent, who ends us when it wants to */
	signal(SIGTERM, SIG_DFL);
	limit_memory();
	keep_two_files(job.fd, out);
	drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0);
	unsetenv("DEBUGINFOD_URLS");

	job.fd = 3;
	FILE *to = fdopen(4, "w");
	if (!to)
		_exit(1);
	if (job.jit)
		perfmap_resolve(&job, to);
	else
		elf_resolve(&job, to);
	_exit(fflush(to) != 0);
}

/* The parent's side. */

void replies_done(struct replies *replies)
{
	for (size_t i = 0; i < replies->count; i++)
		free(replies->items[i].chain);
	free(replies->items);
	strtab_free(replies->strings);
	*replies = (struct replies){ 0 };
}

static const char *take_string(struct replies *replies, const char **at, size_t len)
{
	const char *s = strtab_get(replies->strings, strtab_add_n(replies->strings, *at, len));

	*at += len;
	return s;
}

/* False if an answer is not as it must be: then nothing more is believed. */
static bool take_answer(struct replies *replies, const struct head *head, const char *at)
{
	const char *end = at + head->size;
	_cleanup_(freep) struct symbol *chain = must_alloc(head->count * sizeof(*chain));

	for (uint32_t i = 0; i < head->count; i++) {
		struct said said;

		if ((size_t)(end - at) < sizeof(said))
			return false;
		memcpy(&said, at, sizeof(said));
		at += sizeof(said);
		if ((size_t)(end - at) < (size_t)said.name_len + said.source_len)
			return false;
		chain[i].line = said.line;
		chain[i].offset = said.offset;
		chain[i].name = take_string(replies, &at, said.name_len);
		chain[i].source = take_string(replies, &at, said.source_len);
	}
	struct reply *reply = &replies->items[head->key];
	if (reply->times++ == 2)
		return false;
	free(reply->chain);
	reply->chain = TAKE(chain);
	reply->count = head->count;
	return true;
}

/* Take all whole answers at the begin of buf; returns their size, or -1. */
static ssize_t take_answers(struct replies *replies, const char *buf, size_t len)
{
	size_t used = 0;
	struct head head;

	while (len - used >= sizeof(head)) {
		memcpy(&head, buf + used, sizeof(head));
		if (head.key >= replies->count || head.count == 0 || head.count > CHAIN_MAX ||
		    head.size > ANSWER_MAX)
			return -1;
		if (len - used < sizeof(head) + head.size)
			break;
		if (!take_answer(replies, &head, buf + used + sizeof(head)))
			return -1;
		used += sizeof(head) + head.size;
	}
	return used;
}

/* Whether the child has said all that it will. */
static bool listen_to(int in, nsec_t deadline, struct replies *replies)
{
	const size_t room = 2 * ANSWER_MAX;
	_cleanup_(freep) char *buf = must_alloc(room);
	struct pollfd poll_in = { .fd = in, .events = POLLIN };
	size_t len = 0, all = 0;

	for (nsec_t time = clock_now(); time < deadline; time = clock_now()) {
		int r = poll(&poll_in, 1, (deadline - time) / NSEC_PER_MSEC + 1);
		if (r < 0 && errno != EINTR)
			return false;
		if (r <= 0)
			continue;
		ssize_t n = read(in, buf + len, room - len);
		if (n <= 0)
			return n == 0;
		len += n;
		all += n;
		if (all > ANSWER_MAX + SAID_MAX * replies->count)
			return false;
		ssize_t used = take_answers(replies, buf, len);
		if (used < 0)
			return false;
		len -= used;
		memmove(buf, buf + used, len);
	}
	return false;
}

int worker_run(const struct job *job, nsec_t deadline, struct replies *ret, struct err *err)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(err, "cannot make a pipe to the reader of symbols");
	_cleanup_(closep) int in = ends[0], out = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_errno(err, "cannot start the reader of symbols");
	if (pid == 0)
		child(*job, out, parent);
	close(TAKE_FD(out));

	ret->strings = strtab_new();
	ret->items = must_alloc(job->count * sizeof(*ret->items));
	ret->count = job->count;
	if (!listen_to(in, deadline, ret))
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}
