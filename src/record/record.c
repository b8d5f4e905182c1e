/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "record/clock.h"
#include "record/kernel/profile.h"

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

/* How long the start of a recording can be delayed by looking for agents. */
#define FIND_AGENTS_MAX (2 * NSEC_PER_SEC)

/* Bytes of the capture that can wait for the disk: a second of 400,000 records/s. */
#define WRITE_BEHIND_MAX (16u << 20)

enum { HELD_UP_MAX = 50 };

static void take_clock(struct recording *rec, nsec_t now)
{
	struct record_clock c = {
		.head = { .time = now, .kind = RECORD_CLOCK, .words = sizeof(c) / 8 },
		.realtime = clock_offset(CLOCK_REALTIME),
		.boottime = clock_offset(CLOCK_BOOTTIME),
	};

	counter_add(&rec->counters, COUNTER_ADDED, 1);
	sorter_add(rec->sorter, 0, &c.head);
}

/* The fuller the rings, the sooner to come back. */
static void adapt_pause(struct recording *rec, unsigned int fill)
{
	nsec_t longest = record_has_stacks(rec->options)              ? PAUSE_MAX_STACKS
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

	counter_add(&rec->counters, COUNTER_KERNEL_DRAINED, 1);
	encoder_add(rec->encoder, cpu, record);
	if (rec->agents)
		agents_add_record(rec->agents, record);
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
	nsec_t settled = rec->agents ? agents_complete_until(rec->agents) : horizon;

	adapt_pause(rec, fill > state.fill ? fill : state.fill);
	rec->held_up = state.pending ? rec->held_up + 1 : 0;
	if (rec->held_up > 0 && rec->held_up < HELD_UP_MAX)
		return 0;
	return sorter_flush(rec->sorter, settled < horizon ? settled : horizon, encoder_write,
			    rec->encoder, err);
}

/*
 * Attaches to the agents of the processes in scope before the command starts: spans that are over
 * before their agent has been found are not in the recording, and nothing counts them.
 */
static int find_agents(struct recording *rec, const volatile sig_atomic_t *stop, struct err *err)
{
	nsec_t end = clock_now() + FIND_AGENTS_MAX;
	int r = 0;

	if (!rec->agents)
		return 0;
	do
		r = drain(rec, err);
	while (r == 0 && !*stop && agents_has_unscanned(rec->agents) && clock_now() < end);
	agents_start(rec->agents);
	return r;
}

static void get_state(const struct recording *rec, struct record_stats *ret)
{
	const uint64_t *n = rec->counters.n;

	*ret = (struct record_stats){
		.elapsed = clock_now() - rec->start,
		.records = n[COUNTER_WRITTEN],
		.lost = n[COUNTER_KERNEL_LOST],
		.agent_lost = n[COUNTER_EVENTS_LOST] + n[COUNTER_EVENTS_MISSING] +
			      n[COUNTER_EVENTS_LEFT] + n[COUNTER_EVENTS_DAMAGED] +
			      n[COUNTER_SPANS_IN_FUTURE],
		.late = sorter_late(rec->sorter),
		.bytes = capture_size(rec->writer),
	};
}

/* What is due once a second. */
static int each_second(struct recording *rec, struct err *err)
{
	struct record_stats state;

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
	o->warning(o->arg, words);
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
		if (r == 0 && programs_has_pending_joins(rec->programs))
			r = programs_find_threads(rec->programs, err);
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

	for (size_t cpu = 0; cpu < programs_cpu_count(rec->programs); cpu++)
		if (rings_unreported_loss(rec->rings, cpu, &loss)) {
			counter_add(&rec->counters, COUNTER_ADDED, 1);
			sorter_add(rec->sorter, cpu, &loss.head);
		}
}

/* On a CPU that was busy, the profile may have been silent. */
static void check_profile(struct recording *rec)
{
	const struct record_options *o = rec->options;
	size_t cpus = rec->busy ? programs_cpu_count(rec->programs) : 0;
	_cleanup_(freep) nsec_t *busy = profile_busy(cpus);
	char words[160];

	for (size_t cpu = 0; cpu < cpus; cpu++) {
		uint64_t due = profile_due(o->profile_hz, busy[cpu] - rec->busy[cpu]);
		uint64_t taken = rings_sampled(rec->rings, cpu);
		uint64_t missing = profile_missing(due, taken);

		counter_add(&rec->counters, COUNTER_SAMPLES_DUE, due);
		counter_add(&rec->counters, COUNTER_SAMPLES_TAKEN, taken);
		counter_add(&rec->counters, COUNTER_SAMPLES_MISSING, missing);
		if (!missing)
			continue;
		snprintf(words, sizeof(words),
			 "the kernel took %" PRIu64 " of %" PRIu64 " samples on CPU %zu: "
			 "--profile is incomplete there",
			 taken, due, cpu);
		o->warning(o->arg, words);
	}
}

/* What is known only now; and a disagreement is a mistake of ours that the user should know of. */
static int write_counters(struct recording *rec, struct err *err)
{
	const struct record_options *o = rec->options;

	counter_add(&rec->counters, COUNTER_LATE, sorter_late(rec->sorter));
	counter_add(&rec->counters, COUNTER_KERNEL_MISSED, programs_missed(rec->programs));
	counter_add(&rec->counters, COUNTER_KERNEL_LEFT, rings_uncommitted(rec->rings));
	if (!counters_agree(&rec->counters, false))
		o->warning(o->arg,
			   "the counters of this recording disagree, so that records can be "
			   "missing from it; 'sonde info' shows them");
	return encoder_write_counters(rec->encoder, clock_now(), err);
}

static void tell_troubles(const struct recording *rec)
{
	char words[640];

	if (symbols_trouble(rec->symbols, words, sizeof(words)))
		rec->options->warning(rec->options->arg, words);
}

/*
 * The end is set a little ahead, so that it is one and the same for all CPUs.
 * What the iterators leave behind then may be more than the rings hold; they are
 * emptied first, and a loss here is counted like any other.
 */
static int finish(struct recording *rec, struct err *err)
{
	nsec_t end = clock_now() + STOP_AHEAD;

	programs_end_at(rec->programs, end);
	while (clock_now() < end + STOP_AHEAD)
		clock_pause(STOP_AHEAD);
	rings_drain(rec->rings, take, rec);

	int r = programs_finish(rec->programs, err);

	if (r < 0)
		return r;
	rings_drain(rec->rings, take, rec);
	if (rec->agents)
		agents_finish(rec->agents, end);
	check_profile(rec);
	take_untold_losses(rec);
	take_clock(rec, clock_now());
	r = sorter_flush(rec->sorter, UINT64_MAX, encoder_write, rec->encoder, err);
	if (r == 0)
		r = capture_flush(rec->writer, err);
	if (r == 0)
		r = encoder_write_symbols(rec->encoder, clock_now(), err);
	if (r == 0)
		r = write_counters(rec, err);
	if (r == 0)
		tell_troubles(rec);
	return r < 0 ? r : capture_close(rec->writer, err);
}

int record(const struct record_options *options, const volatile sig_atomic_t *stop,
	   struct record_stats *ret, struct err *err)
{
	_cleanup_(recording_done) struct recording rec = { .options = options,
							   .child = CHILD_NONE };
	int r = recording_begin(&rec, err);

	if (r == 0 && options->profile_hz)
		rec.busy = profile_busy(programs_cpu_count(rec.programs));
	if (r == 0)
		r = capture_write_behind(rec.writer, WRITE_BEHIND_MAX, err);
	if (r == 0)
		r = find_agents(&rec, stop, err);
	if (r == 0 && options->command)
		r = child_release(&rec.child, options->command[0], err);
	if (r == 0)
		r = run(&rec, stop, err);
	if (r == 0)
		r = finish(&rec, err);
	if (r == 0)
		get_state(&rec, ret);
	return r;
}
