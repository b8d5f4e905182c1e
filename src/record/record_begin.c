/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_begin - all that comes before the first record.
 *
 * The order matters.  The command is forked first, before anything is open or
 * given up, and released after all else (record.c), so that it is recorded from its first
 * instruction.
 * What needs privileges comes before they are dropped: programs, the capture,
 * the names of the kernel's functions.  Who is in scope is looked up before the
 * programs watch for newcomers, and once more when they do.
 */
#include "record/record_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/caps.h"
#include "event/syscall.h"
#include "record/clock.h"
#include "record/privilege.h"

/* Rings of all CPUs together, unless the user says how large one is to be. */
#define RINGS_TOTAL (32ull << 20)
#define RING_DEFAULT_MIN (256ull << 10)
#define RING_DEFAULT_MAX (2ull << 20)

void recording_done(struct recording *rec)
{
	agents_free(rec->agents);
	encoder_free(rec->encoder);
	capture_writer_free(rec->writer);
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
}

static void missing(void *arg, const char *what)
{
	const struct record_options *o = arg;
	char words[256];

	snprintf(words, sizeof(words), "this kernel gives no %s: recording without", what);
	o->warning(o->arg, words);
}

/* Whoever asked for the wrong port, or for one in a container, ought to know before the end. */
static int add_port(struct recording *rec, uint16_t port, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = scope_add_port(&rec->scope, port, err);
	char words[128];

	if (r == 0 && !o->command) {
		snprintf(words, sizeof(words),
			 "nobody listens on port %u of this network namespace so far", port);
		o->warning(o->arg, words);
	}
	return r < 0 ? r : 0;
}

static int find_scope(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->pid_count; i++)
		r = scope_add_pid(&rec->scope, o->pids[i], err);
	if (r == 0 && o->cgroup)
		r = scope_add_cgroup(&rec->scope, o->cgroup, err);
	if (r == 0 && rec->child.pid)
		map_insert(&rec->scope.pids, rec->child.pid);
	caps_raise(); /* to see the sockets of others */
	for (size_t i = 0; r == 0 && i < o->port_count; i++)
		r = add_port(rec, o->ports[i], err);
	if (r == 0)
		scope_find_ports(&rec->scope);
	caps_lower();
	return r;
}

/* Mark the system calls of a list as wanted; all of them if it is empty. */
static int choose_syscalls(const char *list, uint64_t *wanted, struct err *err)
{
	_cleanup_(freep) char *copy = must_strdup(list);

	if (!*list)
		memset(wanted, 0xff, SYSCALL_TABLE_SIZE / 8);
	for (char *save, *name = strtok_r(copy, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		int nr = syscall_number(name);

		if (nr < 0)
			return err_set(err, -EINVAL, "there is no system call '%s'", name);
		wanted[nr / 64] |= 1ull << (nr % 64);
	}
	return 0;
}

/* The next power of two, within what the kernel's verifier lets programs deal with. */
static size_t ring_size(uint64_t wanted, size_t cpus)
{
	uint64_t size = WIRE_RING_MIN;

	if (!wanted) {
		wanted = RINGS_TOTAL / cpus;
		wanted = wanted < RING_DEFAULT_MIN ? RING_DEFAULT_MIN : wanted;
		wanted = wanted > RING_DEFAULT_MAX ? RING_DEFAULT_MAX : wanted;
	}
	while (size < wanted && size < RECORD_BUFFER_MAX)
		size *= 2;
	return size;
}

static int load_programs(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	struct programs_config config = {
		.ring_size = ring_size(o->buffer, sysconf(_SC_NPROCESSORS_CONF)),
		.all = o->all,
		.other_tasks = o->other_tasks,
		.cgroup = rec->scope.cgroup,
		.cgroup_hierarchy = rec->scope.cgroup_hierarchy,
		.stacks = o->stacks,
		.profile_hz = o->profile_hz,
		.syscalls = o->syscalls != NULL,
		.block = o->block,
		.probes = rec->probes.items,
		.probe_count = rec->probes.count,
	};
	int r = o->syscalls ? choose_syscalls(o->syscalls, config.syscalls_wanted, err) : 0;

	for (size_t i = 0; i < o->port_count; i++)
		config.ports[i] = o->ports[i];
	if (r == 0)
		r = programs_load(&config, missing, (void *)o, &rec->programs, err);
	if (r == 0)
		r = rings_open(programs_rings_fd(rec->programs), programs_cpu_count(rec->programs),
			       config.ring_size, &rec->rings, err);
	if (r == 0)
		rec->sorter = sorter_new(programs_cpu_count(rec->programs) + 1);
	return r;
}

static int load_probe_types(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = o->event_count ? probe_prepare(err) : 0;

	for (size_t i = 0; r == 0 && i < o->event_count; i++) {
		struct probe type = { 0 };

		r = probe_init(&type, o->events[i], err);
		if (r == 0)
			*vec_push(&rec->probes) = type;
	}
	return r;
}

static void load_symbols(struct recording *rec)
{
	const struct record_options *o = rec->options;
	struct err err = { "" };

	rec->symbols = symbols_new();
	if (record_has_stacks(o))
		symbols_prepare();
	if (record_has_stacks(o) && symbols_load_kernel(rec->symbols, &err) < 0)
		o->warning(o->arg, err.text);
}

static int write_probe_types(struct recording *rec, struct err *err)
{
	for (size_t i = 0; i < rec->probes.count; i++) {
		const struct probe *probe = &rec->probes.items[i];
		_cleanup_(freep) char *name = must_printf("%s:%s", probe->category, probe->name);
		struct record_probe_type type = {
			.head = { .time = rec->start,
				  .kind = RECORD_PROBE_TYPE,
				  .words = sizeof(type) / 8 },
			.type = i,
			.name = capture_add_string(rec->writer, name),
			.format = capture_add_string(rec->writer, probe->format),
		};
		int r = capture_write(rec->writer, &type.head, err);

		if (r < 0)
			return r;
		counter_add(&rec->counters, COUNTER_ADDED, 1);
		counter_add(&rec->counters, COUNTER_WRITTEN, 1);
	}
	return 0;
}

static int open_capture(struct recording *rec, struct err *err)
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
	int r = capture_create(o->output, &meta, &rec->writer, err);
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (r < 0)
		return r;
	if (caps_sudo_user(&uid, &gid) &&
	    (fstat(capture_fd(rec->writer), &st) < 0 || st.st_uid != uid))
		o->warning(o->arg, "the capture belongs to root: it cannot be given to you");
	rec->encoder =
		encoder_new(rec->sorter, rec->writer, rec->symbols, o->arguments, &rec->counters);
	return write_probe_types(rec, err);
}

/* From now on agents that begin find us. */
static void open_agents(struct recording *rec)
{
	const struct record_options *o = rec->options;

	if (o->spans)
		rec->agents = agents_new(&(struct agents_config){
			.programs = rec->programs,
			.sorter = rec->sorter,
			.stream = programs_cpu_count(rec->programs),
			.writer = rec->writer,
			.start = rec->start,
			.counters = &rec->counters,
			.warning = o->warning,
			.arg = o->arg,
		});
}

static unsigned int privileges_needed(const struct record_options *o)
{
	return (record_has_stacks(o) || o->spans ? PRIVILEGE_PROCESSES : 0) |
	       (o->port_count || o->cgroup || o->spans ? PRIVILEGE_BPF : 0);
}

static int add_processes(struct recording *rec, struct err *err)
{
	uint64_t pid, yes;
	int r = 0;

	for (size_t at = 0; r == 0 && map_next(&rec->scope.pids, &at, &pid, &yes);)
		r = programs_add_process(rec->programs, pid, err);
	return r < 0 ? r : programs_find_threads(rec->programs, err);
}

/*
 * From now on the programs follow who is in scope.  Children that were born
 * after we looked and before that are found by looking again.
 */
static int enter_scope(struct recording *rec, struct err *err)
{
	uint64_t port, yes;

	programs_start(rec->programs);
	for (size_t at = 0; map_next(&rec->scope.ports, &at, &port, &yes);)
		programs_add_port(rec->programs, port);

	int r = add_processes(rec, err);

	while (r == 0 && !rec->options->all && scope_add_descendants(&rec->scope))
		r = add_processes(rec, err);
	return r;
}

/* What the binary may do beyond its user serves these alone. */
static int attach(struct recording *rec, struct err *err)
{
	caps_raise();

	int r = load_probe_types(rec, err);

	if (r == 0)
		r = load_programs(rec, err);
	if (r == 0)
		load_symbols(rec);
	if (r == 0)
		r = programs_attach(rec->programs, err);
	caps_lower();
	return r;
}

static int begin_in_scope(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;

	caps_raise();

	int r = enter_scope(rec, err);

	caps_lower();
	if (r == 0)
		r = privilege_drop(privileges_needed(o), rec->child.pid, err);
	if (r > 0)
		o->warning(o->arg, err->text);
	return r < 0 ? r : 0;
}

int recording_begin(struct recording *rec, struct err *err)
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
		r = open_capture(rec, err);
	if (r == 0)
		open_agents(rec);
	return r < 0 ? r : begin_in_scope(rec, err);
}
