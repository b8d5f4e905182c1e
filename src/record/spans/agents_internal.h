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
#include "record/spans/registrations.h"
#include "record/spans/span_writer.h"
#include "record/spans/ring_reader.h"
#include "record/tls/locate.h"
#include "record/spans/tracker.h"

/*
 * An arena and its processes: pid -> until when.  That is MEMBER_LIVES for one that has
 * it; one that exits or executes a program counts a little longer, for what it left.
 */
struct attachment {
	struct ring_reader *reader;
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
	struct tracker *tracker;
	struct span_writer *span_writer;
	struct tls_files *tls;
	VEC(struct attachment) attachments;
	VEC(struct offer) offers;      /* that wait for what is to be known of their processes */
	VEC(struct news) news;         /* that have not been seen yet */
	struct map ended;              /* pid -> when, since the last drain */
	uint64_t device;               /* of memory files */
	struct registrations *offered; /* where they come from */
	nsec_t before, now;            /* when the last drain was, and this one */
	nsec_t until;                  /* the last event that is of interest */
	nsec_t next_reap;
	bool has_started;
	size_t drained;             /* the hold that is being drained, */
	struct drain_budget budget; /* and its budget */
	size_t next_hold;           /* with which the next drain begins */
	unsigned int scans_left;    /* into processes that rings name, in this round */
	unsigned int said_over;     /* how many processes write too much */
	uint64_t refused;           /* registrations until the begin of this second, */
	nsec_t next_count;          /* which ends then */
	bool said_flood, said_often;
	bool said_busy, said_many, said_refused, said_lost;
};

/* For the user, once each. */
__attribute__((format(printf, 3, 4))) void agents_warn_once(struct agents *a, bool *said,
							    const char *format, ...);

/* agents_drain.c: take from all arenas; how full the fullest ring was, in 1/256. */
unsigned int agents_drain_rings(struct agents *a);
/* The same for the last time; events for which there is no time are counted as lost. */
void agents_drain_rings_at_end(struct agents *a);

/* The first process of an arena, to which the losses of the whole arena are put down. */
uint32_t agents_first_member(const struct attachment *attachment);

void agents_detach(struct agents *a, size_t i);

/* NULL if we do not hold it. */
struct attachment *agents_find_attachment(struct agents *a, const struct ring_reader *reader);

/* A process has that arena. */
void agents_add_member(struct agents *a, struct process *p, struct ring_reader *reader);

/* Look into a process for arena, context and name; as tracker_callbacks has it. */
int agents_scan_process(void *agents, struct process *p);

/* Whose ring it is: fills `own`. False if that is not known yet and worth waiting for. */
bool agents_find_owner(struct agents *a, struct ring_reader *reader, struct ring_owner *ring);

/* Our number for another thread of the same process; 0 if it is none, or not known. */
uint32_t agents_find_thread(struct agents *a, const struct ring_owner *ring, uint32_t said);

/* Whether the thread that has a ring is gone for sure. */
bool agents_owner_is_dead(struct agents *a, struct ring_owner *ring);

#endif
