/* SPDX-License-Identifier: Apache-2.0 */
#include "record/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "build.h"
#include "record/symbol/internal.h"
#include "test.h"

#define SKIP_UNCONFINED() \
	do { \
		if (!confine_works()) \
			SKIP("a build with AddressSanitizer is not confined"); \
	} while (0)

/* System calls that must be denied; -1 and errno if they are. */

static long call_execve(void)
{
	char *argv[] = { "true", NULL };

	return execv("/bin/true", argv);
}

static long call_create(void)
{
	return open("/tmp/sonde-test-confine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long call_ptrace(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static long call_vm_write(void)
{
	char byte = 0;
	struct iovec part = { &byte, 1 };

	return process_vm_writev(getppid(), &part, 1, &part, 1, 0);
}

static long call_mount(void)
{
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static long call_bpf(void)
{
	union bpf_attr attr = { 0 };

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static long call_inet(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static long call_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static long call_namespace(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
}

static long call_kill(void)
{
	return kill(getppid(), SIGURG);
}

static long call_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static long call_type(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static long call_uid(void)
{
	return setresuid(0, 0, 0);
}

static long call_handle(void)
{
	return syscall(SYS_open_by_handle_at, 0, NULL, O_RDONLY);
}

static const struct {
	const char *name;
	long (*call)(void);
} forbidden[] = {
	{ "execve", call_execve },   { "open for writing", call_create },
	{ "ptrace", call_ptrace },   { "process_vm_writev", call_vm_write },
	{ "mount", call_mount },     { "bpf program load", call_bpf },
	{ "socket", call_inet },     { "unshare", call_unshare },
	{ "clone", call_namespace }, { "kill", call_kill },
	{ "mmap code", call_code },  { "ioctl TIOCSTI", call_type },
	{ "setresuid", call_uid },   { "open_by_handle_at", call_handle },
};

/* The wait status of a confined process that makes call i. */
static int end_of(size_t i, bool parser)
{
	struct err err;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if ((parser ? confine_parser() : confine_recorder(0, -1, false, &err)) < 0)
			_exit(2);
		errno = 0;
		_exit(forbidden[i].call() == -1 && errno == EPERM ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status;
}

TEST(a_forbidden_system_call_kills_a_symbol_worker)
{
	SKIP_UNCONFINED();
	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		int status = end_of(i, true);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			printf("# %s: status %x\n", forbidden[i].name, status);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}

TEST(a_forbidden_system_call_fails_in_the_recorder)
{
	SKIP_UNCONFINED();
	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		int status = end_of(i, false);

		if (status != 0)
			printf("# %s: status %x\n", forbidden[i].name, status);
		CHECK_INT(status, 0);
	}
}

static pid_t sleeper(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent) /* the parent may have exited */
			pause();
		_exit(0);
	}
	return pid;
}

static void signal_some(void)
{
	pid_t command = sleeper(), other = sleeper();
	struct err err = { "" };
	int status;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	CHECK_INT(confine_recorder(command, -1, false, &err), 0);
	CHECK_INT(kill(other, 0), 0);
	CHECK(kill(other, SIGTERM) == -1 && errno == EPERM);
	CHECK_INT(kill(command, SIGTERM), 0);
	CHECK(waitpid(command, &status, 0) == command && WTERMSIG(status) == SIGTERM);

	pid_t child = fork(); /* as the recorder does */

	if (child == 0)
		_exit(7);
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
}

TEST(a_recorder_can_signal_only_its_command)
{
	SKIP_UNCONFINED();
	in_child(signal_some);
}

static void *note_thread(void *arg)
{
	*(bool *)arg = true;
	return NULL;
}

/* Like the writer thread of the capture, and like symbol workers. */
static void start_thread_and_child(void)
{
	struct err err = { "" };
	pthread_t thread;
	bool ran = false;
	int status;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	CHECK_INT(confine_recorder(0, -1, false, &err), 0);
	CHECK_INT(pthread_create(&thread, NULL, note_thread, &ran), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK(ran);

	pid_t child = fork();

	if (child == 0)
		_exit(confine_parser() == 0 && call_inet() == 0);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGSYS);
}

TEST(a_confined_recorder_can_start_threads_and_workers)
{
	SKIP_UNCONFINED();
	in_child(start_thread_and_child);
}

/* Jobs of symbol workers. */

static void answer_one(const struct job *job, FILE *to)
{
	struct symbol_function chain = { .name = "found", .source = "" };

	(void)job;
	worker_reply(to, 0, &chain, 1);
	fflush(to);
}

static void answer_and_break_out(const struct job *job, FILE *to)
{
	answer_one(job, to);
	socket(AF_INET, SOCK_STREAM, 0);
	answer_one(job, to);
}

static void answer_and_crash(const struct job *job, FILE *to)
{
	answer_one(job, to);
	raise(SIGSEGV);
}

static void answer_nonsense(const struct job *job, FILE *to)
{
	answer_one(job, to);
	for (int i = 0; i < 1000; i++)
		fwrite("nonsense", 8, 1, to);
	fflush(to);
}

static void read_own_status(const struct job *job, FILE *to)
{
	FILE *file = fopen("/proc/self/status", "re");
	struct symbol_function chain = { .source = "" };
	char line[256];

	(void)job;
	for (uint32_t key = 0; file && key < 100 && fgets(line, sizeof(line), file); key++) {
		chain.name = line;
		worker_reply(to, key, &chain, 1);
	}
}

static void run_job(void (*resolve)(const struct job *job, FILE *to), size_t count,
		    struct replies *ret)
{
	_cleanup_(closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) uint64_t *keys = must_alloc(count * sizeof(*keys));
	struct job job = { .path = "/dev/null", resolve, fd, keys, count };
	struct err err = { "" };

	*ret = (struct replies){ 0 };
	CHECK_INT(worker_run(&job, clock_now() + 5 * NSEC_PER_SEC, ret, &err), 0);
}

TEST(a_killed_worker_loses_only_unsent_replies)
{
	struct replies replies;

	SKIP_UNCONFINED();
	run_job(answer_and_break_out, 2, &replies);
	CHECK_STR(replies.trouble, "its parser made a forbidden system call");
	CHECK_INT(replies.items[0].count, 1);
	CHECK_STR(replies.items[0].chain[0].name, "found");
	CHECK_INT(replies.items[0].times, 1);
	replies_done(&replies);
}

TEST(the_failure_of_a_worker_is_described)
{
	struct replies replies;

	run_job(answer_one, 1, &replies);
	CHECK_STR(replies.trouble, "");
	replies_done(&replies);
	run_job(answer_nonsense, 1, &replies);
	CHECK(*replies.trouble);
	CHECK_INT(replies.items[0].count, 1);
	replies_done(&replies);
	SKIP_UNCONFINED();
	run_job(answer_and_crash, 1, &replies);
	CHECK_STR(replies.trouble, "its parser was killed by signal 11");
	replies_done(&replies);
}

TEST(a_worker_has_no_capabilities)
{
	struct replies replies;
	size_t fields = 0;

	run_job(read_own_status, 100, &replies);
	CHECK_STR(replies.trouble, "");
	for (size_t i = 0; i < replies.count; i++) {
		const char *line = replies.items[i].count ? replies.items[i].chain[0].name : "";

		fields += strncmp(line, "CapEff:\t0000000000000000", 24) == 0 ||
			  strncmp(line, "CapPrm:\t0000000000000000", 24) == 0 ||
			  strncmp(line, "NoNewPrivs:\t1", 13) == 0 ||
			  (confine_works() && strncmp(line, "Seccomp:\t2", 10) == 0);
	}
	CHECK_INT(fields, confine_works() ? 4 : 3);
	replies_done(&replies);
}
