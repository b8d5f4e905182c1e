/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/programs_internal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/kernel/feature.h"
#include "record/kernel/ring.h"
#include "record/scope.h"

/* Optional tracepoints, and the feature that is missing without them; NULL: reported once only. */
static const struct {
	const char *tracepoint, *feature;
} optional[] = {
	{ "irq_handler_entry", "device interrupts as wakers" },
	{ "softirq_entry", "soft interrupts as wakers" },
	{ "hrtimer_expire_entry", "timers as wakers" },
	{ "sock_send_length", "messages (they need Linux 6.3)" },
	{ "sock_recv_length", NULL },
	{ "sk_data_ready", "arrival of requests (it needs Linux 6.3; latency begins at the read)" },
	{ "tcp_probe", "replies in the send buffer" },
	{ "inet_sock_set_state", "connection states" },
	{ "mm_filemap_fault", NULL },
	{ "irq_handler_exit", NULL },
	{ "softirq_exit", NULL },
	{ "hrtimer_expire_exit", NULL },
};

static int missing_programs(const char *tracepoint, programs_missing_fn *missing, void *arg,
			    struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(optional); i++)
		if (strcmp(optional[i].tracepoint, tracepoint) == 0) {
			if (optional[i].feature)
				missing(arg, optional[i].feature);
			return 0;
		}
	return err_set(err, -EOPNOTSUPP, "this kernel has no tracepoint '%s'; see 'sonde doctor'",
		       tracepoint);
}

/* Whether the options of the recording need a program. */
static bool program_wanted(const struct programs *p, const struct bpf_program *prog)
{
	const struct programs_config *c = &p->config;

	if (prog == p->skel->progs.on_syscall_entry || prog == p->skel->progs.on_syscall_exit ||
	    prog == p->skel->progs.finish_syscalls)
		return c->syscalls || c->on_demand;
	if (prog == p->skel->progs.on_block_insert || prog == p->skel->progs.on_block_issue ||
	    prog == p->skel->progs.on_block_complete)
		return c->block;
	if (prog == p->skel->progs.find_unread)
		return c->unread;
	if (prog == p->skel->progs.on_cgroup_attach)
		return c->cgroup != 0;
	if (prog == p->skel->progs.on_probe_event)
		return c->probe_count > 0;
	if (prog == p->skel->progs.on_sample)
		return c->profile_hz > 0;
	return true;
}

static void btf_freep(struct btf **btf)
{
	btf__free(*btf);
}

static int choose_programs(struct programs *p, programs_missing_fn *missing, void *arg,
			   struct err *err)
{
	_cleanup_(btf_freep) struct btf *btf = NULL;
	struct bpf_program *prog;
	int r = feature_load_btf(&btf, err);

	if (r < 0)
		return r;
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		const char *section = bpf_program__section_name(prog);
		const char *tracepoint = section + strlen("tp_btf/");

		if (!program_wanted(p, prog)) {
			bpf_program__set_autoload(prog, false);
		} else if (strncmp(section, "tp_btf/", strlen("tp_btf/")) == 0 &&
			   !feature_has_tracepoints(btf, &tracepoint, 1)) {
			r = missing_programs(tracepoint, missing, arg, err);
			if (r < 0)
				return r;
			bpf_program__set_autoload(prog, false);
		}
	}
	return 0;
}

static int set_config(struct programs *p, struct err *err)
{
	const struct programs_config *c = &p->config;
	struct recorder_bpf__rodata *ro = p->skel->rodata;
	struct bpf_map *rings = p->skel->maps.rings;

	ro->ring_size = c->ring_size;
	ro->scope_all = c->all;
	ro->scope_self = getpid();
	ro->scope_reader = c->reader;
	ro->scope_cgroup = c->cgroup;
	ro->scope_cgroup_hierarchy = c->cgroup_hierarchy;
	memcpy((void *)ro->scope_ports, c->ports, sizeof(c->ports));
	ro->other_tasks = c->other_tasks;
	ro->stack_threshold = c->stacks;
	ro->on_demand = c->on_demand;
	p->skel->bss->stack_threshold_now = c->stacks;
	p->skel->bss->other_tasks_now = c->other_tasks;
	memcpy((void *)ro->syscalls_wanted, c->syscalls_wanted, sizeof(c->syscalls_wanted));
	for (size_t i = 0; i < c->probe_count; i++)
		ro->probe_sizes[i] = c->probes[i].size;

	int r = bpf_map__set_max_entries(rings, p->cpus);

	if (r == 0)
		r = bpf_map__set_value_size(rings, rings_value_size(c->ring_size));
	return r < 0 ? err_set(err, r, "cannot size the rings: %s", strerror(-r)) : 0;
}

/* Loading programs loads the kernel's BTF again; libbpf hides why that fails, so check it first. */
static int load_failed(int code, struct err *err)
{
	_cleanup_(btf_freep) struct btf *btf = NULL;
	int r = feature_load_btf(&btf, err);

	if (r < 0)
		return r;
	if (code == -ENOMEM)
		return err_set(err, code, FEATURE_NO_MEMORY, "the BPF programs");
	return err_set(err, code, "the kernel rejects sonde's BPF programs: %s; see 'sonde doctor'",
		       strerror(-code));
}

int programs_load(const struct programs_config *config, programs_missing_fn *missing, void *arg,
		  struct programs **ret, struct err *err)
{
	_cleanup_(programs_freep) struct programs *p = must_alloc(sizeof(*p));

	p->finish_fd = p->finish_syscalls_fd = -1;
	p->config = *config;
	p->cpus = libbpf_num_possible_cpus();
	if (!secure_getenv("SONDE_DEBUG"))
		libbpf_set_print(NULL);
	p->skel = recorder_bpf__open();
	if (!p->skel)
		return err_errno(err, "cannot open the BPF programs");

	int r = choose_programs(p, missing, arg, err);

	if (r == 0)
		r = set_config(p, err);
	if (r < 0)
		return r;
	r = recorder_bpf__load(p->skel);
	if (r < 0)
		return load_failed(r, err);
	*ret = TAKE(p);
	return 0;
}

static void detach_all(struct programs *p)
{
	programs_detach_syscalls(p);
	for (size_t i = 0; i < p->links.count; i++)
		bpf_link__destroy(p->links.items[i]);
	p->links.count = 0;
}

void programs_free(struct programs *p)
{
	if (!p)
		return;
	detach_all(p);
	vec_done(&p->links);
	vec_done(&p->syscall_pids);
	bpf_link__destroy(p->find_link);
	bpf_link__destroy(p->unread_link);
	closep(&p->finish_fd);
	closep(&p->finish_syscalls_fd);
	recorder_bpf__destroy(p->skel);
	free(p);
}

static int keep_link(struct programs *p, struct bpf_link *link, const char *what, struct err *err)
{
	if (!link)
		return err_errno(err, "cannot attach to %s", what);
	*vec_push(&p->links) = link;
	return 0;
}

static int attach_probes(struct programs *p, struct err *err)
{
	for (size_t i = 0; i < p->config.probe_count; i++) {
		const struct probe *probe = &p->config.probes[i];
		LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = i);
		int r = keep_link(p,
				  bpf_program__attach_tracepoint_opts(p->skel->progs.on_probe_event,
								      probe->category, probe->name,
								      &opts),
				  probe->name, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int programs_attach_samples(struct programs *p, struct err *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = p->config.profile_hz,
		.freq = 1,
	};

	for (size_t cpu = 0; p->config.profile_hz && cpu < p->cpus; cpu++) {
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV)
			continue; /* this CPU is offline or missing */
		if (fd < 0)
			return err_errno(err, "cannot open the software clock for --profile");

		struct bpf_link *link =
			bpf_program__attach_perf_event(p->skel->progs.on_sample, fd);
		int r = keep_link(p, link, "the software clock", err);

		if (r < 0) {
			close(fd);
			return r;
		}
	}
	return 0;
}

/* Open a descriptor; reading it runs the iterator once. */
static int iterator_open(struct bpf_program *prog, int *ret_fd, struct err *err)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;

	if (fd < 0)
		err_errno(err, "cannot attach the iterator over threads");
	bpf_link__destroy(link);
	if (fd < 0)
		return -EINVAL;
	*ret_fd = fd;
	return 0;
}

static int iterator_run(int fd, struct err *err)
{
	char none[64];
	ssize_t n;

	do
		n = read(fd, none, sizeof(none));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? err_errno(err, "cannot iterate over the threads") : 0;
}

static int attach_iterators(struct programs *p, struct err *err)
{
	p->find_link = bpf_program__attach_iter(p->skel->progs.find_threads, NULL);
	if (!p->find_link)
		return err_errno(err, "cannot attach the iterator over threads");

	int r = iterator_open(p->skel->progs.finish_threads, &p->finish_fd, err);

	if (r == 0 && (p->config.syscalls || p->config.on_demand))
		r = iterator_open(p->skel->progs.finish_syscalls, &p->finish_syscalls_fd, err);
	return r;
}

/* Best effort. */
static void attach_unread(struct programs *p)
{
	union bpf_iter_link_info map = { .map.map_fd = bpf_map__fd(p->skel->maps.sockets) };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &map, .link_info_len = sizeof(map));

	if (p->config.unread)
		p->unread_link = bpf_program__attach_iter(p->skel->progs.find_unread, &opts);
}

int programs_attach(struct programs *p, struct err *err)
{
	struct bpf_program *prog;
	int r = attach_iterators(p, err);

	if (r == 0)
		attach_unread(p);
	if (r == 0)
		r = attach_probes(p, err);
	bpf_object__for_each_program(prog, p->skel->obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (r == 0 && bpf_program__autoload(prog) && !programs_is_on_demand(p, prog) &&
		    strncmp(section, "tp_btf/", strlen("tp_btf/")) == 0)
			r = keep_link(p, bpf_program__attach(prog), section, err);
	}
	return r;
}

void programs_start(struct programs *p)
{
	__atomic_store_n(&p->skel->bss->active, true, __ATOMIC_RELEASE);
}

size_t programs_cpu_count(const struct programs *p)
{
	return p->cpus;
}

int programs_rings_fd(const struct programs *p)
{
	return bpf_map__fd(p->skel->maps.rings);
}

int programs_add_process(struct programs *p, uint32_t pid, nsec_t latest, struct err *err)
{
	int r = bpf_map_update_elem(bpf_map__fd(p->skel->maps.scope_pids), &pid, &latest, BPF_ANY);

	return r < 0 ? err_set(err, r, "cannot bring process %u into scope", pid) : 0;
}

void programs_remove_process(struct programs *p, uint32_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.scope_pids), &pid);
}

void programs_add_port(struct programs *p, uint16_t port)
{
	uint8_t yes = 1;

	bpf_map_update_elem(bpf_map__fd(p->skel->maps.known_ports), &port, &yes, BPF_ANY);
}

int programs_find_unread(struct programs *p, struct err *err)
{
	if (!p->unread_link)
		return 0;

	_cleanup_(closep) int fd = bpf_iter_create(bpf_link__fd(p->unread_link));

	return fd < 0 ? err_errno(err, "cannot iterate over the sockets") : iterator_run(fd, err);
}

int programs_find_threads(struct programs *p, struct err *err)
{
	p->joins_handled = __atomic_load_n(&p->skel->bss->scope_joins, __ATOMIC_ACQUIRE);

	_cleanup_(closep) int fd = bpf_iter_create(bpf_link__fd(p->find_link));

	if (fd < 0)
		return err_errno(err, "cannot iterate over the threads");
	return iterator_run(fd, err);
}

/* The BPF map `threads` has an entry for exactly the living threads in scope. */
int programs_has_process(const struct programs *p, uint32_t pid)
{
	const struct bpf_map *threads = p->skel->maps.threads;
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	_cleanup_(freep) void *thread = must_alloc(bpf_map__value_size(threads));

	if (fd < 0)
		return -errno;

	int r = bpf_map_lookup_elem(bpf_map__fd(threads), &fd, thread);

	if (r == -ENOENT && scope_is_exiting(pid))
		return -ESRCH;
	return r == 0 ? 1 : r == -ENOENT ? 0 : r;
}

int programs_set_tls_location(struct programs *p, uint32_t pid,
			      const struct wire_tls_location *location, struct err *err)
{
	int map = bpf_map__fd(p->skel->maps.tls_locations);
	int r = bpf_map_update_elem(map, &pid, location, BPF_ANY);

	if (r < 0)
		return err_set(err, r, "cannot read the contexts of process %u: %s", pid,
			       strerror(-r));
	__atomic_fetch_add(&p->skel->bss->tls_location_changes, 1, __ATOMIC_RELEASE);
	return 0;
}

void programs_forget_described(struct programs *p)
{
	memset(p->skel->bss->reported, 0, sizeof(p->skel->bss->reported));
	memset(p->skel->bss->described, 0, sizeof(p->skel->bss->described));
}

bool programs_has_pending_joins(const struct programs *p)
{
	return __atomic_load_n(&p->skel->bss->scope_joins, __ATOMIC_ACQUIRE) != p->joins_handled;
}

void programs_end_at(struct programs *p, nsec_t time)
{
	__atomic_store_n(&p->skel->data->stop_time, time, __ATOMIC_RELEASE);
}

uint64_t programs_missed(const struct programs *p)
{
	struct bpf_program *prog;
	uint64_t missed = 0;

	bpf_object__for_each_program(prog, p->skel->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

/* The programs stay active while the iterators run, as an exiting thread writes its own interval.
 */
int programs_finish(struct programs *p, struct err *err)
{
	int r = iterator_run(p->finish_fd, err);

	if (r == 0 && p->finish_syscalls_fd >= 0)
		r = iterator_run(p->finish_syscalls_fd, err);
	__atomic_store_n(&p->skel->bss->active, false, __ATOMIC_RELEASE);
	detach_all(p);
	return r;
}
