/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_begin - set up a recording.
 *
 * The order matters.  The command is forked first, before any file is open or
 * privilege dropped, and executed last (recorder.c), so that it is recorded from
 * its first instruction.  Everything that needs privileges comes before they are
 * dropped: BPF programs, the capture, kernel symbols.  The processes in scope are
 * looked up before the BPF programs start to follow forks, and again afterwards,
 * to find children that were forked in between.
 */
#include "record/recorder_internal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/caps.h"
#include "event/syscall.h"
#include "record/clock.h"
#include "record/privilege.h"

/*
 * Default sizes: of the rings of all CPUs together, and of each.  The kernel allocates them at
 * once. A recorder without a raised priority (priority.h) can be late by more than 100 ms.
 */
#define RINGS_TOTAL_MIN (32ull << 20)
#define RINGS_TOTAL_MAX (256ull << 20)
#define RINGS_MEMORY_SHARE 256
#define RING_DEFAULT_MIN (256ull << 10)
#define RING_DEFAULT_MAX (2ull << 20)
#define RING_DEFAULT_MAX_LATE (8ull << 20)

void recorder_free(struct recorder *rec)
{
	if (!rec)
		return;
	agents_free(rec->agents);
	agent_scope_free(rec->agent_scope);
	encoder_free(rec->encoder);
	symbols_free(rec->symbols);
	sorter_free(rec->sorter);
	rings_free(rec->rings);
	programs_free(rec->programs);
	for (size_t i = 0; i < rec->probes.count; i++)
		probe_done(&rec->probes.items[i]);
	vec_done(&rec->probes);
	scope_done(&rec->scope);
	child_done(&rec->child);
	free(rec->busy);
	free(rec);
}

void recorder_warn(struct recorder *rec, const char *text)
{
	const struct record_options *o = rec->options;

	if (o->warning)
		o->warning(o->arg, text);
	sink_note(rec->sink, text);
}

void recorder_warning(void *recorder, const char *text)
{
	recorder_warn(recorder, text);
}

static void warn_of_missing_feature(void *arg, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "this kernel does not support %s; recording without it", what);
	recorder_warn(arg, text);
}

/* Warn now and not at the end: the port may be wrong, or in a container. */
static int add_port(struct recorder *rec, uint16_t port, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = scope_add_port(&rec->scope, port, err);
	char text[128];

	if (r == 0 && !o->command) {
		snprintf(text, sizeof(text),
			 "no process listens on port %u in this network namespace yet", port);
		recorder_warn(rec, text);
	}
	return r < 0 ? r : 0;
}

static int find_scope(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->pid_count; i++)
		r = scope_add_pid(&rec->scope, o->pids[i], err);
	if (r == 0 && o->cgroup)
		r = scope_add_cgroup(&rec->scope, o->cgroup, err);
	if (r == 0 && rec->child.pid)
		map_insert(&rec->scope.pids, rec->child.pid);
	caps_raise(); /* to read the sockets of other users' processes */
	for (size_t i = 0; r == 0 && i < o->port_count; i++)
		r = add_port(rec, o->ports[i], err);
	if (r == 0)
		scope_find_ports(&rec->scope);
	caps_lower();
	return r;
}

/* Set the bits of the listed system calls; of all if the list is empty. */
static int choose_syscalls(const char *list, uint64_t *wanted, struct err *err)
{
	_cleanup_(freep) char *copy = must_strdup(list);

	if (!*list)
		memset(wanted, 0xff, SYSCALL_TABLE_SIZE / 8);
	for (char *save, *name = strtok_r(copy, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		int nr = syscall_number(name);

		if (nr < 0)
			return err_set(err, -EINVAL, "unknown system call '%s'", name);
		wanted[nr / 64] |= 1ull << (nr % 64);
	}
	return 0;
}

static uint64_t clamp(uint64_t n, uint64_t min, uint64_t max)
{
	return n < min ? min : n > max ? max : n;
}

static uint64_t default_ring_size(size_t cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t total = clamp(memory / RINGS_MEMORY_SHARE, RINGS_TOTAL_MIN, RINGS_TOTAL_MAX);
	bool late = !privilege_has(CAP_SYS_NICE);

	return clamp(total / cpus, RING_DEFAULT_MIN,
		     late ? RING_DEFAULT_MAX_LATE : RING_DEFAULT_MAX);
}

/* Round up to a power of two, within the limits of the kernel's verifier. */
static size_t ring_size(uint64_t wanted, size_t cpus)
{
	uint64_t size = WIRE_RING_MIN;

	if (!wanted)
		wanted = default_ring_size(cpus);
	while (size < wanted && size < RECORD_BUFFER_MAX)
		size *= 2;
	return size;
}

static int load_programs(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	struct programs_config config = {
		.ring_size = ring_size(o->buffer, sysconf(_SC_NPROCESSORS_CONF)),
		.all = o->all,
		.other_tasks = o->other_tasks,
		.reader = o->reader,
		.cgroup = rec->scope.cgroup,
		.cgroup_hierarchy = rec->scope.cgroup_hierarchy,
		.stacks = o->stacks,
		.on_demand = o->on_demand,
		.unread = sink_has_epochs(rec->sink),
		.profile_hz = o->profile_hz,
		.syscalls = o->syscalls && !o->on_demand,
		.block = o->block,
		.probes = rec->probes.items,
		.probe_count = rec->probes.count,
	};
	const char *syscalls = o->on_demand && !o->syscalls ? "" : o->syscalls;
	int r = syscalls ? choose_syscalls(syscalls, config.syscalls_wanted, err) : 0;

	for (size_t i = 0; i < o->port_count; i++)
		config.ports[i] = o->ports[i];
	if (r == 0)
		r = programs_load(&config, warn_of_missing_feature, rec, &rec->programs, err);
	if (r == 0)
		r = rings_open(programs_rings_fd(rec->programs), programs_cpu_count(rec->programs),
			       config.ring_size, &rec->rings, err);
	if (r == 0)
		rec->sorter = sorter_new(programs_cpu_count(rec->programs) + 1);
	return r;
}

static int load_probes(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = o->event_count ? probe_prepare(err) : 0;

	for (size_t i = 0; r == 0 && i < o->event_count; i++) {
		struct probe probe = { 0 };

		r = probe_init(&probe, o->events[i], err);
		if (r == 0)
			*vec_push(&rec->probes) = probe;
	}
	return r;
}

static void load_symbols(struct recorder *rec)
{
	const struct record_options *o = rec->options;
	struct err err = { "" };

	rec->symbols = symbols_new();
	if (record_has_stacks(o))
		symbols_prepare();
	if (record_has_stacks(o) && symbols_load_kernel(rec->symbols, &err) < 0)
		recorder_warn(rec, err.text);
}

int recorder_write_probe_types(struct recorder *rec, nsec_t now, struct err *err)
{
	for (size_t i = 0; i < rec->probes.count; i++) {
		const struct probe *probe = &rec->probes.items[i];
		_cleanup_(freep) char *name = must_printf("%s:%s", probe->category, probe->name);
		struct record_probe_type type = {
			.head = { .time = now,
				  .kind = RECORD_PROBE_TYPE,
				  .words = sizeof(type) / 8 },
			.type = i,
			.name = sink_add_string(rec->sink, name),
			.format = sink_add_string(rec->sink, probe->format),
		};
		int r = sink_write(rec->sink, &type.head, err);

		if (r < 0)
			return r;
		counter_add(&rec->counters, COUNTER_ADDED, 1);
		counter_add(&rec->counters, COUNTER_WRITTEN, 1);
	}
	return 0;
}

static int begin_sink(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	struct utsname u;

	uname(&u);
	rec->start = clock_now();

	struct capture_meta meta = {
		.host = u.nodename,
		.kernel = u.release,
		.machine = u.machine,
		.command = o->command_line,
		.tool = o->tool,
		.cpu_count = sysconf(_SC_NPROCESSORS_ONLN),
		.start = rec->start,
		.realtime_offset = clock_offset(CLOCK_REALTIME),
		.boottime_offset = clock_offset(CLOCK_BOOTTIME),
	};
	int r = sink_begin(rec->sink, &meta, err);

	if (r < 0)
		return r;
	rec->encoder =
		encoder_new(rec->sorter, rec->sink, rec->symbols, o->arguments, &rec->counters);
	return recorder_write_probe_types(rec, rec->start, err);
}

/* From now on, agents that start can register with the recorder. */
static void open_agents(struct recorder *rec)
{
	const struct record_options *o = rec->options;

	if (o->agents)
		rec->agent_scope = recorder_agent_scope(rec);
	if (o->spans)
		rec->agents = agents_new(&(struct agents_config){
			.programs = rec->programs,
			.scope = rec->agent_scope,
			.sorter = rec->sorter,
			.stream = programs_cpu_count(rec->programs),
			.sink = rec->sink,
			.start = rec->start,
			.counters = &rec->counters,
			.warning = recorder_warning,
			.arg = rec,
		});
}

static unsigned int privileges_needed(const struct record_options *o)
{
	return (record_has_stacks(o) || o->spans ? PRIVILEGE_PROCESSES : 0) |
	       (o->port_count || o->cgroup || o->spans ? PRIVILEGE_BPF : 0) |
	       (o->on_demand ? PRIVILEGE_BPF | PRIVILEGE_ATTACH : 0);
}

static int add_processes(struct recorder *rec, struct err *err)
{
	uint64_t pid, unused;
	int r = 0;

	for (size_t at = 0; r == 0 && map_next(&rec->scope.pids, &at, &pid, &unused);)
		r = programs_add_process(rec->programs, pid, UINT64_MAX, err);
	return r < 0 ? r : programs_find_threads(rec->programs, err);
}

/*
 * Start the BPF programs, which from now on add the children of processes in scope.
 * Then scan again for children that were forked between the first scan and now.
 */
static int enter_scope(struct recorder *rec, struct err *err)
{
	uint64_t port, unused;

	programs_start(rec->programs);
	for (size_t at = 0; map_next(&rec->scope.ports, &at, &port, &unused);)
		programs_add_port(rec->programs, port);

	int r = add_processes(rec, err);

	while (r == 0 && !rec->options->all && scope_add_descendants(&rec->scope))
		r = add_processes(rec, err);
	return r;
}

static int attach_samples(struct recorder *rec, struct err *err)
{
	int r = programs_attach_samples(rec->programs, err);

	if (r == 0 || !rec->options->profile_optional)
		return r;
	recorder_warn(rec, err->text);
	return 0;
}

/* Only these steps use the capabilities of the binary. */
static int attach(struct recorder *rec, struct err *err)
{
	caps_raise();

	int r = load_probes(rec, err);

	if (r == 0)
		r = load_programs(rec, err);
	if (r == 0)
		load_symbols(rec);
	if (r == 0)
		r = programs_attach(rec->programs, err);
	if (r == 0)
		r = attach_samples(rec, err);
	caps_lower();
	return r;
}

static int begin_in_scope(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;

	caps_raise();

	int r = enter_scope(rec, err);

	priority_raise(&rec->priority);
	caps_lower();
	if (r == 0)
		r = privilege_drop(privileges_needed(o), rec->child.pid, rec->sink->socket, err);
	if (r > 0)
		recorder_warn(rec, err->text);
	return r < 0 ? r : 0;
}

int recorder_begin(struct recorder *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = privilege_check(err);

	if (r == 0 && o->command)
		r = child_hold(o->command, &rec->child, err);
	if (r == 0)
		r = find_scope(rec, err);
	if (r == 0)
		r = attach(rec, err);
	if (r == 0)
		r = begin_sink(rec, err);
	if (r == 0)
		open_agents(rec);
	return r < 0 ? r : begin_in_scope(rec, err);
}
