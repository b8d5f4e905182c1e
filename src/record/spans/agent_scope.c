/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agent_scope.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>

#include "base/vec.h"
#include "record/clock.h"
#include "record/proc_process.h"
#include "record/spans/arena_file.h"
#include "record/spans/process_scan.h"
#include "record/spans/scope_quota.h"

/* Time in one round. */
#define ROUND_TIME (2 * NSEC_PER_MSEC)
/* The scan of all processes pauses this many times as long as it took, within a limit. */
enum { PAUSE_FACTOR = 200 };
#define PAUSE_MAX (50 * NSEC_PER_MSEC)
/* From the end of a pass over all processes to the next. */
#define PASS_PAUSE (1 * NSEC_PER_SEC)

enum { HINTS_MAX = 256 }; /* processes that wait for an examination */

typedef VEC(uint32_t) pid_list;

struct agent_scope {
	struct agent_scope_programs programs;
	uint64_t device; /* of memory files */
	struct scope_quota quota;
	struct agent_scope_refused refused;
	pid_list hints;   /* processes that registered */
	pid_list parents; /* processes in scope whose children are to be added */
	bool has_new;     /* processes were added, their threads were not */
	DIR *all;         /* the current pass over all processes; NULL between two */
	bool had_pass;
	nsec_t next; /* time of the next step of the pass, or of the next pass */
};

struct agent_scope *agent_scope_new(const struct agent_scope_programs *programs)
{
	struct agent_scope *s = must_alloc(sizeof(*s));

	s->programs = *programs;
	s->device = arena_file_device();
	return s;
}

void agent_scope_free(struct agent_scope *s)
{
	if (!s)
		return;
	if (s->all)
		closedir(s->all);
	scope_quota_done(&s->quota);
	vec_done(&s->hints);
	vec_done(&s->parents);
	free(s);
}

static void refuse(struct agent_scope *s, uint32_t pid, uint32_t user)
{
	s->refused = (struct agent_scope_refused){ s->refused.count + 1, pid, user };
}

bool agent_scope_hint(struct agent_scope *s, uint32_t pid, uint32_t user)
{
	if (s->hints.count < HINTS_MAX && scope_quota_examine(&s->quota, user, clock_now())) {
		*vec_push(&s->hints) = pid;
		return true;
	}
	refuse(s, pid, user);
	return false;
}

static bool has_process(const struct agent_scope *s, uint32_t pid)
{
	return s->programs.has_process(s->programs.arg, pid) == 1;
}

static void add_port(void *arg, uint16_t port)
{
	struct agent_scope *s = arg;

	s->programs.add_port(s->programs.arg, port);
}

/* `latest`: a time before anything was read about the process. */
static void add_process(struct agent_scope *s, uint32_t pid, nsec_t latest)
{
	struct err unused;
	uint32_t user;

	if (!proc_read_user(pid, &user))
		return;
	if (!scope_quota_enter(&s->quota, pid, user)) {
		refuse(s, pid, user);
		return;
	}
	if (s->programs.add_process(s->programs.arg, pid, latest, &unused) < 0) {
		scope_quota_leave(&s->quota, pid);
		return;
	}
	proc_each_listening_port(pid, add_port, s);
	*vec_push(&s->parents) = pid;
	s->has_new = true;
}

static void examine(struct agent_scope *s, uint32_t pid)
{
	nsec_t latest = clock_now();
	struct process_scan scan;

	if (!has_process(s, pid) && process_scan_run(pid, s->device, &scan) == 0 &&
	    scan.arena_inode)
		add_process(s, pid, latest);
}

static void push_pid(void *arg, uint32_t pid)
{
	pid_list *list = arg;

	*vec_push(list) = pid;
}

/*
 * The threads of the parent are in scope since the last round, so its other children are, too.  If
 * it is not in scope, its pid was reused.
 */
static void add_children(struct agent_scope *s, uint32_t parent)
{
	nsec_t latest = clock_now();
	pid_list children = { 0 };

	proc_each_child(parent, push_pid, &children);
	if (has_process(s, parent))
		for (size_t i = 0; i < children.count; i++)
			if (!has_process(s, children.items[i]))
				add_process(s, children.items[i], latest);
	vec_done(&children);
}

/* Call fn for the pids of a list and remove them, until the time is over. */
static void use_list(struct agent_scope *s, pid_list *list,
		     void (*fn)(struct agent_scope *s, uint32_t pid), nsec_t end)
{
	size_t used = 0, left = 0;
	size_t count = list->count; /* fn can add to the list */

	while (used < count && clock_now() < end)
		fn(s, list->items[used++]);
	for (; used < list->count; used++)
		list->items[left++] = list->items[used];
	list->count = left;
}

/* The record of its exit can be lost. */
static bool is_gone(void *arg, uint32_t pid)
{
	struct agent_scope *s = arg;

	if (kill(pid, 0) == 0 || errno != ESRCH)
		return false;
	s->programs.remove_process(s->programs.arg, pid);
	return true;
}

static void end_pass(struct agent_scope *s)
{
	if (s->all)
		closedir(s->all);
	s->all = NULL;
	s->had_pass = true;
	s->next = clock_now() + PASS_PAUSE;
	scope_quota_sweep(&s->quota, clock_now(), is_gone, s);
}

/* Examine the next process of all. */
static void scan_next(struct agent_scope *s)
{
	nsec_t begin = clock_now();

	if (!s->all)
		s->all = opendir("/proc");

	uint32_t pid = s->all ? proc_next_process(s->all) : 0;

	if (!pid) {
		end_pass(s);
		return;
	}
	examine(s, pid);
	if (!s->had_pass)
		return; /* the first pass makes no pauses */

	nsec_t pause = PAUSE_FACTOR * (clock_now() - begin);

	s->next = begin + (pause < PAUSE_MAX ? pause : PAUSE_MAX);
}

/* Adding threads is one pass over all threads of the host, so it comes last, once for all. */
void agent_scope_run(struct agent_scope *s)
{
	nsec_t end = clock_now() + ROUND_TIME;
	struct err unused;

	use_list(s, &s->parents, add_children, end);
	use_list(s, &s->hints, examine, end);
	for (nsec_t now = clock_now(); now < end && now >= s->next; now = clock_now())
		scan_next(s);
	if (s->has_new && s->programs.find_threads(s->programs.arg, &unused) == 0)
		s->has_new = false;
}

bool agent_scope_is_starting(const struct agent_scope *s)
{
	return !s->had_pass || s->parents.count > 0;
}

void agent_scope_exited(struct agent_scope *s, uint32_t pid)
{
	scope_quota_leave(&s->quota, pid);
}

struct agent_scope_refused agent_scope_refused(const struct agent_scope *s)
{
	return s->refused;
}
