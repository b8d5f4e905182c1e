/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/feature.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/caps.h"
#include "record/privilege.h"

static void btf_freep(struct btf **btf)
{
	btf__free(*btf);
}

static bool has_tracepoint(const struct btf *btf, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

bool feature_has_tracepoints(const struct btf *btf, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!has_tracepoint(btf, names[i]))
			return false;
	return true;
}

#define BTF_PATH "/sys/kernel/btf/vmlinux"

/*
 * btf__load_vmlinux_btf() tries several files and returns the same code for all failures.
 * Parsing the usual file again yields the actual reason.
 */
int feature_load_btf(struct btf **ret, struct err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf && access(BTF_PATH, F_OK) < 0 && errno == ENOENT)
		return err_set(err, -EOPNOTSUPP,
			       "this kernel has no type information: no " BTF_PATH);
	if (!btf)
		btf = btf__parse(BTF_PATH, NULL);
	if (!btf && errno == ENOMEM)
		return err_set(err, -ENOMEM, FEATURE_NO_MEMORY, "the kernel's types");
	if (!btf)
		return err_errno(err, "cannot load the kernel's types from " BTF_PATH);
	*ret = btf;
	return 0;
}

const char *feature_tracefs(void)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/events", mounts[i]);
		if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0)
			return mounts[i];
	}
	return NULL;
}

/* The features found so far. */
struct feature_probe {
	struct feature *list;
	size_t count;
	struct btf *btf;    /* or NULL */
	int btf_code;       /* negative errno if btf is NULL */
	struct err btf_err; /* its message */
};

static struct feature *add(struct feature_probe *p, const char *name, const char *provides,
			   bool required)
{
	struct feature *f = &p->list[p->count++];

	*f = (struct feature){ .name = name, .provides = provides, .required = required };
	return f;
}

__attribute__((format(printf, 4, 5))) static void found(struct feature *f, bool ok,
							const char *remedy, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	f->ok = ok;
	if (!ok)
		snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static void probe_kernel(struct feature_probe *p)
{
	struct feature *f = add(p, "kernel", "a supported kernel", true);
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	bool ok = (major > 5 || (major == 5 && minor >= 15)) && strcmp(u.machine, "x86_64") == 0;
	found(f, ok, "sonde needs Linux 5.15 or later on x86_64", "Linux %s on %s", u.release,
	      u.machine);
}

static void probe_privileges(struct feature_probe *p)
{
	struct feature *f = add(p, "privileges", "permission to load BPF programs", true);
	struct err err = { "" };
	bool ok = privilege_check(&err) == 0;

	if (ok)
		found(f, true, "", "CAP_BPF and CAP_PERFMON");
	else if (caps_refused())
		found(f, false, err.text, "the file capabilities are ignored");
	else
		found(f, false, err.text, "CAP_BPF or CAP_PERFMON is missing");
}

static void probe_btf(struct feature_probe *p)
{
	struct feature *f = add(p, "btf", "the layout of kernel structures", true);

	if (p->btf)
		found(f, true, "", BTF_PATH);
	else
		found(f, false,
		      p->btf_code == -EOPNOTSUPP ? "use a kernel built with CONFIG_DEBUG_INFO_BTF"
						 : "",
		      "%s", p->btf_err.text);
}

/* Without BTF, mark the feature as unknown and return false. */
static bool require_btf(const struct feature_probe *p, struct feature *f)
{
	if (p->btf)
		return true;
	found(f, false, "", "unknown: the check needs the kernel's types (btf)");
	return false;
}

static void probe_tracepoints(struct feature_probe *p, const char *name, const char *provides,
			      bool required, const char *remedy, const char *const *names)
{
	struct feature *f = add(p, name, provides, required);
	size_t n = 0;

	if (!require_btf(p, f))
		return;
	for (; names[n]; n++)
		if (!has_tracepoint(p->btf, names[n])) {
			found(f, false, remedy, "this kernel has no tracepoint %s", names[n]);
			return;
		}
	found(f, true, "", "tracepoint%s %s%s", n > 1 ? "s" : "", names[0],
	      n > 1 ? " and others" : "");
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void probe_all_tracepoints(struct feature_probe *p)
{
	probe_tracepoints(p, "scheduler", "thread states, wakeups, run-queue latency", true,
			  "use a kernel with these tracepoints",
			  NAMES("sched_switch", "sched_waking", "task_newtask",
				"sched_process_exec", "task_rename"));
	probe_tracepoints(p, "interrupts", "the device or timer that ended a wait", false,
			  "use a kernel with these tracepoints",
			  NAMES("irq_handler_entry", "softirq_entry", "hrtimer_expire_entry"));
	probe_tracepoints(p, "messages", "messages between threads", false,
			  "use Linux 6.3 or later; everything else is recorded without it",
			  NAMES("sock_send_length", "sock_recv_length"));
	probe_tracepoints(p, "arrivals", "when requests arrive, before they are read", false,
			  "use Linux 6.3 or later; otherwise, latency begins at the read",
			  NAMES("sk_data_ready"));
	probe_tracepoints(p, "send buffer", "when replies leave the send buffer", false,
			  "use a kernel with this tracepoint", NAMES("tcp_probe"));
	probe_tracepoints(p, "connections", "opening and closing of TCP connections", false,
			  "use a kernel with this tracepoint", NAMES("inet_sock_set_state"));
	probe_tracepoints(p, "page faults", "the file of a page that a thread waits for", false,
			  "use Linux 6.10 or later", NAMES("mm_filemap_fault"));
	probe_tracepoints(p, "syscalls", "system calls (--syscalls)", false,
			  "use a kernel with CONFIG_FTRACE_SYSCALLS",
			  NAMES("sys_enter", "sys_exit"));
	probe_tracepoints(p, "block", "block I/O (--block)", false,
			  "use a kernel with CONFIG_BLOCK",
			  NAMES("block_rq_issue", "block_rq_complete"));
	probe_tracepoints(p, "cgroups", "processes that join a control group (--cgroup)", false,
			  "use a kernel with CONFIG_CGROUPS", NAMES("cgroup_attach_task"));
}

static void probe_quota(struct feature_probe *p)
{
	struct feature *f = add(p, "quota", "throttling by CPU quota (Q)", false);

	if (!require_btf(p, f))
		return;

	bool ok = btf__find_by_name_kind(p->btf, "cfs_bandwidth", BTF_KIND_STRUCT) > 0;

	found(f, ok, "use a kernel with CONFIG_CFS_BANDWIDTH", "%s",
	      ok ? "the scheduler marks throttled threads" : "this kernel has no CPU quotas");
}

static void probe_tracefs(struct feature_probe *p)
{
	struct feature *f = add(p, "tracefs", "any other tracepoint (-e)", false);
	const char *at = feature_tracefs();
	char events[64];

	snprintf(events, sizeof(events), "%s/events", at ? at : "");
	if (at && faccessat(AT_FDCWD, events, R_OK | X_OK, AT_EACCESS) == 0)
		found(f, true, "", "%s", at);
	else if (at)
		found(f, false, "run as root, or with CAP_DAC_READ_SEARCH",
		      "no permission to read %s", at);
	else if (privilege_has(CAP_SYS_ADMIN))
		found(f, true, "", "not mounted; 'sonde record' mounts it privately");
	else
		found(f, false, "mount -t tracefs nodev /sys/kernel/tracing", "not mounted");
}

static void probe_samples(struct feature_probe *p)
{
	struct feature *f = add(p, "samples", "CPU profiles (--profile)", false);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	_cleanup_(closep) int fd =
		syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	found(f, fd >= 0, "run as root, or with CAP_PERFMON", "software clock: %s",
	      fd >= 0 ? "yes" : strerror(errno));
}

static void probe_kernel_symbols(struct feature_probe *p)
{
	struct feature *f = add(p, "kernel symbols", "names in kernel stacks (--stacks)", false);
	unsigned long address = 0;
	FILE *file = fopen("/proc/kallsyms", "re");

	if (file) {
		char line[256];

		while (!address && fgets(line, sizeof(line), file))
			address = strtoul(line, NULL, 16);
		fclose(file);
	}
	found(f, address != 0,
	      "run as root, or with CAP_SYSLOG; see also /proc/sys/kernel/kptr_restrict",
	      address ? "/proc/kallsyms" : "/proc/kallsyms hides its addresses");
}

size_t features_probe(struct feature features[FEATURE_MAX])
{
	_cleanup_(btf_freep) struct btf *btf = NULL;
	struct feature_probe p = { .list = features };

	p.btf_code = feature_load_btf(&btf, &p.btf_err);
	p.btf = btf;
	probe_kernel(&p);
	probe_privileges(&p);
	caps_raise();
	probe_btf(&p);
	probe_all_tracepoints(&p);
	probe_quota(&p);
	probe_tracefs(&p);
	probe_samples(&p);
	probe_kernel_symbols(&p);
	caps_lower();
	return p.count;
}
