/* SPDX-License-Identifier: Apache-2.0 */
/* requests_parts - what the files of requests share with each other and nobody else. */
#ifndef SONDE_ANALYSE_REQUESTS_PARTS_H
#define SONDE_ANALYSE_REQUESTS_PARTS_H

#include "analyse/requests.h"
#include "base/map.h"

enum occurrence_kind {
	OCCUR_RECEIVE,
	OCCUR_SEND,
	OCCUR_CONNECT,
	OCCUR_BLOCK,
	OCCUR_WAKE,
	OCCUR_FORK
};

/* Something that may tell who works for whom. */
struct occurrence {
	nsec_t time;
	const void *what; /* struct message, connect or cause of the model; borrowed */
	uint32_t thread;
	uint32_t other; /* WAKE: who woke it; FORK: who created it */
	uint8_t kind;
};

typedef VEC(struct occurrence) occurrences;

/* All of them, in the order of time. */
void occurrences_find(const struct model *model, occurrences *ret);

enum role { ROLE_UNKNOWN, ROLE_SERVER, ROLE_CLIENT };

/* One side of a connection. */
struct side {
	uint8_t role;
	bool asked;     /* client: a request is under way, and no byte of its answer has come */
	bool ambiguous; /* client: by more than one state */
	bool tentative; /* client: `state` is the likely one, but there was another */
	uint32_t state; /* server: that it is for; client: that asked; 0 if unknown */
	uint32_t owner; /* client: that was worked for when it was connected */
	uint32_t asks;  /* client: list of sends whose state is not certain */
	uint32_t asker; /* client: the thread that asked, if it waits for the answer */
};

/* A send on the client's side. */
struct ask {
	uint32_t state; /* that it is for, or 0 */
	uint32_t thread, side;
	uint32_t next_of_side, next_of_thread; /* of those that are not certain */
	uint32_t next_recent;
	float confidence;
	bool contested; /* its thread held several requests: only its answer can tell for which it
			   is */
	bool tentative; /* the same, but the last that was read is likely */
};

/* What is known of a span while it is worked for. */
struct work {
	const struct message *came; /* NETWORK: the first part of it; borrowed */
	uint32_t prev, next;        /* NETWORK: of those that its thread holds */
	uint32_t holder;            /* NETWORK: the HANDOVER that is believed to be for it, or 0 */
	uint32_t next_done;         /* HANDOVER: of those that are done, and not answered yet */
	bool answered, ended;
};

/* A thread. */
struct worker {
	uint32_t current; /* that it works for; 0 if nothing, or unknown */
	nsec_t since;
	uint32_t held, held_count; /* requests that it received and nobody answered: a list */
	uint32_t last;             /* that it worked for before */
	uint32_t asks;             /* list of its sends whose state is unknown */
	uint32_t unknown_side;     /* whose answer it got last, not certain to whose question */
	uint32_t outstanding;      /* questions of its, whose answers have not begun to come */
	uint32_t recent;           /* list of its asks since it last heard */
	nsec_t heard;              /* when that was */
	uint32_t asking_side;      /* on which it sent, if it has done nothing else since */
	uint32_t done, done_end;   /* list of HANDOVERs that are done, of what it received */
	uint32_t unclaimed;        /* that it answered, though nobody was seen to be done with it */
	nsec_t free_since;
	uint32_t boss;      /* who handed it work last */
	uint64_t queue;     /* what it waited on when it was handed work */
	uint8_t queue_kind; /* enum object_kind, or 0 if it never was */
	bool fresh;         /* it has done something for current since it last chose between many */
	bool acted, doubt;
};

struct finder {
	const struct model *model; /* borrowed */
	struct requests *out;
	VEC(struct work) states; /* by span */
	VEC(struct side) sides;
	struct map side_index;  /* host and object -> place */
	VEC(struct ask) asks;   /* the first is none */
	struct map sent;        /* struct message -> place in asks */
	struct worker *workers; /* by thread */
	struct map services;    /* host and pid: of processes that serve */
	struct map conditions;  /* host and pid: of those whose waits tell locks from signals */
};

static inline uint64_t process_key(const struct thread *thread)
{
	return (uint64_t)thread->host << 32 | thread->pid;
}

/* requests_link.c */
void requests_link(struct finder *f);

/* requests_side.c */
uint32_t side_of(struct finder *f, uint16_t host, uint64_t object);
void side_role(struct finder *f, uint32_t side, const struct thread *thread,
	       const struct message *m);

#endif
