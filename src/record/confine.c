/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter is a list of rules; a system call that matches no rule is denied.  Rules compare the low
 * 32 bits of an argument, which is enough for the ints and flags used here.
 */
#include "record/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/vec.h"

#if defined(__SANITIZE_ADDRESS__)
enum { WORKS = false };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { WORKS = false };
#else
enum { WORKS = true };
#endif
#else
enum { WORKS = true };
#endif

#define X32_BIT 0x40000000u

struct filter_rule {
	uint32_t nr;
	enum { EQUAL, CLEAR } test;
	uint32_t arg;   /* index of the argument */
	uint32_t value; /* EQUAL: the required value; CLEAR: bits that must be 0 */
};

typedef VEC(struct sock_filter) filter;

/* Open flags denied to the symbol worker. */
#define NOT_WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
/* Open flags denied to the recorder, which opens shared-memory arenas of agents for writing. */
#define NOT_CREATING (O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)

#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/* Both: reading files and using memory. */
static const uint32_t common_calls[] = {
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_close,
	SYS_clock_gettime,
	SYS_munmap,
	SYS_fstat,
	SYS_newfstatat,
	SYS_lseek,
	SYS_brk,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_readv,
	SYS_writev,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getcwd,
	SYS_fcntl,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_restart_syscall,
	SYS_getpid,
	SYS_gettid,
	SYS_getrandom,
	SYS_sysinfo,
	SYS_sched_getaffinity,
	SYS_exit,
	SYS_exit_group,
};

static const struct filter_rule common_rules[] = {
	{ SYS_mmap, CLEAR, 2, PROT_EXEC },
	{ SYS_mprotect, CLEAR, 2, PROT_EXEC },
};

static const struct filter_rule parser_rules[] = {
	{ SYS_openat, CLEAR, 2, NOT_WRITING },
	{ SYS_open, CLEAR, 1, NOT_WRITING },
};

/* Recorder: draining, inspecting processes, and starting symbol workers. */
static const uint32_t recorder_calls[] = {
	SYS_pwrite64,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_poll,
	SYS_ppoll,
	SYS_accept4,
	SYS_recvmsg,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_setsockopt,
	SYS_bind,
	SYS_listen,
	SYS_statx,
	SYS_pidfd_open,
	SYS_openat2,
	SYS_getdents64,
	SYS_flock,
	SYS_ftruncate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_dup,
	SYS_dup2,
	SYS_dup3,
	SYS_pipe2,
	SYS_close_range,
	SYS_memfd_create,
	SYS_wait4,
	SYS_waitid,
	SYS_rt_sigaction,
	SYS_sigaltstack,
	SYS_setitimer,
	SYS_sched_yield,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getppid,
	SYS_gettimeofday,
	SYS_clock_getres,
	SYS_getrusage,
	SYS_uname,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_prctl,
	SYS_seccomp,
	SYS_capget,
	SYS_capset,
	SYS_setrlimit,
	SYS_landlock_create_ruleset,
	SYS_landlock_restrict_self,
};

static const struct filter_rule recorder_rules[] = {
	{ SYS_openat, CLEAR, 2, NOT_CREATING },
	{ SYS_open, CLEAR, 1, NOT_CREATING },
	{ SYS_clone, CLEAR, 0, NEW_NAMESPACES },
	{ SYS_prlimit64, EQUAL, 0, 0 },
	{ SYS_sched_setscheduler, EQUAL, 0, 0 },
	{ SYS_ioctl, EQUAL, 1, TCGETS },
	{ SYS_ioctl, EQUAL, 1, TIOCGWINSZ },
	{ SYS_ioctl, EQUAL, 1, PERF_EVENT_IOC_DISABLE },
	{ SYS_socket, EQUAL, 0, AF_UNIX },
	{ SYS_bpf, EQUAL, 0, BPF_MAP_LOOKUP_ELEM },
	{ SYS_bpf, EQUAL, 0, BPF_MAP_UPDATE_ELEM },
	{ SYS_bpf, EQUAL, 0, BPF_MAP_DELETE_ELEM },
	{ SYS_bpf, EQUAL, 0, BPF_ITER_CREATE },
	{ SYS_bpf, EQUAL, 0, BPF_OBJ_GET_INFO_BY_FD },
	/* signal 0: check whether a process exists */
	{ SYS_kill, EQUAL, 1, 0 },
	{ SYS_tgkill, EQUAL, 2, 0 },
};

/* Denied to keeper, reader and relay. */
static const uint32_t denied_calls[] = {
	SYS_execve,        SYS_execveat,          SYS_ptrace,      SYS_process_vm_writev,
	SYS_init_module,   SYS_finit_module,      SYS_kexec_load,  SYS_kexec_file_load,
	SYS_delete_module, SYS_open_by_handle_at, SYS_reboot,      SYS_add_key,
	SYS_keyctl,        SYS_request_key,       SYS_userfaultfd, SYS_io_uring_setup,
	SYS_pidfd_getfd,
};

/* Denied to reader and relay, too. */
static const uint32_t reader_denied_calls[] = {
	SYS_bpf, SYS_perf_event_open, SYS_process_vm_readv, SYS_mount, SYS_unshare, SYS_setns,
};

#define STATEMENT(code_, k_) ((struct sock_filter)BPF_STMT(code_, k_))
#define JUMP(code_, k_, t_, f_) ((struct sock_filter)BPF_JUMP(code_, k_, t_, f_))
#define LOAD(field) STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) STATEMENT(BPF_RET | BPF_K, what)

/* Expects the system call number in the accumulator, and restores it. */
static void add_rule(filter *f, const struct filter_rule *r)
{
	size_t arg = offsetof(struct seccomp_data, args) + 8 * r->arg;

	*vec_push(f) = JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 4);
	*vec_push(f) = STATEMENT(BPF_LD | BPF_W | BPF_ABS, arg);
	*vec_push(f) = r->test == CLEAR ? JUMP(BPF_JMP | BPF_JSET | BPF_K, r->value, 1, 0)
					: JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1);
	*vec_push(f) = RETURN(SECCOMP_RET_ALLOW);
	*vec_push(f) = LOAD(nr);
}

static void add_rules(filter *f, const struct filter_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_rule(f, &rules[i]);
}

static void add_calls(filter *f, const uint32_t *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*vec_push(f) = JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		*vec_push(f) = RETURN(SECCOMP_RET_ALLOW);
	}
}

static void deny_calls(filter *f, const uint32_t *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*vec_push(f) = JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		*vec_push(f) = RETURN(SECCOMP_RET_ERRNO | EPERM);
	}
}

static void check_architecture(filter *f)
{
	*vec_push(f) = LOAD(arch);
	*vec_push(f) = JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	*vec_push(f) = RETURN(SECCOMP_RET_KILL_PROCESS);
	*vec_push(f) = LOAD(nr);
	*vec_push(f) = JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	*vec_push(f) = RETURN(SECCOMP_RET_KILL_PROCESS);
}

static void begin(filter *f)
{
	check_architecture(f);
	add_calls(f, common_calls, ARRAY_LEN(common_calls));
	add_rules(f, common_rules, ARRAY_LEN(common_rules));
}

/* abort() needs tgkill() on itself. */
static void add_own_signals(filter *f)
{
	add_rule(f, &(struct filter_rule){ SYS_tgkill, EQUAL, 0, getpid() });
}

static int install(filter *f, uint32_t otherwise)
{
	*vec_push(f) = RETURN(otherwise);

	struct sock_fprog program = { f->count, f->items };
	int r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;

	vec_done(f);
	return r;
}

bool confine_works(void)
{
	return WORKS;
}

/* Continue on kernels without seccomp. */
static int check_installed(int r, const char *what, struct err *err)
{
	if (r < 0 && r != -EINVAL && r != -ENOSYS)
		return err_set(err, r, "cannot restrict the system calls of the %s: %s", what,
			       strerror(-r));
	return 0;
}

int confine_recorder(pid_t command, int stream, bool attach, struct err *err)
{
	filter f = { 0 };

	if (!WORKS)
		return 0;
	begin(&f);
	add_calls(&f, recorder_calls, ARRAY_LEN(recorder_calls));
	add_rules(&f, recorder_rules, ARRAY_LEN(recorder_rules));
	if (command > 0)
		add_rule(&f, &(struct filter_rule){ SYS_kill, EQUAL, 0, command });
	if (stream >= 0) {
		add_rule(&f, &(struct filter_rule){ SYS_sendmsg, EQUAL, 0, stream });
		add_rule(&f, &(struct filter_rule){ SYS_recvfrom, EQUAL, 0, stream });
	}
	if (attach) {
		add_rule(&f, &(struct filter_rule){ SYS_bpf, EQUAL, 0, BPF_RAW_TRACEPOINT_OPEN });
		add_rule(&f, &(struct filter_rule){ SYS_bpf, EQUAL, 0, BPF_LINK_CREATE });
	}
	add_own_signals(&f);
	/* ENOSYS makes the C library fall back to clone(), whose flags a filter can check */
	*vec_push(&f) = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	*vec_push(&f) = RETURN(SECCOMP_RET_ERRNO | ENOSYS);

	return check_installed(install(&f, SECCOMP_RET_ERRNO | EPERM), "recorder", err);
}

/* A list of denied system calls; these are the only address families. */
static void begin_denials(filter *f, const int *families, size_t count)
{
	check_architecture(f);
	for (size_t i = 0; i < count; i++)
		add_rule(f, &(struct filter_rule){ SYS_socket, EQUAL, 0, families[i] });
	deny_calls(f, (const uint32_t[]){ SYS_socket }, 1);
	deny_calls(f, denied_calls, ARRAY_LEN(denied_calls));
}

static void begin_local_denials(filter *f)
{
	begin_denials(f, (const int[]){ AF_UNIX }, 1);
	deny_calls(f, (const uint32_t[]){ SYS_connect }, 1);
}

int confine_keeper(struct err *err)
{
	filter f = { 0 };

	if (!WORKS)
		return 0;
	begin_local_denials(&f);
	return check_installed(install(&f, SECCOMP_RET_ALLOW), "keeper", err);
}

int confine_reader(struct err *err)
{
	filter f = { 0 };

	if (!WORKS)
		return 0;
	begin_local_denials(&f);
	deny_calls(&f, reader_denied_calls, ARRAY_LEN(reader_denied_calls));
	return check_installed(install(&f, SECCOMP_RET_ALLOW), "reader", err);
}

int confine_relay(struct err *err)
{
	/* the last one is for resolving names */
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	filter f = { 0 };

	if (!WORKS)
		return 0;
	begin_denials(&f, families, ARRAY_LEN(families));
	deny_calls(&f, reader_denied_calls, ARRAY_LEN(reader_denied_calls));
	return check_installed(install(&f, SECCOMP_RET_ALLOW), "relay", err);
}

/*
 * Best effort: Landlock needs Linux 5.13 and can be disabled.  A process in its own Landlock domain
 * can neither trace processes outside of it nor read their memory, not even of the same user.
 */
static void enter_domain(void)
{
	struct landlock_ruleset_attr none = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE |
								   LANDLOCK_ACCESS_FS_EXECUTE };
	_cleanup_(closep) int rules = syscall(SYS_landlock_create_ruleset, &none, sizeof(none), 0);

	if (rules >= 0)
		syscall(SYS_landlock_restrict_self, rules, 0);
}

int confine_parser(void)
{
	filter f = { 0 };

	if (!WORKS)
		return 0;
	enter_domain();
	begin(&f);
	add_rules(&f, parser_rules, ARRAY_LEN(parser_rules));
	add_own_signals(&f);
	return install(&f, SECCOMP_RET_KILL_PROCESS);
}
