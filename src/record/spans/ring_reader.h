/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap - the recorder's hold on one arena of event/span_wire.h.
 *
 * The arena belongs to a process that may write anything at any time, also
 * while we read.  So an event is copied out before it is looked at, and a ring's
 * head and tail are read once for each drain: their distance, if it can be at
 * all, bounds the work.  What a ring says of its thread is only said: the
 * caller finds out whether it is so.
 */
#ifndef SONDE_RECORD_SPANS_RING_READER_H
#define SONDE_RECORD_SPANS_RING_READER_H

#include "base/base.h"
#include "event/counter.h"
#include "event/span_wire.h"

/* One ring that is in use. */
struct ring_owner {
	/* as the ring says, copied */
	uint32_t pid, tid, space; /* numbers in that pid namespace */
	char service[SPAN_SERVICE_MAX];

	/* the caller's; zeroed when another thread takes the ring, or calls itself otherwise */
	struct {
		nsec_t seen;       /* when it was first asked for */
		bool asked;        /* whether the rest is known */
		uint32_t pid, tid; /* as we see them; 0 if not known, or not to be recorded */
		uint32_t service;  /* string */
	} own;
};

struct ring_reader;

/* The device of all memory files; 0 if that cannot be found out. */
uint64_t arena_file_device(void);

/* Which arena is behind a descriptor, which may be one of O_PATH; -EBADMSG if it cannot be one. */
int arena_file_identify(int fd, uint64_t device, uint64_t *ret_inode);

/* Opens it; the descriptor stays the caller's. -EBADMSG: it is none; -EBUSY: another has it. */
int ring_reader_open(int fd, uint64_t device, struct ring_reader **ret);

/* Only map it, to look at it and at its switches, whoever records. */
int arena_file_map(int fd, uint64_t device, struct span_arena **ret);
void arena_file_unmap(struct span_arena *arena);

/* Nothing is wanted from it any more. */
void ring_reader_free(struct ring_reader *reader);
DEFINE_FREEP(ring_reader)

uint64_t ring_reader_inode(const struct ring_reader *reader);

/* Whether no events were written when it was opened, so that earlier spans are missing. */
bool ring_reader_was_idle(const struct ring_reader *reader);

/* Whether its memory is gone (base/mapping.h): nothing more will come out of it. */
bool ring_reader_is_lost(const struct ring_reader *reader);

/* Its processes have a clock that is so many ns ahead; all times here are on ours. */
void ring_reader_set_clock_offset(struct ring_reader *reader, int64_t ahead);

/*
 * Ask for events, and say that we are there.  False if an agent has taken us for dead since the
 * last time, and stopped writing events without counting them.
 */
bool ring_reader_heartbeat(struct ring_reader *reader, nsec_t now);
/* Ask for no more; those that are there can still be drained. */
void ring_reader_stop(struct ring_reader *reader);

/* What a drain may cost; the sink takes off for what it does itself. */
struct drain_budget {
	uint64_t bytes;  /* left */
	nsec_t deadline; /* on clock_now() */
	bool is_spent;   /* and events were left in the arena for the next drain */
};

static inline void drain_budget_use(struct drain_budget *budget, uint64_t bytes)
{
	budget->bytes -= bytes < budget->bytes ? bytes : budget->bytes;
}

struct ring_sink {
	/* Before the first event of a ring: whether it is to be emptied now, or later. */
	bool (*is_ready)(void *arg, struct ring_reader *reader, struct ring_owner *ring);
	/* An event: its size and kind are right, its text is within it. */
	void (*event)(void *arg, struct ring_reader *reader, struct ring_owner *ring,
		      const struct span_event *event);
	/* Events were dropped; without a ring, as there was none to be had. */
	void (*loss)(void *arg, struct ring_reader *reader, struct ring_owner *ring, nsec_t first,
		     nsec_t last, uint64_t count);
	void *arg;
	struct counters *counters; /* borrowed, or NULL */
};

/* For the drains to come; borrowed.  NULL, as at first, is no limit. */
void ring_reader_set_budget(struct ring_reader *reader, struct drain_budget *budget);

/*
 * Take all that is there, or as much as the budget allows; how full the fullest ring was, in 1/256
 * of its size.  The next drain begins with the ring at which the budget was spent.
 */
unsigned int ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink);

/* How many events are still in rings, since it is not known whose they are. */
uint64_t ring_reader_count_remaining(struct ring_reader *reader);

/* Free the rings that are empty and of which it is said that their thread is dead. */
void ring_reader_reap(struct ring_reader *reader,
		      bool (*is_dead)(void *arg, struct ring_reader *reader,
				      struct ring_owner *ring),
		      void *arg);

/* The attributes of an END: 1 with the next one, 0 behind the last. *at is 0 at first. */
int span_event_next_attribute(const struct span_event_end *end, size_t *at,
			      const struct span_attribute **ret);

#endif
