/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_reader - the recorder's side of one arena of event/span_wire.h: reads the
 * rings that the threads of traced processes write.
 *
 * Those processes can write anything into the arena at any time, even while the
 * recorder reads.  So the reader copies an event before it checks it, and reads the
 * head and tail of a ring once per drain: their distance, if it is plausible, bounds
 * the work.  The pid and tid in a ring are only a claim; the caller verifies them.
 */
#ifndef SONDE_RECORD_SPANS_RING_READER_H
#define SONDE_RECORD_SPANS_RING_READER_H

#include "base/base.h"
#include "event/counter.h"
#include "event/span_wire.h"
#include "record/spans/arena_file.h"

/* The thread that writes a ring. */
struct ring_owner {
	uint32_t state; /* span_ring.state when the claims were read */

	/* claims, copied from the ring */
	uint32_t pid, tid, pid_ns; /* ids within that pid namespace */
	char service[SPAN_SERVICE_MAX];

	/* set by the caller; cleared when the claims change */
	struct {
		nsec_t first_seen; /* when the caller first tried to resolve it */
		bool is_final;     /* the caller will not try again */
		uint32_t pid, tid; /* in the initial pid namespace; 0 if unknown or out of scope */
		uint32_t service;  /* string, valid in this epoch of the caller */
		uint32_t epoch;
	} resolved;
};

struct ring_reader;

/* Open and lock an arena; -EBADMSG: not an arena; -EBUSY: another recorder reads it. */
int ring_reader_open(int fd, uint64_t device, struct ring_reader **ret);

/* Stops the agents and releases the lock. */
void ring_reader_free(struct ring_reader *reader);
DEFINE_FREEP(ring_reader)

/* Identifies the arena. */
uint64_t ring_reader_inode(const struct ring_reader *reader);

/* Whether agents were not writing when the reader was opened, so that earlier spans are missing. */
bool ring_reader_was_idle(const struct ring_reader *reader);

/* Whether the memory is gone (base/mapping.h), so that the arena yields no more events. */
bool ring_reader_is_lost(const struct ring_reader *reader);

/* The agents' clock is `offset` ns ahead of ours; all times in this interface are ours. */
void ring_reader_set_clock_offset(struct ring_reader *reader, int64_t offset);

/*
 * Request events, and renew the heartbeat.  False if an agent missed the heartbeat since the
 * previous call, and stopped writing events without counting them.
 */
bool ring_reader_heartbeat(struct ring_reader *reader, nsec_t now);
/* Request no more events; those already written can still be drained. */
void ring_reader_stop(struct ring_reader *reader);

/* Limits of a drain; the sink subtracts its own costs. */
struct drain_budget {
	uint64_t bytes;  /* left */
	nsec_t deadline; /* on clock_now() */
	bool is_spent;   /* the drain left events in the arena */
};

static inline void drain_budget_use(struct drain_budget *budget, uint64_t bytes)
{
	budget->bytes -= bytes < budget->bytes ? bytes : budget->bytes;
}

struct ring_sink {
	/* Called before the first event of a ring; false postpones the ring. */
	bool (*is_ready)(void *arg, struct ring_reader *reader, struct ring_owner *owner);
	/* An event with valid kind and sizes. */
	void (*event)(void *arg, struct ring_reader *reader, struct ring_owner *owner,
		      const struct span_event *event);
	/* An agent dropped events; owner is NULL for threads that found no free ring. */
	void (*loss)(void *arg, struct ring_reader *reader, struct ring_owner *owner, nsec_t first,
		     nsec_t last, uint64_t count);
	void *arg;
	struct counters *counters; /* borrowed, or NULL */
};

/* For the following drains; borrowed.  NULL, the default, is no limit. */
void ring_reader_set_budget(struct ring_reader *reader, struct drain_budget *budget);

/*
 * Read all events, or as many as the budget allows.  Returns the fill level of the fullest ring,
 * in 1/256 of its size.  The next drain starts with the ring that exhausted the budget.
 */
unsigned int ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink);

/* The number of unread events. */
uint64_t ring_reader_count_remaining(struct ring_reader *reader);

/* Free the empty rings of dead threads. */
void ring_reader_reap(struct ring_reader *reader,
		      bool (*is_dead)(void *arg, struct ring_reader *reader,
				      struct ring_owner *owner),
		      void *arg);

/* Iterate over the attributes of an END event; *pos is 0 at first.  Returns 0 after the last. */
int span_event_next_attribute(const struct span_event_end *end, size_t *pos,
			      const struct span_attribute **ret);

#endif
