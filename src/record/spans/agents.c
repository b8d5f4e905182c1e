/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/agents.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/spans/agents_internal.h"
#include "record/clock.h"
#include "record/spans/look.h"

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

void agents_say_once(struct agents *a, bool *said, const char *format, ...)
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

struct hold *agents_find_hold(struct agents *a, const struct tap *tap)
{
	for (size_t i = 0; i < a->holds.count; i++)
		if (a->holds.items[i].tap == tap)
			return &a->holds.items[i];
	return NULL;
}

static struct tap *find_tap(const struct agents *a, uint64_t inode)
{
	for (size_t i = 0; i < a->holds.count; i++)
		if (tap_inode(a->holds.items[i].tap) == inode)
			return a->holds.items[i].tap;
	return NULL;
}

/* Spans of a process were not written from then until now, and their number is unknown. */
static void take_gap(struct agents *a, uint32_t pid, nsec_t since)
{
	counter_add(a->config.counters, COUNTER_AGENT_GAPS, 1);
	scribe_loss(a->scribe, pid, since, a->now, 0, a->now);
}

static struct tap *open_tap(struct agents *a, uint32_t pid, int fd)
{
	struct tap *tap;

	if (a->holds.count == HOLDS_MAX) {
		agents_say_once(
			a, &a->said_many,
			"more than %d programs have agents: the spans of the others are not "
			"recorded",
			HOLDS_MAX);
		return NULL;
	}

	int r = tap_open(fd, a->device, &tap);

	if (r == -EBUSY)
		agents_say_once(a, &a->said_busy,
				"another recorder takes the spans of process %u: recording without",
				pid);
	if (r < 0)
		return NULL;
	tap_set_ahead(tap, clock_ahead(pid));
	tap_beat(tap, clock_now());
	*vec_push(&a->holds) = (struct hold){ .tap = tap, .allowance = UINT64_MAX };
	if (a->has_started && tap_was_silent(tap))
		take_gap(a, pid, a->config.start);
	return tap;
}

/* The arena behind a descriptor, known or new; NULL if it is none, or not to be had. */
static struct tap *get_tap(struct agents *a, uint32_t pid, int fd)
{
	uint64_t inode;

	if (tap_identify(fd, a->device, &inode) < 0)
		return NULL;

	struct tap *tap = find_tap(a, inode);

	return tap ? tap : open_tap(a, pid, fd);
}

/* It has none any more; but what it wrote there may still be found. */
static void leave_all(struct agents *a, uint32_t pid)
{
	for (size_t i = 0; i < a->holds.count; i++) {
		uint64_t *until = map_find(&a->holds.items[i].members, pid);

		if (until && *until == MEMBER_LIVES)
			*until = a->now + MEMBER_MEMORY;
	}
}

void agents_join(struct agents *a, struct process *p, struct tap *tap)
{
	nsec_t forget = a->now + MEMBER_MEMORY;

	if (p->tap != tap)
		leave_all(a, p->pid); /* it has but one */
	p->tap = tap;
	*map_insert(&agents_find_hold(a, tap)->members, p->pid) =
		p->threads ? MEMBER_LIVES : forget;
	if (!p->threads) /* it was gone before we knew what it had */
		*map_insert(&a->ended, p->pid) = a->now;
}

static void find_arena(struct agents *a, struct process *p, const struct look *look)
{
	struct tap *tap = find_tap(a, look->arena_inode);
	_cleanup_(closep) int fd = tap ? -1 : look_open_arena(p->pid, look);

	if (fd == -EPERM || fd == -EACCES)
		agents_say_once(a, &a->said_refused, "cannot read the spans of process %u: %s",
				p->pid, strerror(-fd));
	if (!tap && fd >= 0)
		tap = get_tap(a, p->pid, fd);
	if (tap)
		agents_join(a, p, tap);
}

/* Whether there is no use in asking again. */
static bool find_place(struct agents *a, struct process *p)
{
	struct tls_place place;
	struct err err;
	int r = tls_place_find(a->tls, p->pid, &place, &err);

	if (r == 0 && programs_set_place(a->config.programs, p->pid, &place.wire, &err) == 0)
		p->placed = clock_now();
	return r == -ESRCH || r == -EOPNOTSUPP;
}

int agents_look(void *agents, struct process *p)
{
	struct agents *a = agents;
	char service[LOOK_SERVICE_MAX];
	struct look look;
	int r = look_at(p->pid, a->device, &look);

	if (r < 0)
		return r == -ESRCH ? r : 0;
	if (look.arena_inode && (!p->tap || tap_inode(p->tap) != look.arena_inode))
		find_arena(a, p, &look);
	if (!p->service && look_read_service(p->pid, a->device, &look, service) &&
	    strncmp(service, NO_SERVICE, strlen(NO_SERVICE)) != 0)
		p->service = scribe_string_of(a->scribe, p->pid, service, sizeof(service));

	bool is_hopeless = !p->placed && find_place(a, p);

	return p->tap && (p->placed || is_hopeless);
}

static void watch_forked(void *arg, struct process *child, const struct process *parent,
			 nsec_t time)
{
	struct hold *hold = parent->tap ? agents_find_hold(arg, parent->tap) : NULL;

	if (hold) {
		child->tap = parent->tap;
		*map_insert(&hold->members, child->pid) = MEMBER_LIVES;
	}
	child->service = parent->service;
	child->placed = parent->placed < time ? parent->placed : 0;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
}

static void watch_ended(void *arg, struct process *p, nsec_t time)
{
	struct agents *a = arg;

	if (!p->tap)
		return;
	leave_all(a, p->pid);
	*map_insert(&a->ended, p->pid) = time;
	p->tap = NULL;
}

/* A process that is gone may have been in scope: what the kernel programs saw will tell. */
static bool may_register(void *arg, uint32_t pid)
{
	struct agents *a = arg;

	return watch_process(a->watch, pid) || !a->config.programs ||
	       programs_has_process(a->config.programs, pid) != 0;
}

struct agents *agents_new(const struct agents_config *config)
{
	struct agents *a = must_alloc(sizeof(*a));

	a->config = *config;
	a->watch = watch_new(&(struct watch_calls){ agents_look, watch_forked, watch_ended, a });
	a->scribe = scribe_new(&(struct scribe_config){
		config->sorter, config->stream, config->writer, config->start, config->counters,
		config->warning, config->arg });
	a->tls = tls_files_new();
	a->device = tap_device();
	a->offered = offers_new();
	offers_set_filter(a->offered, may_register, a);
	if (offers_trouble(a->offered)[0])
		config->warning(config->arg, offers_trouble(a->offered));
	return a;
}

void agents_drop_hold(struct agents *a, size_t i)
{
	counter_add(a->config.counters, COUNTER_EVENTS_LEFT, tap_left(a->holds.items[i].tap));
	tap_free(a->holds.items[i].tap);
	map_done(&a->holds.items[i].members);
	a->holds.items[i] = a->holds.items[--a->holds.count];
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	offers_free(a->offered);
	for (size_t i = 0; i < a->offers.count; i++)
		close(a->offers.items[i].fd);
	while (a->holds.count)
		agents_drop_hold(a, 0);
	vec_done(&a->offers);
	vec_done(&a->holds);
	vec_done(&a->news);
	map_done(&a->ended);
	tls_files_free(a->tls);
	scribe_free(a->scribe);
	watch_free(a->watch);
	free(a);
}

void agents_see(struct agents *a, const struct record *record)
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
		watch_see(a->watch, &a->news.items[seen].record.task.head, a->now);
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
	struct offers_refused refused = offers_refused(a->offered);

	if (a->now >= a->next_count) {
		a->refused = refused.count;
		a->next_count = a->now + NSEC_PER_SEC;
	}
	if (refused.count - a->refused > REFUSED_MANY)
		agents_say_once(a, &a->said_flood,
				"processes that are not recorded register as agents more than %d "
				"times a second, such as process %u of user %u: spans of programs "
				"that end quickly can be missing",
				REFUSED_MANY, refused.pid, refused.user);
}

/* A process has one arena; those of the programs that it executed before are kept for a while. */
static bool may_join(struct agents *a, const struct process *p)
{
	size_t count = 0;

	for (size_t i = 0; i < a->holds.count; i++)
		count += map_find(&a->holds.items[i].members, p->pid) != NULL;
	if (count == HOLDS_OF_ONE)
		agents_say_once(
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

	offers_begin_round(a->offered);
	report_flood(a);
	while (a->offers.count < OFFERS_MAX && offers_take(a->offered, &offer.pid, &offer.fd))
		*vec_push(&a->offers) = offer;

	bool is_full = a->offers.count == OFFERS_MAX;

	for (size_t i = 0; i < a->offers.count; i++) {
		struct offer *o = &a->offers.items[i];
		struct process *p = watch_process(a->watch, o->pid);

		if (known_until < o->taken || (!p && known_until < o->taken + OFFER_PATIENCE)) {
			a->offers.items[left++] = *o;
			continue;
		}

		struct tap *tap = p && may_join(a, p) ? get_tap(a, o->pid, o->fd) : NULL;

		if (tap)
			agents_join(a, p, tap);
		close(o->fd);
	}
	a->offers.count = left;
	return is_full;
}

static bool is_dead(void *arg, struct tap *tap, struct tap_ring *ring)
{
	(void)tap;
	return agents_owner_is_dead(arg, ring);
}

/* Those that are gone, also if that was not told; whether any is left. */
static bool check_members(struct agents *a, struct hold *hold)
{
	VEC(uint32_t) gone = { 0 };
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&hold->members, &pos, &pid, &until);)
		if (until <= a->now ||
		    (until == MEMBER_LIVES && kill(pid, 0) < 0 && errno == ESRCH))
			*vec_push(&gone) = pid;
	for (size_t i = 0; i < gone.count; i++) {
		struct process *p = watch_process(a->watch, gone.items[i]);

		if (*map_find(&hold->members, gone.items[i]) <= a->now || !p)
			map_remove(&hold->members, gone.items[i]);
		else if (p->threads)
			watch_gone(a->watch, p, a->now);
	}
	vec_done(&gone);
	return hold->members.count > 0;
}

static void reap(struct agents *a)
{
	a->next_reap = a->now + (a->holds.count > HOLDS_MANY ? REAP_PAUSE_MANY : REAP_PAUSE);
	for (size_t i = a->holds.count; i-- > 0;) {
		tap_reap(a->holds.items[i].tap, is_dead, a);
		if (!check_members(a, &a->holds.items[i]))
			agents_drop_hold(a, i);
	}
}

unsigned int agents_drain(struct agents *a, nsec_t known_until)
{
	a->before = a->now;
	a->now = clock_now();
	a->until = UINT64_MAX;
	for (size_t i = 0; i < a->holds.count; i++)
		if (!tap_beat(a->holds.items[i].tap, a->now))
			take_gap(a, agents_first_member(&a->holds.items[i]), a->before);
	see_news(a, known_until);
	take_offers(a, known_until);
	watch_round(a->watch, a->now);

	unsigned int fill = agents_drain_taps(a);

	if (a->now >= a->next_reap)
		reap(a);
	scribe_flush(a->scribe, clock_now());
	return fill;
}

void agents_finish(struct agents *a, nsec_t end)
{
	a->now = a->until = end;
	for (size_t i = 0; i < a->holds.count; i++)
		tap_stop(a->holds.items[i].tap);
	see_news(a, UINT64_MAX);
	for (int i = 0; i < LAST_OFFERS && take_offers(a, UINT64_MAX); i++)
		;
	agents_drain_taps_at_end(a);
	scribe_close_all(a->scribe, end);
	scribe_flush(a->scribe, end);
}

void agents_start(struct agents *a)
{
	a->has_started = true;
}

bool agents_has_unseen(const struct agents *a)
{
	return a->news.count > 0 || watch_has_unseen(a->watch);
}

bool agents_has_any(const struct agents *a)
{
	return a->holds.count + a->offers.count > 0;
}

nsec_t agents_settled(const struct agents *a)
{
	nsec_t settled = UINT64_MAX;

	for (size_t i = 0; i < a->offers.count; i++) {
		const struct offer *o = &a->offers.items[i];

		if (a->now < o->taken + SETTLE_MAX && o->since < settled)
			settled = o->since;
	}
	return settled;
}
