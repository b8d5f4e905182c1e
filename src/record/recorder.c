/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recorder_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "record/clock.h"
#include "record/kernel/profile.h"

/*
 * Upper bound for the time from a record's timestamp to its reservation in the ring.  That is a few
 * microseconds, or the length of the slice after a hidden switch (slice_begin() in sched.bpf.h).
 */
#define SORT_WINDOW (50 * NSEC_PER_MSEC)

/* The poll interval: short enough to keep the rings mostly empty, long enough to cost little. */
#define PAUSE_MIN (1 * NSEC_PER_MSEC)
#define PAUSE_MAX (20 * NSEC_PER_MSEC)
#define PAUSE_MAX_STACKS (5 * NSEC_PER_MSEC) /* resolve addresses before processes exit */
#define PAUSE_MAX_SPANS (10 * NSEC_PER_MSEC) /* agents have small rings */

/* How far in the future the end of the recording is set: longer than any BPF program runs. */
#define STOP_AHEAD (1 * NSEC_PER_MSEC)

/* The length of an epoch of a stream, unless its reader chooses one. */
#define EPOCH_DEFAULT (5 * NSEC_PER_SEC)

/* The longest delay of the start while scanning for agents. */
#define FIND_AGENTS_MAX (2 * NSEC_PER_SEC)

enum { HELD_UP_MAX = 50 };

static void add_clock(struct recorder *rec, nsec_t now)
{
	struct record_clock c = {
		.head = { .time = now, .kind = RECORD_CLOCK, .words = sizeof(c) / 8 },
		.realtime = clock_offset(CLOCK_REALTIME),
		.boottime = clock_offset(CLOCK_BOOTTIME),
	};

	counter_add(&rec->counters, COUNTER_ADDED, 1);
	sorter_add(rec->sorter, 0, &c.head);
}

/* Poll more often if the rings fill up.  `fill` is in 1/256 of the ring size. */
static void adapt_pause(struct recorder *rec, unsigned int fill)
{
	nsec_t longest = record_has_stacks(rec->options)              ? PAUSE_MAX_STACKS
			 : rec->agents && agents_has_any(rec->agents) ? PAUSE_MAX_SPANS
								      : PAUSE_MAX;

	if (rec->options->sort_window && longest > rec->options->sort_window)
		longest = rec->options->sort_window;
	if (rec->pause > longest)
		rec->pause = longest;
	if (fill > 256 / 2)
		rec->pause = PAUSE_MIN;
	else if (fill > 256 / 4)
		rec->pause = rec->pause / 2 > PAUSE_MIN ? rec->pause / 2 : PAUSE_MIN;
	else if (fill < 256 / 16 && rec->pause < longest)
		rec->pause += NSEC_PER_MSEC;
}

/* Callback of rings_drain(). */
static void add_kernel_record(void *arg, size_t cpu, const struct record *record)
{
	struct recorder *rec = arg;

	counter_add(&rec->counters, COUNTER_KERNEL_DRAINED, 1);
	if (record->kind == RECORD_EXIT && !rec->options->all &&
	    ((const struct record_exit *)(const void *)record)->pid == record->tid)
		programs_remove_process(rec->programs, record->tid);
	encoder_add(rec->encoder, cpu, record);
	if (rec->agents)
		agents_add_record(rec->agents, record);
}

/*
 * Drain the rings, and write the records that are older than the sort window.  If
 * a record is reserved but not committed, for example because the hypervisor
 * stopped its CPU, its time is unknown.  Then nothing is written until it is
 * committed, or for at most HELD_UP_MAX rounds.
 */
static int drain(struct recorder *rec, struct err *err)
{
	nsec_t now = clock_now();
	struct ring_state state = rings_drain(rec->rings, add_kernel_record, rec);
	unsigned int fill = rec->agents ? agents_drain(rec->agents, now) : 0;
	nsec_t horizon = now - (rec->options->sort_window ?: SORT_WINDOW);
	nsec_t complete = rec->agents ? agents_complete_until(rec->agents) : horizon;

	adapt_pause(rec, fill > state.fill ? fill : state.fill);
	rec->held_up = state.pending ? rec->held_up + 1 : 0;
	if (rec->held_up > 0 && rec->held_up < HELD_UP_MAX)
		return 0;
	return sorter_flush(rec->sorter, complete < horizon ? complete : horizon, encoder_write,
			    rec->encoder, err);
}

static bool is_stopped(const struct recorder *rec)
{
	return rec->stopped || (rec->options->stop && *rec->options->stop);
}

/*
 * Attach to the agents of the processes in scope before the command starts: spans that end before
 * the recorder attaches to their agent are missing from the recording without being counted.
 */
static int find_agents(struct recorder *rec, struct err *err)
{
	nsec_t end = clock_now() + FIND_AGENTS_MAX;
	int r = 0;

	if (!rec->agents)
		return 0;
	do
		r = drain(rec, err);
	while (r == 0 && !is_stopped(rec) && agents_has_unscanned(rec->agents) &&
	       clock_now() < end);
	agents_start(rec->agents);
	return r;
}

/* Resident memory of this process, from /proc; 0 if it is not mounted. */
static uint64_t resident_size(void)
{
	_cleanup_(closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128] = "";
	uint64_t pages = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%*u %" SCNu64, &pages);
	return pages * sysconf(_SC_PAGESIZE);
}

void recorder_get_stats(const struct recorder *rec, struct recorder_stats *ret)
{
	const uint64_t *n = rec->counters.n;
	nsec_t now = clock_now();

	*ret = (struct recorder_stats){
		.time = now,
		.elapsed = now - rec->start,
		.records = n[COUNTER_WRITTEN],
		.lost = n[COUNTER_KERNEL_LOST],
		.agent_lost = n[COUNTER_EVENTS_LOST] + n[COUNTER_EVENTS_MISSING] +
			      n[COUNTER_EVENTS_UNREAD] + n[COUNTER_EVENTS_DAMAGED] +
			      n[COUNTER_SPANS_IN_FUTURE],
		.late = sorter_late(rec->sorter),
		.bytes = sink_size(rec->sink),
		.cpu_time = clock_cpu_time(),
		.resident = resident_size(),
		.processes = rec->agents ? agents_count_processes(rec->agents) : 0,
		.scope_refused = rec->agent_scope ? agent_scope_refused(rec->agent_scope).count : 0,
	};
}

/* Called once a second. */
static int each_second(struct recorder *rec, struct err *err)
{
	struct recorder_stats stats;

	add_clock(rec, clock_now());
	recorder_get_stats(rec, &stats);
	if (rec->options->progress)
		rec->options->progress(rec->options->arg, &stats);

	int r = sink_has_epochs(rec->sink) ? programs_find_unread(rec->programs, err) : 0;

	if (r == 0)
		r = sink_stats(rec->sink, &stats, err);

	return r < 0 ? r : sink_flush(rec->sink, err);
}

static void warn_of_exit_status(struct recorder *rec, int status)
{
	const struct record_options *o = rec->options;
	char text[256];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFEXITED(status))
		snprintf(text, sizeof(text), "'%.200s' exited with status %d", o->command[0],
			 WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "'%.200s' was killed by signal %d", o->command[0],
			 WTERMSIG(status));
	recorder_warn(rec, text);
}

/* An encoder_epoch_fn. */
static int describe_again(void *arg, nsec_t now, struct err *err)
{
	struct recorder *rec = arg;

	rec->epoch_pending = false;
	if (rec->agents)
		agents_renew_strings(rec->agents);
	return recorder_write_probe_types(rec, now, err);
}

void recorder_begin_epoch(struct recorder *rec, nsec_t now)
{
	if (rec->epoch_pending)
		return;
	rec->epoch_pending = true;
	rec->next_epoch = now + (rec->options->epoch ?: EPOCH_DEFAULT);
	programs_forget_described(rec->programs);
	programs_forget_syscalls(rec->programs);
	encoder_begin_epoch(rec->encoder, now);
}

int recorder_poll(struct recorder *rec, struct err *err)
{
	nsec_t now = clock_now();
	int status, r;

	if (is_stopped(rec) || now >= rec->end)
		return 0;
	r = sink_pause(rec->sink, rec->end - now < rec->pause ? rec->end - now : rec->pause, err);
	priority_check(&rec->priority, now);
	if (r == 0 && sink_has_epochs(rec->sink) &&
	    (now >= rec->next_epoch || sink_wants_epoch(rec->sink)))
		recorder_begin_epoch(rec, now);
	if (r == 0)
		r = drain(rec, err);
	encoder_poll(rec->encoder, now);
	if (r == 0 && programs_has_pending_joins(rec->programs))
		r = programs_find_threads(rec->programs, err);
	if (r == 0 && now >= rec->next_second) {
		rec->next_second = now + NSEC_PER_SEC;
		r = each_second(rec, err);
	}
	if (r == 0)
		r = sink_poll(rec->sink, now, err);
	if (r < 0)
		return r;
	if (!child_ended(&rec->child, &status))
		return 1;
	warn_of_exit_status(rec, status);
	return 0;
}

/* Losses after the last LOSS record of a ring. */
static void add_unreported_losses(struct recorder *rec)
{
	struct record_loss loss;

	for (size_t cpu = 0; cpu < programs_cpu_count(rec->programs); cpu++)
		if (rings_unreported_loss(rec->rings, cpu, &loss)) {
			counter_add(&rec->counters, COUNTER_ADDED, 1);
			sorter_add(rec->sorter, cpu, &loss.head);
		}
}

/* Warn if the profile has too few samples for the busy time of a CPU. */
static void check_profile(struct recorder *rec)
{
	const struct record_options *o = rec->options;
	size_t cpus = rec->busy ? programs_cpu_count(rec->programs) : 0;
	nsec_t elapsed = clock_now() - rec->busy_since;
	_cleanup_(freep) nsec_t *busy = profile_busy(cpus);
	char text[160];

	for (size_t cpu = 0; cpu < cpus; cpu++) {
		uint64_t due = profile_due(o->profile_hz, rec->busy[cpu], busy[cpu], elapsed);
		uint64_t taken = rings_sampled(rec->rings, cpu);
		uint64_t missing = profile_missing(due, taken);

		counter_add(&rec->counters, COUNTER_SAMPLES_DUE, due);
		counter_add(&rec->counters, COUNTER_SAMPLES_TAKEN, taken);
		counter_add(&rec->counters, COUNTER_SAMPLES_MISSING, missing);
		if (!missing)
			continue;
		snprintf(text, sizeof(text),
			 "the kernel took only %" PRIu64 " of %" PRIu64 " samples on CPU %zu: "
			 "its profile is incomplete",
			 taken, due, cpu);
		recorder_warn(rec, text);
	}
}

/* Add the last counters, and check that all of them agree: a difference is a bug in sonde. */
static int write_counters(struct recorder *rec, struct err *err)
{
	counter_add(&rec->counters, COUNTER_OUT_OF_ORDER, sorter_late(rec->sorter));
	counter_add(&rec->counters, COUNTER_KERNEL_MISSED, programs_missed(rec->programs));
	counter_add(&rec->counters, COUNTER_KERNEL_UNCOMMITTED, rings_uncommitted(rec->rings));
	if (!counters_agree(&rec->counters, false))
		recorder_warn(rec, "the counters of this recording do not add up, so records may "
				   "be missing; see 'sonde info'");
	return encoder_write_counters(rec->encoder, clock_now(), err);
}

static void warn_of_missing_symbols(struct recorder *rec)
{
	char text[640];

	if (symbols_trouble(rec->symbols, text, sizeof(text)))
		recorder_warn(rec, text);
}

/*
 * The end is set a little in the future, so that it is the same for all CPUs.
 * Then BPF iterators finish the intervals of all threads, which can be more
 * records than a ring holds.  So the rings are drained first, and a loss is
 * counted like any other.
 */
static int finish(struct recorder *rec, struct err *err)
{
	nsec_t end = clock_now() + STOP_AHEAD;

	programs_end_at(rec->programs, end);
	while (clock_now() < end + STOP_AHEAD)
		clock_pause(STOP_AHEAD);
	rings_drain(rec->rings, add_kernel_record, rec);

	int r = programs_finish(rec->programs, err);

	if (r < 0)
		return r;
	rings_drain(rec->rings, add_kernel_record, rec);
	if (rec->agents)
		agents_finish(rec->agents, end);
	check_profile(rec);
	add_unreported_losses(rec);
	add_clock(rec, clock_now());
	r = sorter_flush(rec->sorter, UINT64_MAX, encoder_write, rec->encoder, err);
	if (r == 0)
		r = sink_flush(rec->sink, err);
	if (r == 0)
		r = encoder_write_symbols(rec->encoder, clock_now(), err);
	if (r == 0)
		r = sink_settle(rec->sink, &rec->counters, err);
	if (r == 0)
		r = write_counters(rec, err);
	if (r == 0)
		warn_of_missing_symbols(rec);
	return r < 0 ? r : sink_close(rec->sink, err);
}

int recorder_open(const struct record_options *options, struct sink *sink, struct recorder **ret,
		  struct err *err)
{
	_cleanup_(recorder_freep) struct recorder *rec = must_alloc(sizeof(*rec));

	rec->options = options;
	rec->sink = sink;
	rec->child = CHILD_NONE;
	rec->pause = PAUSE_MIN;

	int r = recorder_begin(rec, err);

	if (r == 0 && options->profile_hz) {
		rec->busy = profile_busy(programs_cpu_count(rec->programs));
		rec->busy_since = clock_now();
	}
	if (r == 0)
		r = sink_start(sink, err);
	if (r == 0)
		r = find_agents(rec, err);
	if (r == 0 && options->command)
		r = child_release(&rec->child, options->command[0], err);
	if (r < 0)
		return r;
	encoder_on_epoch(rec->encoder, describe_again, rec);
	rec->next_epoch = clock_now() + (options->epoch ?: EPOCH_DEFAULT);
	rec->end = options->duration ? clock_now() + options->duration : UINT64_MAX;
	*ret = TAKE(rec);
	return 0;
}

int recorder_obey(struct recorder *rec, const struct verb_message *message, struct err *err)
{
	int r = verb_check(message, err);

	if (r < 0)
		return r;
	switch (message->verb) {
	case VERB_STOP:
		rec->stopped = true;
		return 0;
	case VERB_EPOCH:
		recorder_begin_epoch(rec, clock_now());
		return 0;
	case VERB_STACKS:
		return programs_set_stacks(rec->programs, message->value, err);
	case VERB_SYSCALLS:
		return programs_set_syscalls(rec->programs, message->pid, message->value, err);
	case VERB_SYSCALLS_ALL:
		return programs_set_all_syscalls(rec->programs, message->value, err);
	case VERB_OTHER_TASKS:
		return programs_set_other_tasks(rec->programs, message->value, err);
	default:
		return -EINVAL;
	}
}

int recorder_close(struct recorder *rec, struct recorder_stats *ret, struct err *err)
{
	int r = finish(rec, err);

	if (r == 0)
		recorder_get_stats(rec, ret);
	return r;
}
