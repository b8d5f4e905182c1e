/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_parts - what the files of agents.h share: the arenas that we hold, who
 * has them, and whose a ring is (agents_owner.c).
 */
#ifndef SONDE_RECORD_SPANS_AGENTS_INTERNAL_H
#define SONDE_RECORD_SPANS_AGENTS_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "record/spans/agents.h"
#include "record/spans/offer.h"
#include "record/spans/scribe.h"
#include "record/spans/tap.h"
#include "record/tls/place.h"
#include "record/spans/watch.h"

/*
 * An arena and its processes: pid -> until when.  That is MEMBER_LIVES for one that has
 * it; one that exits or executes a program counts a little longer, for what it left.
 */
struct hold {
	struct tap *tap;
	struct map members;
	uint64_t allowance; /* bytes that may be taken now */
	uint64_t too_many;  /* events dropped, as it writes more than it may */
	bool was_over;      /* the last drain left events there */
	bool said_over;
};

#define MEMBER_LIVES UINT64_MAX
#define MEMBER_MEMORY (50 * NSEC_PER_MSEC)

struct offer {
	uint32_t pid;
	int fd;
	nsec_t taken; /* when */
	nsec_t since; /* nothing in it happened before this */
};

/* A record that tells of a process. */
struct news {
	nsec_t time;
	size_t order;
	struct wire_task record; /* or a record_exit, which is shorter */
};

struct agents {
	struct agents_config config;
	struct watch *watch;
	struct scribe *scribe;
	struct tls_files *tls;
	VEC(struct hold) holds;
	VEC(struct offer) offers; /* that wait for what is to be known of their processes */
	VEC(struct news) news;    /* that have not been seen yet */
	struct map ended;         /* pid -> when, since the last drain */
	uint64_t device;          /* of memory files */
	struct offers *offered;   /* where they come from */
	nsec_t before, now;       /* when the last drain was, and this one */
	nsec_t until;             /* the last event that is of interest */
	nsec_t next_reap;
	bool has_started;
	size_t drained;           /* the hold that is being drained, */
	struct tap_budget budget; /* and its budget */
	size_t next_hold;         /* with which the next drain begins */
	unsigned int looks_left;  /* into processes that rings name, in this round */
	unsigned int said_over;   /* how many processes write too much */
	uint64_t refused;         /* registrations until the begin of this second, */
	nsec_t next_count;        /* which ends then */
	bool said_flood, said_often;
	bool said_busy, said_many, said_refused, said_lost;
};

/* For the user, once each. */
__attribute__((format(printf, 3, 4))) void agents_say_once(struct agents *a, bool *said,
							   const char *format, ...);

/* agents_drain.c: take from all arenas; how full the fullest ring was, in 1/256. */
unsigned int agents_drain_taps(struct agents *a);
/* The same for the last time; events for which there is no time are counted as lost. */
void agents_drain_taps_at_end(struct agents *a);

/* The first process of an arena, to which the losses of the whole arena are put down. */
uint32_t agents_first_member(const struct hold *hold);

void agents_drop_hold(struct agents *a, size_t i);

/* NULL if we do not hold it. */
struct hold *agents_find_hold(struct agents *a, const struct tap *tap);

/* A process has that arena. */
void agents_join(struct agents *a, struct process *p, struct tap *tap);

/* Look into a process for arena, context and name; as watch_calls has it. */
int agents_look(void *agents, struct process *p);

/* Whose ring it is: fills `own`. False if that is not known yet and worth waiting for. */
bool agents_find_owner(struct agents *a, struct tap *tap, struct tap_ring *ring);

/* Our number for another thread of the same process; 0 if it is none, or not known. */
uint32_t agents_find_thread(struct agents *a, const struct tap_ring *ring, uint32_t said);

/* Whether the thread that has a ring is gone for sure. */
bool agents_owner_is_dead(struct agents *a, struct tap_ring *ring);

#endif
