/* SPDX-License-Identifier: Apache-2.0 */
/* requests_parts - what the files of requests share with each other and nobody else. */
#ifndef SONDE_ANALYSE_REQUESTS_INTERNAL_H
#define SONDE_ANALYSE_REQUESTS_INTERNAL_H

#include "analyse/requests/requests.h"
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
	nsec_t ran;       /* WAKE: when it got a CPU */
	const void *what; /* struct message, connect or cause of the model; borrowed */
	uint32_t thread;
	uint32_t other; /* WAKE: who woke it; FORK: who created it */
	uint8_t kind;
};

typedef VEC(struct occurrence) occurrences;

/* All of them, in the order of time. */
void occurrences_find(const struct model *model, occurrences *ret);

enum role { ROLE_UNKNOWN, ROLE_SERVER, ROLE_CLIENT };

/* Places count from 1, and 0 is none; of a state, the place is that of its span. */

/* For whom a thread acts: a state; or somebody who is not known yet. */
struct whom {
	uint32_t state, guess;
};

/* One side of a connection. */
struct side {
	uint8_t role;
	bool asked;       /* client: a request is under way, and no byte of its answer has come */
	bool ambiguous;   /* client: by more than one state */
	struct whom whom; /* server: its state is that of the request; client: who asked */
	const struct message *came; /* server: the last; borrowed */
	struct whom owner;          /* client: that was acted for when it was connected */
	uint32_t made_in;           /* likewise, and it stays */
	uint32_t asker;             /* client: the thread that asked, if it waits for the answer */
	uint32_t counted; /* client: the request that has one more question outstanding by it */
	uint32_t caused;  /* client: the guess for whom was acted when some of the answer came */
};

enum { BATCH_MAX = 16 };

/*
 * Somebody for whom something was sent, of whom is not known yet who it is.  What
 * is done for the same is the same guess, and an answer tells who it was.
 */
struct guess {
	uint32_t state;       /* who it was, when that is known */
	uint32_t like;        /* or else a guess: that was heard of before it, so it is the same */
	uint32_t likely;      /* or else a state */
	uint32_t outstanding; /* questions for it */
	float confidence;
	bool broken;       /* it is more than one */
	uint8_t may_count; /* 0 if it may be anybody */
	uint32_t may[BATCH_MAX];
};

/* What a worker asks when it waits for no answer may be for the next request, or not. */
enum cut {
	CUT_NONE,
	CUT_PLAIN, /* nothing tells */
	CUT_HELLO, /* it asks one again whom it has asked, but only since it was connected */
	CUT_AGAIN, /* it asks one again whom it has asked */
};

/* What is known of a span while it is worked for. */
struct work {
	bool answered, ended;
	/* FORK */
	uint32_t stem; /* the nearest above it that is none: it lasts and is for what that is */
	/* NETWORK */
	const struct message *came; /* the first part of it; borrowed */
	nsec_t answer;              /* when it was answered */
	uint32_t prev, next;        /* of those that its thread holds */
	uint32_t outstanding;       /* questions for it */
	uint32_t holder;            /* the HANDOVER that is known to be for it */
	bool by_reader;             /* who received it has answered it */
	/* HANDOVER */
	nsec_t popped;    /* when its thread took it, or was free to */
	nsec_t first;     /* when it asked somebody; 0 if it did not */
	nsec_t last;      /* when it asked or heard, last */
	nsec_t upto;      /* when it was seen to be over; 0 if it was not */
	uint32_t boss;    /* the thread that hands out the work */
	uint64_t queue;   /* what its thread had waited on */
	uint32_t origin;  /* it may be more of this one */
	uint32_t part_of; /* it is more of this one */
	uint32_t questions;
	uint8_t cut;  /* enum cut: how it was told from its origin */
	bool settled; /* for whom it is, is known */
	bool vague;   /* nothing tells it from several others */
};

enum { TARGETS_MAX = 8 };

/* A thread. */
struct worker {
	uint32_t current; /* that it works for; 0 if nothing, or unknown */
	nsec_t since;
	uint32_t held, held_count; /* requests that it received and nobody answered: a list */
	uint32_t idle;             /* of those, without an outstanding question */
	uint32_t last;             /* that it worked for before */
	bool reads;                /* it has received requests itself */
	uint32_t guess;            /* for whom it acts, if that is not known */
	uint32_t burst;            /* the guess for whom it acts since it did, nothing telling */
	uint32_t heard_side;       /* of which it has just read, and done nothing since */
	uint32_t suspect;          /* the guess that this is of, if more answers are to come */
	uint32_t outstanding;      /* questions of its, whose answers have not begun to come */
	uint32_t asking_side;      /* on which it sent, if it has done nothing else since */
	nsec_t free_since;
	/* of one that is handed work */
	uint32_t boss;      /* who handed it work last */
	uint64_t queue;     /* what it waited on when it was handed work */
	uint8_t queue_kind; /* enum object_kind, or 0 if it never was */
	bool polls;         /* it has waited in a poll while it had nothing to do */
	uint8_t target_count;
	nsec_t popped;                 /* when it was last free to take work */
	uint64_t targets[TARGETS_MAX]; /* that it has asked for its current work or burst */
	/* of one that hands it out */
	bool shares;     /* it has held several requests at once */
	bool takes_back; /* others tell it when they are done */
	/* of one that works for several at once */
	bool fresh; /* something told for whom it acts, since it waited for one of many */
	bool acted; /* for that, it has done something */
	bool heard; /* that was an answer, and not a request */
	/* requests_batch.c */
	uint8_t batch_count;
	bool just_read; /* of the last of them, and it has not acted or waited since */
	bool several;   /* it did not act between the last two */
	struct whom batch[BATCH_MAX]; /* of whom it has read something, and not acted since */
	uint32_t asks, unprompted;    /* how often it has asked; and that when nothing told it to */
	uint32_t answers;
	uint32_t agreed, disagreed; /* whom it answered, with of whom it had read when it asked */
	uint32_t first_first, last_first; /* of several it has read of: whom it acted for */
};

struct finder {
	const struct model *model; /* borrowed */
	struct requests *out;
	VEC(struct work) states; /* by span */
	VEC(struct side) sides;
	VEC(struct guess) guesses;
	VEC(struct whom) asks;  /* for whom something was sent on the client's side */
	struct map side_index;  /* host and object -> place */
	struct map sent;        /* struct message -> place in asks */
	struct worker *workers; /* by thread */
	struct map services;    /* host and pid: of processes that serve */
	struct map conditions;  /* host and pid: of those whose waits tell locks from signals */
	struct map turnstiles;  /* host, pid and address: of what busy threads wait for */
	struct map movers;      /* host and pid: of those whose tasks move between threads */
};

static inline uint64_t process_key(const struct thread *thread)
{
	return (uint64_t)thread->host << 32 | thread->pid;
}

static inline struct worker *worker_of(struct finder *f, uint32_t thread)
{
	return &f->workers[thread];
}

static inline const struct thread *thread_of(const struct finder *f, uint32_t thread)
{
	return model_thread(f->model, (thread_id){ thread });
}

static inline struct request_span *span_at(struct finder *f, uint32_t state)
{
	return &f->out->spans.items[state];
}

static inline struct work *work_at(struct finder *f, uint32_t state)
{
	return &f->states.items[state];
}

static inline bool is_handoff(struct finder *f, uint32_t state)
{
	return state && span_at(f, state)->kind == REQUEST_HANDOFF;
}

/* requests_state.c */
uint32_t add_state(struct finder *f, enum request_kind kind, uint32_t thread, uint32_t parent,
		   nsec_t start);
uint32_t stem_of(struct finder *f, uint32_t state);    /* itself, or of a FORK its stem */
uint32_t network_of(struct finder *f, uint32_t state); /* the request it is work for, here */
bool is_live(struct finder *f, uint32_t state);        /* somebody waits for what is done for it */
void extend(struct finder *f, uint32_t state, nsec_t t);
void set_current(struct finder *f, uint32_t thread, uint32_t state, nsec_t now);
void hold(struct finder *f, uint32_t thread, uint32_t state);
void let_go(struct finder *f, uint32_t state);
void count_question(struct finder *f, uint32_t state, int change);

/* requests_whom.c */
struct whom acting_for(struct finder *f, uint32_t thread, uint64_t target);
uint32_t guess_state(const struct finder *f, uint32_t guess); /* 0 if it is not known */
uint32_t working_for(struct finder *f, uint32_t thread);      /* the state, if beyond doubt */
void settle(struct finder *f, uint32_t guess, uint32_t state);

/* requests_batch.c */
void batch_read(struct worker *w, struct whom whom);
void batch_wait(struct worker *w);
void batch_ask(struct worker *w, struct whom whom);
void batch_candidates(const struct finder *f, const struct worker *w, struct guess *ret);
bool batch_splits(const struct worker *w);   /* what it asks at once may be for several */
bool batch_is_mixed(const struct worker *w); /* it may act for another than it read of last */
uint32_t batch_answer(const struct finder *f, struct worker *w, uint32_t state); /* a guess or 0 */

/* requests_pool.c */
bool pool_is_turnstile(const struct finder *f, uint32_t thread, uint64_t object);
void pool_block(struct finder *f, const struct occurrence *o);
void pool_wake(struct finder *f, const struct occurrence *o);
void pool_begin(struct finder *f, uint32_t thread); /* it does something: it may have taken work */
void pool_ask(struct finder *f, uint32_t thread, uint32_t side, uint64_t object, nsec_t now);
void pool_hear(struct finder *f, uint32_t thread, nsec_t now);
uint32_t pool_answer(struct finder *f, uint32_t thread, uint32_t state);

/* requests_match.c */
void match_work(struct finder *f);

/* requests_link.c */
void requests_link(struct finder *f);

/* requests_side.c */
uint32_t side_of(struct finder *f, uint16_t host, uint64_t object);
void side_role(struct finder *f, uint32_t side, const struct thread *thread,
	       const struct message *m);
uint64_t side_target(const struct finder *f, uint32_t thread, uint64_t object); /* the other side */
bool has_asked(const struct worker *w, uint64_t target);
void note_target(struct worker *w, uint64_t target);

#endif
