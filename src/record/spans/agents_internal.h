/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_internal - shared by the files of agents.h: the attached arenas, their
 * member processes, and the owners of their rings.
 */
#ifndef SONDE_RECORD_SPANS_AGENTS_INTERNAL_H
#define SONDE_RECORD_SPANS_AGENTS_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "record/spans/agents.h"
#include "record/spans/registrations.h"
#include "record/spans/ring_reader.h"
#include "record/spans/span_writer.h"
#include "record/spans/tracker.h"
#include "record/tls/locate.h"

/*
 * An arena that the recorder reads, and its member processes.  A process remains a member for
 * MEMBER_MEMORY after its exit or execve(), so that its last events are still accepted.
 */
struct attachment {
	struct ring_reader *reader;
	struct map members;   /* pid -> time when the membership ends, or MEMBER_LIVES */
	uint32_t user;        /* of the process that was attached first */
	uint64_t allowance;   /* bytes that a drain may read */
	uint64_t dropped;     /* events too old to be written, in this drain */
	bool was_over_budget; /* the last drain left events in the arena */
	bool has_warned;      /* that the process writes too much */
};

#define MEMBER_LIVES UINT64_MAX
#define MEMBER_MEMORY (50 * NSEC_PER_MSEC)

/* A registered arena that waits until the kernel records up to its arrival are known. */
struct pending_registration {
	uint32_t pid;
	int fd;
	nsec_t received;
	nsec_t since; /* the arena contains no earlier events */
};

/* A kernel record about a process that waits for its turn. */
struct pending_event {
	nsec_t time;
	size_t order;            /* of arrival */
	struct wire_task record; /* or a record_exit, which is shorter */
};

struct agents {
	struct agents_config config;
	struct tracker *tracker;
	struct span_writer *span_writer;
	struct tls_files *tls;
	struct registrations *registrations;
	VEC(struct attachment) attachments;
	VEC(struct pending_registration) pending_registrations;
	VEC(struct pending_event) pending_events;
	struct map ended;   /* pid -> time of its exit, since the last drain */
	uint64_t device;    /* of memory files */
	nsec_t before, now; /* times of the previous and the current drain */
	nsec_t until;       /* later events are discarded */
	nsec_t next_reap;
	bool has_started;
	size_t current;             /* index of the attachment being drained */
	struct drain_budget budget; /* of that attachment */
	size_t next_attachment;     /* where the next drain starts */
	unsigned int scans_left;    /* of processes named by rings, in this round */
	unsigned int slow_warnings; /* processes reported to write too much */
	uint64_t refused;           /* registrations refused before the current second */
	nsec_t next_second;
	uint32_t epoch; /* number of agents_renew_strings() */
	bool warned_flood, warned_often, warned_busy, warned_many, warned_refused, warned_lost;
};

/* Warn the user, once per flag. */
__attribute__((format(printf, 3, 4))) void agents_warn_once(struct agents *a, bool *warned,
							    const char *format, ...);

/* agents_owner.c: the string of the service of a resolved ring. */
uint32_t agents_service(struct agents *a, struct ring_owner *owner);

/* agents_drain.c: read all arenas.  Returns the fill level of the fullest ring, in 1/256. */
unsigned int agents_drain_rings(struct agents *a);
/* The last time; events that do not fit into the time limit count as lost. */
void agents_drain_rings_at_end(struct agents *a);

/* The member with the lowest pid, to which losses of the whole arena are attributed. */
uint32_t agents_first_member(const struct attachment *attachment);

void agents_detach(struct agents *a, size_t i);

/* NULL if the arena is not attached. */
struct attachment *agents_find_attachment(struct agents *a, const struct ring_reader *reader);

/* The process has this arena mapped. */
void agents_add_member(struct agents *a, struct tracked_process *p, struct ring_reader *reader);

/* Find the arena, thread context and service name of a process; see tracker_callbacks.scan. */
int agents_scan_process(void *agents, struct tracked_process *p);

/* Fill in owner->resolved.  False if it is unknown yet and the ring should wait. */
bool agents_resolve_owner(struct agents *a, struct ring_reader *reader, struct ring_owner *owner);

/* Translate another tid of the owner's process; 0 if it is unknown or not a thread of it. */
uint32_t agents_find_thread(struct agents *a, const struct ring_owner *owner, uint32_t claimed);

/* Whether the thread that owns a ring has certainly exited. */
bool agents_owner_is_dead(struct agents *a, struct ring_owner *owner);

#endif
