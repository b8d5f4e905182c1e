/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/text.h"
#include "base/vec.h"
#include "event/capture.h"
#include "event/syscall.h"
#include "record/agents.h"
#include "record/child.h"
#include "record/clock.h"
#include "record/hit.h"
#include "record/privilege.h"
#include "record/probes.h"
#include "record/ring.h"
#include "record/scope.h"
#include "record/sort.h"
#include "record/symbol.h"
#include "record/transcribe.h"

/* How long a record may take from its stamp to its reservation, with room to spare. */
#define SORT_WINDOW (50 * NSEC_PER_MSEC)

/* How often to come by: often enough that the rings stay mostly empty, seldom enough to cost
 * nothing. */
#define PAUSE_MIN (1 * NSEC_PER_MSEC)
#define PAUSE_MAX (20 * NSEC_PER_MSEC)
#define PAUSE_MAX_STACKS (5 * NSEC_PER_MSEC) /* before their processes are gone */
#define PAUSE_MAX_SPANS (10 * NSEC_PER_MSEC) /* as the rings of agents are small */

/* How far ahead the end is set: longer than any program takes. */
#define STOP_AHEAD (1 * NSEC_PER_MSEC)

enum { HELD_UP_MAX = 50 };

/* Rings of all CPUs together, unless the user says how large one is to be. */
#define RINGS_TOTAL (32ull << 20)
#define RING_DEFAULT_MIN (256ull << 10)
#define RING_DEFAULT_MAX (2ull << 20)

struct recording {
	const struct record_options *options; /* borrowed */
	struct child child;
	struct scope scope;
	VEC(struct hit_type) hits;
	struct probes *probes;
	struct rings *rings;
	struct sorter *sorter;
	struct symbols *symbols;
	struct capture_writer *writer;
	struct transcript *transcript;
	struct agents *agents; /* or NULL */
	nsec_t start, next_second, pause;
	unsigned int held_up; /* rounds in which a record stayed uncommitted */
};

static void recording_done(struct recording *rec)
{
	agents_free(rec->agents);
	transcript_free(rec->transcript);
	capture_writer_free(rec->writer);
	symbols_free(rec->symbols);
	sorter_free(rec->sorter);
	rings_free(rec->rings);
	probes_free(rec->probes);
	for (size_t i = 0; i < rec->hits.count; i++)
		hit_type_done(&rec->hits.items[i]);
	vec_done(&rec->hits);
	scope_done(&rec->scope);
	child_done(&rec->child);
}

static bool takes_stacks(const struct record_options *o)
{
	return o->stacks || o->profile_hz;
}

static void lacks(void *arg, const char *what)
{
	const struct record_options *o = arg;
	char words[256];

	snprintf(words, sizeof(words), "this kernel gives no %s: recording without", what);
	o->notice(o->arg, words);
}

static int find_scope(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->pid_count; i++)
		r = scope_add_pid(&rec->scope, o->pids[i], err);
	for (size_t i = 0; r == 0 && i < o->port_count; i++)
		r = scope_add_port(&rec->scope, o->ports[i], err);
	if (r == 0 && o->cgroup)
		r = scope_add_cgroup(&rec->scope, o->cgroup, err);
	if (r == 0 && rec->child.pid)
		map_insert(&rec->scope.pids, rec->child.pid);
	if (r == 0)
		scope_find_ports(&rec->scope);
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

/* The next power of two, within what the kernel side can deal with. */
static size_t ring_size(uint64_t wanted, size_t cpus)
{
	uint64_t size = WIRE_RING_MIN;

	if (!wanted) {
		wanted = RINGS_TOTAL / cpus;
		wanted = wanted < RING_DEFAULT_MIN ? RING_DEFAULT_MIN : wanted;
		wanted = wanted > RING_DEFAULT_MAX ? RING_DEFAULT_MAX : wanted;
	}
	while (size < wanted && size < 1u << 30)
		size *= 2;
	return size;
}

static int load_probes(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	struct probes_config config = {
		.ring_size = ring_size(o->buffer, sysconf(_SC_NPROCESSORS_CONF)),
		.all = o->all,
		.neighbours = o->neighbours,
		.cgroup = rec->scope.cgroup,
		.cgroup_hierarchy = rec->scope.cgroup_hierarchy,
		.stacks = o->stacks,
		.profile_hz = o->profile_hz,
		.syscalls = o->syscalls != NULL,
		.block = o->block,
		.hits = rec->hits.items,
		.hit_count = rec->hits.count,
	};
	int r = o->syscalls ? choose_syscalls(o->syscalls, config.syscalls_wanted, err) : 0;

	for (size_t i = 0; i < o->port_count; i++)
		config.ports[i] = o->ports[i];
	if (r == 0)
		r = probes_load(&config, lacks, (void *)o, &rec->probes, err);
	if (r == 0)
		r = rings_open(probes_rings_fd(rec->probes), probes_cpu_count(rec->probes),
			       config.ring_size, &rec->rings, err);
	if (r == 0)
		rec->sorter = sorter_new(probes_cpu_count(rec->probes) + 1);
	return r;
}

static int load_hits(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = o->event_count ? hit_prepare(err) : 0;

	for (size_t i = 0; r == 0 && i < o->event_count; i++) {
		struct hit_type type = { 0 };

		r = hit_type_init(&type, o->events[i], err);
		if (r == 0)
			*vec_push(&rec->hits) = type;
	}
	return r;
}

static void load_symbols(struct recording *rec)
{
	const struct record_options *o = rec->options;
	struct err err = { "" };

	rec->symbols = symbols_new();
	if (takes_stacks(o) && symbols_load_kernel(rec->symbols, &err) < 0)
		o->notice(o->arg, err.text);
}

static int write_hit_types(struct recording *rec, struct err *err)
{
	for (size_t i = 0; i < rec->hits.count; i++) {
		const struct hit_type *hit = &rec->hits.items[i];
		_cleanup_(freep) char *name = must_printf("%s:%s", hit->category, hit->name);
		struct record_hit_type type = {
			.head = { .time = rec->start,
				  .kind = RECORD_HIT_TYPE,
				  .words = sizeof(type) / 8 },
			.type = i,
			.name = capture_string(rec->writer, name),
			.format = capture_string(rec->writer, hit->format),
		};
		int r = capture_write(rec->writer, &type.head, err);

		if (r < 0)
			return r;
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
	uid_t uid;
	gid_t gid;

	if (r < 0)
		return r;
	/* what is recorded with sudo belongs to who called it */
	if (privilege_sudo_user(&uid, &gid) && fchown(capture_fd(rec->writer), uid, gid) < 0)
		o->notice(o->arg, "the capture belongs to root: it cannot be given to you");
	rec->transcript = transcript_new(rec->sorter, rec->writer, rec->symbols);
	return write_hit_types(rec, err);
}

/* From now on agents that begin find us. */
static void open_agents(struct recording *rec)
{
	const struct record_options *o = rec->options;

	if (o->spans)
		rec->agents = agents_new(&(struct agents_config){
			.probes = rec->probes,
			.sorter = rec->sorter,
			.stream = probes_cpu_count(rec->probes),
			.writer = rec->writer,
			.start = rec->start,
			.notice = o->notice,
			.arg = o->arg,
		});
}

static unsigned int privileges_needed(const struct record_options *o)
{
	return (takes_stacks(o) || o->spans ? PRIVILEGE_PROCESSES : 0) |
	       (o->port_count || o->cgroup || o->spans ? PRIVILEGE_BPF : 0);
}

static int add_processes(struct recording *rec, struct err *err)
{
	uint64_t pid, yes;
	int r = 0;

	for (size_t at = 0; r == 0 && map_next(&rec->scope.pids, &at, &pid, &yes);)
		r = probes_add_process(rec->probes, pid, err);
	return r < 0 ? r : probes_find_threads(rec->probes, err);
}

/*
 * From now on the programs follow who is in scope.  Children that were born
 * after we looked and before that are found by looking again.
 */
static int enter_scope(struct recording *rec, struct err *err)
{
	uint64_t port, yes;

	probes_start(rec->probes);
	for (size_t at = 0; map_next(&rec->scope.ports, &at, &port, &yes);)
		probes_add_port(rec->probes, port);

	int r = add_processes(rec, err);

	while (r == 0 && !rec->options->all && scope_add_descendants(&rec->scope))
		r = add_processes(rec, err);
	return r;
}

static int begin(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;
	int r = privilege_check(err);

	if (r == 0 && o->command)
		r = child_hold(o->command, &rec->child, err);
	if (r == 0)
		r = find_scope(rec, err);
	if (r == 0)
		r = load_hits(rec, err);
	if (r == 0)
		r = load_probes(rec, err);
	if (r < 0)
		return r;
	load_symbols(rec);
	r = probes_attach(rec->probes, err);
	if (r == 0)
		r = open_capture(rec, err);
	if (r == 0)
		open_agents(rec);
	if (r == 0)
		r = enter_scope(rec, err);
	if (r == 0)
		r = privilege_drop(privileges_needed(o), err);
	if (r == 0 && o->command)
		r = child_release(&rec->child, o->command[0], err);
	return r;
}

static void take_clock(struct recording *rec, nsec_t now)
{
	struct record_clock c = {
		.head = { .time = now, .kind = RECORD_CLOCK, .words = sizeof(c) / 8 },
		.realtime = clock_offset(CLOCK_REALTIME),
		.boottime = clock_offset(CLOCK_BOOTTIME),
	};

	sorter_add(rec->sorter, 0, &c.head);
}

/* The fuller the rings, the sooner to come back. */
static void adapt_pause(struct recording *rec, unsigned int fill)
{
	nsec_t longest = takes_stacks(rec->options)                   ? PAUSE_MAX_STACKS
			 : rec->agents && agents_has_any(rec->agents) ? PAUSE_MAX_SPANS
								      : PAUSE_MAX;

	if (rec->pause > longest)
		rec->pause = longest;
	if (fill > 256 / 2)
		rec->pause = PAUSE_MIN;
	else if (fill > 256 / 4)
		rec->pause = rec->pause / 2 > PAUSE_MIN ? rec->pause / 2 : PAUSE_MIN;
	else if (fill < 256 / 16 && rec->pause < longest)
		rec->pause += NSEC_PER_MSEC;
}

/* For rings_drain(). */
static void take(void *arg, size_t cpu, const struct record *record)
{
	struct recording *rec = arg;

	transcript_take(rec->transcript, cpu, record);
	if (rec->agents)
		agents_see(rec->agents, record);
}

/*
 * Take what the rings hold and write what is older than the window.  A record
 * that is reserved but not committed, as its CPU is held up, may be as old as
 * any: nothing is written until it is there, or there have been so many rounds
 * that something else must be wrong.
 */
static int drain(struct recording *rec, struct err *err)
{
	nsec_t now = clock_now();
	struct ring_state state = rings_drain(rec->rings, take, rec);
	unsigned int fill = rec->agents ? agents_drain(rec->agents, now) : 0;
	nsec_t horizon = now - SORT_WINDOW;
	nsec_t settled = rec->agents ? agents_settled(rec->agents) : horizon;

	adapt_pause(rec, fill > state.fill ? fill : state.fill);
	rec->held_up = state.pending ? rec->held_up + 1 : 0;
	if (rec->held_up > 0 && rec->held_up < HELD_UP_MAX)
		return 0;
	return sorter_flush(rec->sorter, settled < horizon ? settled : horizon, transcript_write,
			    rec->transcript, err);
}

static void get_state(const struct recording *rec, struct record_state *ret)
{
	struct transcript_count count = transcript_count(rec->transcript);

	*ret = (struct record_state){
		.elapsed = clock_now() - rec->start,
		.records = count.records,
		.lost = count.lost,
		.late = sorter_late(rec->sorter),
		.bytes = capture_size(rec->writer),
	};
}

/* What is due once a second. */
static int each_second(struct recording *rec, struct err *err)
{
	struct record_state state;

	take_clock(rec, clock_now());
	get_state(rec, &state);
	rec->options->progress(rec->options->arg, &state);
	return capture_flush(rec->writer, err);
}

static void say_how_it_ended(const struct record_options *o, int status)
{
	char words[256];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFEXITED(status))
		snprintf(words, sizeof(words), "'%.200s' ended with exit code %d", o->command[0],
			 WEXITSTATUS(status));
	else
		snprintf(words, sizeof(words), "'%.200s' was ended by signal %d", o->command[0],
			 WTERMSIG(status));
	o->notice(o->arg, words);
}

static int run(struct recording *rec, const volatile sig_atomic_t *stop, struct err *err)
{
	const struct record_options *o = rec->options;
	nsec_t end = o->duration ? clock_now() + o->duration : UINT64_MAX;
	int status, r = 0;

	rec->pause = PAUSE_MIN;
	while (r == 0 && !*stop) {
		nsec_t now = clock_now();

		if (now >= end)
			break;
		clock_pause(end - now < rec->pause ? end - now : rec->pause);
		r = drain(rec, err);
		if (r == 0 && probes_has_joins(rec->probes))
			r = probes_find_threads(rec->probes, err);
		if (r == 0 && now >= rec->next_second) {
			rec->next_second = now + NSEC_PER_SEC;
			r = each_second(rec, err);
		}
		if (child_ended(&rec->child, &status)) {
			say_how_it_ended(o, status);
			break;
		}
	}
	return r;
}

static void take_untold_losses(struct recording *rec)
{
	struct record_loss loss;

	for (size_t cpu = 0; cpu < probes_cpu_count(rec->probes); cpu++)
		if (rings_untold_loss(rec->rings, cpu, &loss))
			sorter_add(rec->sorter, cpu, &loss.head);
}

/*
 * The end is set a little ahead, so that it is one and the same for all CPUs.
 * What the iterators leave behind then may be more than the rings hold; they are
 * emptied first, and a loss here is counted like any other.
 */
static int finish(struct recording *rec, struct err *err)
{
	nsec_t end = clock_now() + STOP_AHEAD;

	probes_end_at(rec->probes, end);
	while (clock_now() < end + STOP_AHEAD)
		clock_pause(STOP_AHEAD);
	rings_drain(rec->rings, take, rec);

	int r = probes_finish(rec->probes, err);

	if (r < 0)
		return r;
	rings_drain(rec->rings, take, rec);
	if (rec->agents)
		agents_finish(rec->agents, end);
	take_untold_losses(rec);
	take_clock(rec, clock_now());
	r = sorter_flush(rec->sorter, UINT64_MAX, transcript_write, rec->transcript, err);
	if (r == 0)
		r = capture_flush(rec->writer, err);
	if (r == 0)
		r = transcript_write_symbols(rec->transcript, clock_now(), err);
	return r < 0 ? r : capture_close(rec->writer, err);
}

int record(const struct record_options *options, const volatile sig_atomic_t *stop,
	   struct record_state *ret, struct err *err)
{
	_cleanup_(recording_done) struct recording rec = { .options = options,
							   .child = CHILD_NONE };
	int r = begin(&rec, err);

	if (r == 0)
		r = run(&rec, stop, err);
	if (r == 0)
		r = finish(&rec, err);
	if (r == 0)
		get_state(&rec, ret);
	return r;
}
