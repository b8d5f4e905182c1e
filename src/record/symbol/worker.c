/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_worker - read a file of unknown virtue in a child process.
 *
 * Libraries that read ELF and DWARF are large, and the files come from whoever
 * we record.  So one child is forked per file.  It gives up all privileges and
 * all descriptors but two, has a limit on its memory, is the first to go when
 * the machine runs out of it, can make only the system calls that reading takes, and is ended
 * by its own timer.  It answers through a pipe as it goes, function names first, so a death
 * half-way costs only what had not been said.  What it says is checked like any input.
 *
 * The parent never signals it: a recorder that may end one process could end others.
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

enum { EXIT_CONFINE = 3 };

/* The child's side. */

static size_t cut(const char *s)
{
	return strnlen(s, NAME_ROOM - 1);
}

void answer(FILE *to, size_t key, const struct symbol_function *chain, size_t count)
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

/*
 * Files of /proc/self belong to root while the process must not be dumped.  So for this it may be,
 * while it still has the capabilities that keep other processes of its user away.
 */
static void be_first_to_go(void)
{
	static const char most[] = "1000";

	prctl(PR_SET_DUMPABLE, 1);

	_cleanup_(closep) int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, most, strlen(most));

	(void)n; /* what cannot be had is not needed */
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
	be_first_to_go();
}

static void limit_time(nsec_t deadline)
{
	nsec_t now = clock_now(), left = deadline > now ? deadline - now : 1;
	struct itimerval timer = { .it_value = { .tv_sec = left / NSEC_PER_SEC,
						 .tv_usec = left % NSEC_PER_SEC / 1000 + 1 } };

	setitimer(ITIMER_REAL, &timer, NULL);
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

/* Signals go to the parent, which ends us or lets us end; the timer is for us. */
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
	_cleanup_(freep) struct symbol_function *chain = must_alloc(head->count * sizeof(*chain));

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

static void describe_end(int status, bool is_whole, char *ret, size_t room)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (number == SIGALRM)
		snprintf(ret, room, "its reader ran out of time");
	else if (number == SIGSYS)
		snprintf(ret, room, "its reader made a forbidden system call");
	else if (number)
		snprintf(ret, room, "its reader was ended by signal %d", number);
	else if (WEXITSTATUS(status) == EXIT_CONFINE)
		snprintf(ret, room, "its reader could not be confined");
	else if (WEXITSTATUS(status) || !is_whole)
		snprintf(ret, room, "its reader failed");
}

int worker_run(const struct job *job, nsec_t deadline, struct replies *ret, struct err *err)
{
	int ends[2], status = 0;
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(err, "cannot make a pipe to the reader of symbols");
	_cleanup_(closep) int in = ends[0], out = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_errno(err, "cannot start the reader of symbols");
	if (pid == 0)
		child(*job, out, deadline, parent);
	close(TAKE_FD(out));

	ret->strings = strtab_new();
	ret->items = must_alloc(job->count * sizeof(*ret->items));
	ret->count = job->count;
	bool is_whole = listen_to(in, deadline, ret);

	close(TAKE_FD(in)); /* one that still has something to say ends by that */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	describe_end(status, is_whole, ret->trouble, sizeof(ret->trouble));
	return 0;
}
