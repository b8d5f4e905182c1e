/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agents.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/clock.h"
#include "record/proc_process.h"
#include "record/spans/agents_internal.h"
#include "record/spans/process_scan.h"

enum {
	ATTACHMENTS_MAX = 512,         /* each needs a descriptor */
	ATTACHMENTS_MANY = 32,         /* check more often for dead processes */
	ATTACHMENTS_PER_PROCESS = 256, /* left by programs executed in quick succession */
	ATTACHMENTS_PER_USER = 256,    /* other than root, so that a user cannot take all */
	REGISTRATIONS_MAX = 256,       /* pending, and accepted in one round */
	LAST_REGISTRATION_ROUNDS = 8,  /* at the end of the recording */
	REFUSED_MANY = 1000,           /* per second */
};

/* OpenTelemetry's name for a service without one; the name of the program follows. */
#define NO_SERVICE "unknown_service"

/* How long a registration waits for its process to come into scope. */
#define REGISTRATION_PATIENCE (100 * NSEC_PER_MSEC)
/* How long other records wait for the events of an arena that just registered. */
#define SETTLE_MAX (200 * NSEC_PER_MSEC)
/* How often to look for dead threads and processes, with few and with many attachments. */
#define REAP_PAUSE (250 * NSEC_PER_MSEC)
#define REAP_PAUSE_MANY (25 * NSEC_PER_MSEC)

void agents_warn_once(struct agents *a, bool *warned, const char *format, ...)
{
	char text[256];
	va_list args;

	if (*warned)
		return;
	*warned = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	a->config.warning(a->config.arg, text);
}

struct attachment *agents_find_attachment(struct agents *a, const struct ring_reader *reader)
{
	for (size_t i = 0; i < a->attachments.count; i++)
		if (a->attachments.items[i].reader == reader)
			return &a->attachments.items[i];
	return NULL;
}

static struct ring_reader *find_reader(const struct agents *a, uint64_t inode)
{
	for (size_t i = 0; i < a->attachments.count; i++)
		if (ring_reader_inode(a->attachments.items[i].reader) == inode)
			return a->attachments.items[i].reader;
	return NULL;
}

/* Record that an unknown number of spans of a process is missing, from `since` until now. */
static void record_gap(struct agents *a, uint32_t pid, nsec_t since)
{
	counter_add(a->config.counters, COUNTER_AGENT_GAPS, 1);
	span_writer_add_loss(a->span_writer, pid, since, a->now, 0, a->now);
}

static bool has_room(const struct agents *a, uint32_t user)
{
	size_t count = 0;

	for (size_t i = 0; i < a->attachments.count; i++)
		count += a->attachments.items[i].user == user;
	return a->attachments.count < ATTACHMENTS_MAX && (!user || count < ATTACHMENTS_PER_USER);
}

static struct ring_reader *attach(struct agents *a, uint32_t pid, int fd)
{
	struct ring_reader *reader;
	uint32_t user = UINT32_MAX; /* if the process is gone */

	proc_read_user(pid, &user);
	if (!has_room(a, user)) {
		agents_warn_once(
			a, &a->warned_many,
			"more than %d programs have agents, or more than %d of user %u: the "
			"spans of the others are not recorded",
			ATTACHMENTS_MAX, ATTACHMENTS_PER_USER, user);
		return NULL;
	}

	int r = ring_reader_open(fd, a->device, &reader);

	if (r == -EBUSY)
		agents_warn_once(a, &a->warned_busy,
				 "another recorder reads the spans of process %u: they are missing "
				 "from this recording",
				 pid);
	if (r < 0)
		return NULL;
	ring_reader_set_clock_offset(reader, clock_namespace_offset(pid));
	ring_reader_heartbeat(reader, clock_now());
	*vec_push(&a->attachments) =
		(struct attachment){ .reader = reader, .user = user, .allowance = UINT64_MAX };
	if (a->has_started && ring_reader_was_idle(reader))
		record_gap(a, pid, a->config.start);
	return reader;
}

/* The reader of an arena, attached now if it is new; NULL on failure. */
static struct ring_reader *get_reader(struct agents *a, uint32_t pid, int fd)
{
	uint64_t inode;

	if (arena_file_identify(fd, a->device, &inode) < 0)
		return NULL;

	struct ring_reader *reader = find_reader(a, inode);

	return reader ? reader : attach(a, pid, fd);
}

/* End all memberships of a process, after the time in which its last events may be read. */
static void leave_all(struct agents *a, uint32_t pid)
{
	for (size_t i = 0; i < a->attachments.count; i++) {
		uint64_t *until = map_find(&a->attachments.items[i].members, pid);

		if (until && *until == MEMBER_LIVES)
			*until = a->now + MEMBER_MEMORY;
	}
}

void agents_add_member(struct agents *a, struct tracked_process *p, struct ring_reader *reader)
{
	nsec_t forget = a->now + MEMBER_MEMORY;

	if (p->reader != reader)
		leave_all(a, p->pid); /* a process has one arena at a time */
	p->reader = reader;
	*map_insert(&agents_find_attachment(a, reader)->members, p->pid) =
		p->threads ? MEMBER_LIVES : forget;
	if (!p->threads) /* it exited before its arena was known */
		*map_insert(&a->ended, p->pid) = a->now;
}

static void attach_scanned(struct agents *a, struct tracked_process *p,
			   const struct process_scan *scan)
{
	struct ring_reader *reader = find_reader(a, scan->arena_inode);
	_cleanup_(closep) int fd = reader ? -1 : process_scan_open_arena(p->pid, scan);

	if (fd == -EPERM || fd == -EACCES)
		agents_warn_once(a, &a->warned_refused, "cannot read the spans of process %u: %s",
				 p->pid, strerror(-fd));
	if (!reader && fd >= 0)
		reader = get_reader(a, p->pid, fd);
	if (reader)
		agents_add_member(a, p, reader);
}

/* Locate the thread context of a process.  Returns whether a later attempt is useless. */
static bool locate_context(struct agents *a, struct tracked_process *p)
{
	struct tls_location location;
	struct err err;
	int r = tls_locate(a->tls, p->pid, &location, &err);

	if (r == 0 &&
	    programs_set_tls_location(a->config.programs, p->pid, &location.wire, &err) == 0)
		p->context_since = clock_now();
	return r == -ESRCH || r == -EOPNOTSUPP;
}

int agents_scan_process(void *agents, struct tracked_process *p)
{
	struct agents *a = agents;
	char service[PROCESS_SCAN_SERVICE_MAX];
	struct process_scan scan;
	int r = process_scan_run(p->pid, a->device, &scan);

	if (r < 0)
		return r == -ESRCH ? r : 0;
	if (scan.arena_inode && (!p->reader || ring_reader_inode(p->reader) != scan.arena_inode))
		attach_scanned(a, p, &scan);
	if (!p->service && process_scan_read_service(p->pid, a->device, &scan, service) &&
	    strncmp(service, NO_SERVICE, strlen(NO_SERVICE)) != 0)
		p->service = span_writer_string(a->span_writer, p->pid, service, sizeof(service));

	bool is_hopeless = !p->context_since && locate_context(a, p);

	return p->reader && (p->context_since || is_hopeless);
}

static void process_forked(void *arg, struct tracked_process *child,
			   const struct tracked_process *parent, nsec_t time)
{
	struct attachment *attachment =
		parent->reader ? agents_find_attachment(arg, parent->reader) : NULL;

	if (attachment) {
		child->reader = parent->reader;
		*map_insert(&attachment->members, child->pid) = MEMBER_LIVES;
	}
	child->service = parent->service;
	child->context_since = parent->context_since < time ? parent->context_since : 0;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
}

static void process_ended(void *arg, struct tracked_process *p, nsec_t time)
{
	struct agents *a = arg;

	if (!p->reader)
		return;
	leave_all(a, p->pid);
	*map_insert(&a->ended, p->pid) = time;
	p->reader = NULL;
}

/* A process that has exited may have been in scope: pending kernel records decide that later. */
static bool may_register(void *arg, uint32_t pid, uint32_t user)
{
	struct agents *a = arg;

	if (tracker_find(a->tracker, pid) || !a->config.programs ||
	    programs_has_process(a->config.programs, pid) != 0)
		return true;
	return a->config.scope && agent_scope_hint(a->config.scope, pid, user);
}

struct agents *agents_new(const struct agents_config *config)
{
	struct agents *a = must_alloc(sizeof(*a));

	a->config = *config;
	a->tracker = tracker_new(&(struct tracker_callbacks){ agents_scan_process, process_forked,
							      process_ended, a });
	a->span_writer = span_writer_new(&(struct span_writer_config){
		config->sorter, config->stream, config->sink, config->start, config->counters,
		config->warning, config->arg });
	a->tls = tls_files_new();
	a->device = arena_file_device();
	a->registrations = registrations_new();
	registrations_set_filter(a->registrations, may_register, a);
	if (registrations_problem(a->registrations)[0])
		config->warning(config->arg, registrations_problem(a->registrations));
	return a;
}

/* Signal 0 only checks: the exit of the process can be among lost records. */
static void renew_process(void *arg, struct tracked_process *p)
{
	struct agents *a = arg;

	p->service = sink_renew_string(a->config.sink, p->service);
	if (p->threads && kill(p->pid, 0) < 0 && errno == ESRCH)
		tracker_mark_gone(a->tracker, p, a->now);
}

void agents_renew_strings(struct agents *a)
{
	a->epoch++;
	tracker_each(a->tracker, renew_process, a);
	span_writer_renew_strings(a->span_writer);
}

void agents_detach(struct agents *a, size_t i)
{
	counter_add(a->config.counters, COUNTER_EVENTS_UNREAD,
		    ring_reader_count_remaining(a->attachments.items[i].reader));
	ring_reader_free(a->attachments.items[i].reader);
	map_done(&a->attachments.items[i].members);
	a->attachments.items[i] = a->attachments.items[--a->attachments.count];
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	registrations_free(a->registrations);
	for (size_t i = 0; i < a->pending_registrations.count; i++)
		close(a->pending_registrations.items[i].fd);
	while (a->attachments.count)
		agents_detach(a, 0);
	vec_done(&a->pending_registrations);
	vec_done(&a->attachments);
	vec_done(&a->pending_events);
	map_done(&a->ended);
	tls_files_free(a->tls);
	span_writer_free(a->span_writer);
	tracker_free(a->tracker);
	free(a);
}

void agents_add_record(struct agents *a, const struct record *record)
{
	struct pending_event event = { .time = record->time, .order = a->pending_events.count };
	size_t size = record->words * 8u;

	if (record->kind != RECORD_TASK && record->kind != RECORD_EXIT)
		return;
	memcpy(&event.record, record, size < sizeof(event.record) ? size : sizeof(event.record));
	*vec_push(&a->pending_events) = event;
	if (a->config.scope && record->kind == RECORD_EXIT)
		agent_scope_exited(a->config.scope, record->tid);
}

static int by_time(const void *a, const void *b)
{
	const struct pending_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/*
 * Apply the pending events up to `known_until`.  The recorder empties the rings of the CPUs one
 * after the other, so later events are known only in part and wait for the next drain.
 */
static void apply_pending_events(struct agents *a, nsec_t known_until)
{
	size_t applied = 0, left = 0;

	qsort(a->pending_events.items, a->pending_events.count, sizeof(a->pending_events.items[0]),
	      by_time);
	for (; applied < a->pending_events.count &&
	       a->pending_events.items[applied].time <= known_until;
	     applied++)
		tracker_add_record(a->tracker, &a->pending_events.items[applied].record.task.head,
				   a->now);
	for (; applied < a->pending_events.count; applied++, left++) {
		a->pending_events.items[left] = a->pending_events.items[applied];
		a->pending_events.items[left].order = left;
	}
	a->pending_events.count = left;
}

/*
 * A few unrecorded processes register when they start.  A flood of registrations can keep
 * recorded processes out, because the queue of connections has a limited length.
 */
static void report_flood(struct agents *a)
{
	struct registrations_refused refused = registrations_refused(a->registrations);

	if (a->now >= a->next_second) {
		a->refused = refused.count;
		a->next_second = a->now + NSEC_PER_SEC;
	}
	if (refused.count - a->refused > REFUSED_MANY)
		agents_warn_once(a, &a->warned_flood,
				 "more than %d registrations per second from processes that are "
				 "not recorded, such as process %u of user %u: spans of "
				 "short-lived programs can be missing",
				 REFUSED_MANY, refused.pid, refused.user);
}

/* Bounds the arenas that a process leaves behind when it executes many programs. */
static bool may_attach(struct agents *a, const struct tracked_process *p)
{
	size_t count = 0;

	for (size_t i = 0; i < a->attachments.count; i++)
		count += map_find(&a->attachments.items[i].members, p->pid) != NULL;
	if (count == ATTACHMENTS_PER_PROCESS)
		agents_warn_once(a, &a->warned_often,
				 "process %u registers new arenas too often: some of its spans are "
				 "lost",
				 p->pid);
	return count < ATTACHMENTS_PER_PROCESS;
}

/* Whether the kernel records are too old to decide about a registration. */
static bool must_wait(const struct pending_registration *r, const struct tracked_process *p,
		      nsec_t known_until)
{
	return known_until < r->received ||
	       (!p && known_until < r->received + REGISTRATION_PATIENCE);
}

/*
 * Most processes that register an arena have just called execve().  So a registration waits until
 * all earlier kernel records are known; otherwise its arena would be attributed to the previous
 * program of the process.  Returns whether there may be more registrations.
 */
static bool take_registrations(struct agents *a, nsec_t known_until)
{
	struct pending_registration new = { .received = clock_now(), .since = a->before };
	size_t left = 0;

	registrations_begin_round(a->registrations);
	report_flood(a);
	while (a->pending_registrations.count < REGISTRATIONS_MAX &&
	       registrations_take(a->registrations, &new.pid, &new.fd))
		*vec_push(&a->pending_registrations) = new;

	bool is_full = a->pending_registrations.count == REGISTRATIONS_MAX;

	for (size_t i = 0; i < a->pending_registrations.count; i++) {
		struct pending_registration *r = &a->pending_registrations.items[i];
		struct tracked_process *p = tracker_find(a->tracker, r->pid);

		if (must_wait(r, p, known_until)) {
			a->pending_registrations.items[left++] = *r;
			continue;
		}

		struct ring_reader *reader =
			p && may_attach(a, p) ? get_reader(a, r->pid, r->fd) : NULL;

		if (reader)
			agents_add_member(a, p, reader);
		close(r->fd);
	}
	a->pending_registrations.count = left;
	return is_full;
}

static bool is_dead(void *arg, struct ring_reader *reader, struct ring_owner *owner)
{
	(void)reader;
	return agents_owner_is_dead(arg, owner);
}

/* Remove members that are gone, even if their exit was not reported; whether any is left. */
static bool check_members(struct agents *a, struct attachment *attachment)
{
	VEC(uint32_t) gone = { 0 };
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&attachment->members, &pos, &pid, &until);)
		if (until <= a->now ||
		    (until == MEMBER_LIVES && kill(pid, 0) < 0 && errno == ESRCH))
			*vec_push(&gone) = pid;
	for (size_t i = 0; i < gone.count; i++) {
		struct tracked_process *p = tracker_find(a->tracker, gone.items[i]);

		if (*map_find(&attachment->members, gone.items[i]) <= a->now || !p)
			map_remove(&attachment->members, gone.items[i]);
		else if (p->threads)
			tracker_mark_gone(a->tracker, p, a->now);
	}
	vec_done(&gone);
	return attachment->members.count > 0;
}

static void reap(struct agents *a)
{
	a->next_reap =
		a->now + (a->attachments.count > ATTACHMENTS_MANY ? REAP_PAUSE_MANY : REAP_PAUSE);
	for (size_t i = a->attachments.count; i-- > 0;) {
		ring_reader_reap(a->attachments.items[i].reader, is_dead, a);
		if (!check_members(a, &a->attachments.items[i]))
			agents_detach(a, i);
	}
}

unsigned int agents_drain(struct agents *a, nsec_t known_until)
{
	a->before = a->now;
	a->now = clock_now();
	a->until = UINT64_MAX;
	for (size_t i = 0; i < a->attachments.count; i++)
		if (!ring_reader_heartbeat(a->attachments.items[i].reader, a->now))
			record_gap(a, agents_first_member(&a->attachments.items[i]), a->before);
	apply_pending_events(a, known_until);
	take_registrations(a, known_until);
	if (a->config.scope)
		agent_scope_run(a->config.scope);
	tracker_run(a->tracker, a->now);

	unsigned int fill = agents_drain_rings(a);

	if (a->now >= a->next_reap)
		reap(a);
	span_writer_flush(a->span_writer, clock_now());
	return fill;
}

void agents_finish(struct agents *a, nsec_t end)
{
	a->now = a->until = end;
	for (size_t i = 0; i < a->attachments.count; i++)
		ring_reader_stop(a->attachments.items[i].reader);
	apply_pending_events(a, UINT64_MAX);
	for (int i = 0; i < LAST_REGISTRATION_ROUNDS && take_registrations(a, UINT64_MAX); i++)
		;
	agents_drain_rings_at_end(a);
	span_writer_close_all(a->span_writer, end);
	span_writer_flush(a->span_writer, end);
}

void agents_start(struct agents *a)
{
	a->has_started = true;
}

bool agents_has_unscanned(const struct agents *a)
{
	return a->pending_events.count > 0 || tracker_has_unscanned(a->tracker) ||
	       (a->config.scope && agent_scope_is_starting(a->config.scope));
}

size_t agents_count_processes(const struct agents *a)
{
	return tracker_count_alive(a->tracker);
}

bool agents_has_any(const struct agents *a)
{
	return a->attachments.count + a->pending_registrations.count > 0;
}

nsec_t agents_complete_until(const struct agents *a)
{
	nsec_t time = UINT64_MAX;

	for (size_t i = 0; i < a->pending_registrations.count; i++) {
		const struct pending_registration *r = &a->pending_registrations.items[i];

		if (a->now < r->received + SETTLE_MAX && r->since < time)
			time = r->since;
	}
	return time;
}
