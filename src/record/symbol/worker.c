/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_worker - parse an untrusted file in a child process.
 *
 * The libraries that parse ELF and DWARF are large, and recorded processes provide
 * the files.  So a worker is forked per file.  It drops all privileges and all
 * descriptors but two, has a memory limit and a timer, is the first process that
 * the OOM killer selects, and can only make the system calls that reading needs.
 * It replies through a pipe while it works, function names first, so that a crash
 * loses only what was not sent.  The parent validates the replies like any input.
 *
 * The parent never signals the worker, so that the recorder's seccomp filter can
 * forbid signals to other processes.
 */
#include "record/symbol/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/caps.h"
#include "record/confine.h"

#define MEMORY_MORE (4ull << 30) /* address space in addition to the parent's */

/* A reply is a head, followed by `count` functions, each with its two strings. */
struct reply_head {
	uint32_t key;
	uint32_t count;
	uint32_t size; /* of the functions with their strings, bytes */
};

struct reply_function {
	uint32_t line, offset;
	uint16_t name_len, source_len;
};

/* Limit of the average size of replies, which bounds the parent's memory. */
enum { REPLY_AVERAGE_MAX = 4096 };
enum { REPLY_MAX = CHAIN_MAX * (sizeof(struct reply_function) + 2 * NAME_ROOM) };

enum { EXIT_CONFINE = 3 };

/* The child's side. */

static size_t limited_length(const char *s)
{
	return strnlen(s, NAME_ROOM - 1);
}

void worker_reply(FILE *to, size_t key, const struct symbol_function *chain, size_t count)
{
	struct reply_head head = { .key = key, .count = count };

	for (size_t i = 0; i < count; i++)
		head.size += sizeof(struct reply_function) + limited_length(chain[i].name) +
			     limited_length(chain[i].source);
	fwrite(&head, sizeof(head), 1, to);
	for (size_t i = 0; i < count; i++) {
		struct reply_function f = { chain[i].line, chain[i].offset,
					    limited_length(chain[i].name),
					    limited_length(chain[i].source) };

		fwrite(&f, sizeof(f), 1, to);
		fwrite(chain[i].name, f.name_len, 1, to);
		fwrite(chain[i].source, f.source_len, 1, to);
	}
}

/*
 * Files in /proc/self belong to root while the process is not dumpable.  So make it dumpable for a
 * moment, while its capabilities still protect it from other processes of the same user.
 */
static void prefer_for_oom_kill(void)
{
	static const char highest[] = "1000";

	prctl(PR_SET_DUMPABLE, 1);

	_cleanup_(closep) int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, highest, strlen(highest));

	(void)n; /* best effort */
	prctl(PR_SET_DUMPABLE, 0);
}

static void limit_memory(void)
{
	struct rlimit limit = { 0 }, nothing = { 0 };
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%lu", &pages) == 1) {
		limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE) + MEMORY_MORE;
		setrlimit(RLIMIT_AS, &limit);
	}
	if (file)
		fclose(file);
	setrlimit(RLIMIT_FSIZE, &nothing);
	prefer_for_oom_kill();
}

static void limit_time(nsec_t deadline)
{
	nsec_t now = clock_now(), left = deadline > now ? deadline - now : 1;
	struct itimerval timer = { .it_value = { .tv_sec = left / NSEC_PER_SEC,
						 .tv_usec = left % NSEC_PER_SEC / 1000 + 1 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Keep these descriptors: 0 to 2 /dev/null, 3 the file, 4 the pipe. */
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

/* Ctrl-C is for the parent, which waits for the worker; the timer kills the worker. */
static void set_signals(void)
{
	sigset_t all;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static bool confine(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return caps_limit(0, 0) == 0 && confine_parser() == 0;
}

__attribute__((noreturn)) static void child(struct job job, int out, nsec_t deadline, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	set_signals();
	limit_memory();
	limit_time(deadline);
	keep_two_files(job.fd, out);
	unsetenv("DEBUGINFOD_URLS");

	job.fd = 3;
	FILE *to = fdopen(4, "w");
	if (!to || !confine())
		_exit(EXIT_CONFINE);
	job.resolve(&job, to);
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

static const char *read_string(struct replies *replies, const char **at, size_t len)
{
	const char *s = strtab_get(replies->strings, strtab_add_n(replies->strings, *at, len));

	*at += len;
	return s;
}

/* Returns false if the reply is malformed; then the rest of the input is ignored. */
static bool read_reply(struct replies *replies, const struct reply_head *head, const char *at)
{
	const char *end = at + head->size;
	_cleanup_(freep) struct symbol_function *chain = must_alloc(head->count * sizeof(*chain));

	for (uint32_t i = 0; i < head->count; i++) {
		struct reply_function f;

		if ((size_t)(end - at) < sizeof(f))
			return false;
		memcpy(&f, at, sizeof(f));
		at += sizeof(f);
		if ((size_t)(end - at) < (size_t)f.name_len + f.source_len)
			return false;
		chain[i].line = f.line;
		chain[i].offset = f.offset;
		chain[i].name = read_string(replies, &at, f.name_len);
		chain[i].source = read_string(replies, &at, f.source_len);
	}
	struct reply *reply = &replies->items[head->key];
	if (reply->times++ == 2)
		return false;
	free(reply->chain);
	reply->chain = TAKE(chain);
	reply->count = head->count;
	return true;
}

/* Read all complete replies in buf; returns their size, or -1 if one is malformed. */
static ssize_t read_replies(struct replies *replies, const char *buf, size_t len)
{
	size_t used = 0;
	struct reply_head head;

	while (len - used >= sizeof(head)) {
		memcpy(&head, buf + used, sizeof(head));
		if (head.key >= replies->count || head.count == 0 || head.count > CHAIN_MAX ||
		    head.size > REPLY_MAX)
			return -1;
		if (len - used < sizeof(head) + head.size)
			break;
		if (!read_reply(replies, &head, buf + used + sizeof(head)))
			return -1;
		used += sizeof(head) + head.size;
	}
	return used;
}

/* Returns true if the worker closed the pipe after valid replies. */
static bool read_pipe(int in, nsec_t deadline, struct replies *replies)
{
	const size_t room = 2 * REPLY_MAX;
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
		if (all > REPLY_MAX + REPLY_AVERAGE_MAX * replies->count)
			return false;
		ssize_t used = read_replies(replies, buf, len);
		if (used < 0)
			return false;
		len -= used;
		memmove(buf, buf + used, len);
	}
	return false;
}

static void describe_failure(int status, bool is_complete, char *ret, size_t room)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (number == SIGALRM)
		snprintf(ret, room, "its parser timed out");
	else if (number == SIGSYS)
		snprintf(ret, room, "its parser made a forbidden system call");
	else if (number)
		snprintf(ret, room, "its parser was killed by signal %d", number);
	else if (WEXITSTATUS(status) == EXIT_CONFINE)
		snprintf(ret, room, "its parser could not be confined");
	else if (WEXITSTATUS(status) || !is_complete)
		snprintf(ret, room, "its parser failed");
}

int worker_run(const struct job *job, nsec_t deadline, struct replies *ret, struct err *err)
{
	int ends[2], status = 0;
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(err, "cannot create a pipe to the symbol worker");
	_cleanup_(closep) int in = ends[0], out = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_errno(err, "cannot start the symbol worker");
	if (pid == 0)
		child(*job, out, deadline, parent);
	close(TAKE_FD(out));

	ret->strings = strtab_new();
	ret->items = must_alloc(job->count * sizeof(*ret->items));
	ret->count = job->count;
	bool is_complete = read_pipe(in, deadline, ret);

	close(TAKE_FD(in)); /* a worker that still writes gets SIGPIPE */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	describe_failure(status, is_complete, ret->trouble, sizeof(ret->trouble));
	return 0;
}
