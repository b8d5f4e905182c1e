/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agents.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/spans/agents_internal.h"
#include "record/clock.h"
#include "record/spans/process_scan.h"

enum {
	HOLDS_MAX = 512, /* arenas; each has a descriptor */
	HOLDS_MANY = 32,
	HOLDS_OF_ONE = 256, /* process: one that executes programs in quick succession has many */
	OFFERS_MAX = 256,   /* that are kept, and that are taken in one round */
	LAST_OFFERS = 8,    /* rounds of them at the end */
	REFUSED_MANY = 1000,
};

/* How OpenTelemetry calls those who have no name; the name of the program follows. */
#define NO_SERVICE "unknown_service"

/* An offer is of no process in scope if none is known by what happened until so long after it. */
#define OFFER_PATIENCE (100 * NSEC_PER_MSEC)
/* How long others wait for what is in an arena that was offered. */
#define SETTLE_MAX (200 * NSEC_PER_MSEC)
/* How often to look for threads and processes that are gone; and if there are many. */
#define REAP_PAUSE (250 * NSEC_PER_MSEC)
#define REAP_PAUSE_MANY (25 * NSEC_PER_MSEC)

void agents_warn_once(struct agents *a, bool *said, const char *format, ...)
{
	char words[256];
	va_list args;

	if (*said)
		return;
	*said = true;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	a->config.warning(a->config.arg, words);
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

/* Spans of a process were not written from then until now, and their number is unknown. */
static void take_gap(struct agents *a, uint32_t pid, nsec_t since)
{
	counter_add(a->config.counters, COUNTER_AGENT_GAPS, 1);
	span_writer_add_loss(a->span_writer, pid, since, a->now, 0, a->now);
}

static struct ring_reader *open_reader(struct agents *a, uint32_t pid, int fd)
{
	struct ring_reader *reader;

	if (a->attachments.count == HOLDS_MAX) {
		agents_warn_once(
			a, &a->said_many,
			"more than %d programs have agents: the spans of the others are not "
			"recorded",
			HOLDS_MAX);
		return NULL;
	}

	int r = ring_reader_open(fd, a->device, &reader);

	if (r == -EBUSY)
		agents_warn_once(
			a, &a->said_busy,
			"another recorder takes the spans of process %u: recording without", pid);
	if (r < 0)
		return NULL;
	ring_reader_set_clock_offset(reader, clock_namespace_offset(pid));
	ring_reader_heartbeat(reader, clock_now());
	*vec_push(&a->attachments) =
		(struct attachment){ .reader = reader, .allowance = UINT64_MAX };
	if (a->has_started && ring_reader_was_idle(reader))
		take_gap(a, pid, a->config.start);
	return reader;
}

/* The arena behind a descriptor, known or new; NULL if it is none, or not to be had. */
static struct ring_reader *get_reader(struct agents *a, uint32_t pid, int fd)
{
	uint64_t inode;

	if (arena_file_identify(fd, a->device, &inode) < 0)
		return NULL;

	struct ring_reader *reader = find_reader(a, inode);

	return reader ? reader : open_reader(a, pid, fd);
}

/* It has none any more; but what it wrote there may still be found. */
static void leave_all(struct agents *a, uint32_t pid)
{
	for (size_t i = 0; i < a->attachments.count; i++) {
		uint64_t *until = map_find(&a->attachments.items[i].members, pid);

		if (until && *until == MEMBER_LIVES)
			*until = a->now + MEMBER_MEMORY;
	}
}

void agents_add_member(struct agents *a, struct process *p, struct ring_reader *reader)
{
	nsec_t forget = a->now + MEMBER_MEMORY;

	if (p->reader != reader)
		leave_all(a, p->pid); /* it has but one */
	p->reader = reader;
	*map_insert(&agents_find_attachment(a, reader)->members, p->pid) =
		p->threads ? MEMBER_LIVES : forget;
	if (!p->threads) /* it was gone before we knew what it had */
		*map_insert(&a->ended, p->pid) = a->now;
}

static void find_arena(struct agents *a, struct process *p, const struct process_scan *scan)
{
	struct ring_reader *reader = find_reader(a, scan->arena_inode);
	_cleanup_(closep) int fd = reader ? -1 : process_scan_open_arena(p->pid, scan);

	if (fd == -EPERM || fd == -EACCES)
		agents_warn_once(a, &a->said_refused, "cannot read the spans of process %u: %s",
				 p->pid, strerror(-fd));
	if (!reader && fd >= 0)
		reader = get_reader(a, p->pid, fd);
	if (reader)
		agents_add_member(a, p, reader);
}

/* Whether there is no use in asking again. */
static bool find_place(struct agents *a, struct process *p)
{
	struct tls_location place;
	struct err err;
	int r = tls_locate(a->tls, p->pid, &place, &err);

	if (r == 0 && programs_set_tls_location(a->config.programs, p->pid, &place.wire, &err) == 0)
		p->placed = clock_now();
	return r == -ESRCH || r == -EOPNOTSUPP;
}

int agents_scan_process(void *agents, struct process *p)
{
	struct agents *a = agents;
	char service[PROCESS_SCAN_SERVICE_MAX];
	struct process_scan scan;
	int r = process_scan_run(p->pid, a->device, &scan);

	if (r < 0)
		return r == -ESRCH ? r : 0;
	if (scan.arena_inode && (!p->reader || ring_reader_inode(p->reader) != scan.arena_inode))
		find_arena(a, p, &scan);
	if (!p->service && process_scan_read_service(p->pid, a->device, &scan, service) &&
	    strncmp(service, NO_SERVICE, strlen(NO_SERVICE)) != 0)
		p->service =
			span_writer_owner_string(a->span_writer, p->pid, service, sizeof(service));

	bool is_hopeless = !p->placed && find_place(a, p);

	return p->reader && (p->placed || is_hopeless);
}

static void process_forked(void *arg, struct process *child, const struct process *parent,
			   nsec_t time)
{
	struct attachment *attachment =
		parent->reader ? agents_find_attachment(arg, parent->reader) : NULL;

	if (attachment) {
		child->reader = parent->reader;
		*map_insert(&attachment->members, child->pid) = MEMBER_LIVES;
	}
	child->service = parent->service;
	child->placed = parent->placed < time ? parent->placed : 0;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
}

static void process_ended(void *arg, struct process *p, nsec_t time)
{
	struct agents *a = arg;

	if (!p->reader)
		return;
	leave_all(a, p->pid);
	*map_insert(&a->ended, p->pid) = time;
	p->reader = NULL;
}

/* A process that is gone may have been in scope: what the kernel programs saw will tell. */
static bool may_register(void *arg, uint32_t pid)
{
	struct agents *a = arg;

	return tracker_find(a->tracker, pid) || !a->config.programs ||
	       programs_has_process(a->config.programs, pid) != 0;
}

struct agents *agents_new(const struct agents_config *config)
{
	struct agents *a = must_alloc(sizeof(*a));

	a->config = *config;
	a->tracker = tracker_new(&(struct tracker_callbacks){ agents_scan_process, process_forked,
							      process_ended, a });
	a->span_writer = span_writer_new(&(struct span_writer_config){
		config->sorter, config->stream, config->writer, config->start, config->counters,
		config->warning, config->arg });
	a->tls = tls_files_new();
	a->device = arena_file_device();
	a->offered = registrations_new();
	registrations_set_filter(a->offered, may_register, a);
	if (registrations_problem(a->offered)[0])
		config->warning(config->arg, registrations_problem(a->offered));
	return a;
}

void agents_detach(struct agents *a, size_t i)
{
	counter_add(a->config.counters, COUNTER_EVENTS_LEFT,
		    ring_reader_count_remaining(a->attachments.items[i].reader));
	ring_reader_free(a->attachments.items[i].reader);
	map_done(&a->attachments.items[i].members);
	a->attachments.items[i] = a->attachments.items[--a->attachments.count];
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	registrations_free(a->offered);
	for (size_t i = 0; i < a->offers.count; i++)
		close(a->offers.items[i].fd);
	while (a->attachments.count)
		agents_detach(a, 0);
	vec_done(&a->offers);
	vec_done(&a->attachments);
	vec_done(&a->news);
	map_done(&a->ended);
	tls_files_free(a->tls);
	span_writer_free(a->span_writer);
	tracker_free(a->tracker);
	free(a);
}

void agents_add_record(struct agents *a, const struct record *record)
{
	struct news news = { .time = record->time, .order = a->news.count };
	size_t size = record->words * 8u;

	if (record->kind != RECORD_TASK && record->kind != RECORD_EXIT)
		return;
	memcpy(&news.record, record, size < sizeof(news.record) ? size : sizeof(news.record));
	*vec_push(&a->news) = news;
}

static int by_time(const void *a, const void *b)
{
	const struct news *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/*
 * The rings of the CPUs were emptied one after the other: of what happened after
 * that was begun, only a part is known, and that waits for the next time.
 */
static void see_news(struct agents *a, nsec_t known_until)
{
	size_t seen = 0, left = 0;

	qsort(a->news.items, a->news.count, sizeof(a->news.items[0]), by_time);
	for (; seen < a->news.count && a->news.items[seen].time <= known_until; seen++)
		tracker_add_record(a->tracker, &a->news.items[seen].record.task.head, a->now);
	for (; seen < a->news.count; seen++, left++) {
		a->news.items[left] = a->news.items[seen];
		a->news.items[left].order = left;
	}
	a->news.count = left;
}

/*
 * A few processes that are not recorded register when they begin.  Many do it to keep others
 * from it: connections can wait only in a queue of limited length.
 */
static void report_flood(struct agents *a)
{
	struct registrations_refused refused = registrations_refused(a->offered);

	if (a->now >= a->next_count) {
		a->refused = refused.count;
		a->next_count = a->now + NSEC_PER_SEC;
	}
	if (refused.count - a->refused > REFUSED_MANY)
		agents_warn_once(a, &a->said_flood,
				 "processes that are not recorded register as agents more than %d "
				 "times a second, such as process %u of user %u: spans of programs "
				 "that end quickly can be missing",
				 REFUSED_MANY, refused.pid, refused.user);
}

/* A process has one arena; those of the programs that it executed before are kept for a while. */
static bool may_join(struct agents *a, const struct process *p)
{
	size_t count = 0;

	for (size_t i = 0; i < a->attachments.count; i++)
		count += map_find(&a->attachments.items[i].members, p->pid) != NULL;
	if (count == HOLDS_OF_ONE)
		agents_warn_once(
			a, &a->said_often,
			"process %u registers memory for its spans again and again: some of "
			"its spans are lost",
			p->pid);
	return count < HOLDS_OF_ONE;
}

/*
 * Who offers an arena has mostly just executed the program that does.  So an offer
 * waits until all is known that happened before it, or it would be taken for the
 * one of the program before.  Returns whether there may be more.
 */
static bool take_offers(struct agents *a, nsec_t known_until)
{
	struct offer offer = { .taken = clock_now(), .since = a->before };
	size_t left = 0;

	registrations_begin_round(a->offered);
	report_flood(a);
	while (a->offers.count < OFFERS_MAX &&
	       registrations_take(a->offered, &offer.pid, &offer.fd))
		*vec_push(&a->offers) = offer;

	bool is_full = a->offers.count == OFFERS_MAX;

	for (size_t i = 0; i < a->offers.count; i++) {
		struct offer *o = &a->offers.items[i];
		struct process *p = tracker_find(a->tracker, o->pid);

		if (known_until < o->taken || (!p && known_until < o->taken + OFFER_PATIENCE)) {
			a->offers.items[left++] = *o;
			continue;
		}

		struct ring_reader *reader =
			p && may_join(a, p) ? get_reader(a, o->pid, o->fd) : NULL;

		if (reader)
			agents_add_member(a, p, reader);
		close(o->fd);
	}
	a->offers.count = left;
	return is_full;
}

static bool is_dead(void *arg, struct ring_reader *reader, struct ring_owner *ring)
{
	(void)reader;
	return agents_owner_is_dead(arg, ring);
}

/* Those that are gone, also if that was not told; whether any is left. */
static bool check_members(struct agents *a, struct attachment *attachment)
{
	VEC(uint32_t) gone = { 0 };
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&attachment->members, &pos, &pid, &until);)
		if (until <= a->now ||
		    (until == MEMBER_LIVES && kill(pid, 0) < 0 && errno == ESRCH))
			*vec_push(&gone) = pid;
	for (size_t i = 0; i < gone.count; i++) {
		struct process *p = tracker_find(a->tracker, gone.items[i]);

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
	a->next_reap = a->now + (a->attachments.count > HOLDS_MANY ? REAP_PAUSE_MANY : REAP_PAUSE);
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
			take_gap(a, agents_first_member(&a->attachments.items[i]), a->before);
	see_news(a, known_until);
	take_offers(a, known_until);
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
	see_news(a, UINT64_MAX);
	for (int i = 0; i < LAST_OFFERS && take_offers(a, UINT64_MAX); i++)
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
	return a->news.count > 0 || tracker_has_unscanned(a->tracker);
}

bool agents_has_any(const struct agents *a)
{
	return a->attachments.count + a->offers.count > 0;
}

nsec_t agents_complete_until(const struct agents *a)
{
	nsec_t settled = UINT64_MAX;

	for (size_t i = 0; i < a->offers.count; i++) {
		const struct offer *o = &a->offers.items[i];

		if (a->now < o->taken + SETTLE_MAX && o->since < settled)
			settled = o->since;
	}
	return settled;
}
