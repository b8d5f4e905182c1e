/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - types and functions that only the files of requests/ share.
 *
 * Terms:
 * - A *state* is something that a thread works for: a request, a handoff or a fork.  Each state
 *   becomes a span and has the span's index.  Indexes count from 1, and 0 is none.
 * - A *call* is a request that a thread sends to another service.  A call is pending until the
 *   first byte of its reply is read.
 * - The *owner* of a call is the state that it was sent for.  While several states are possible,
 *   the owner is a *hypothesis*, which later events confirm or refute.
 */
#ifndef SONDE_ANALYSE_REQUESTS_INTERNAL_H
#define SONDE_ANALYSE_REQUESTS_INTERNAL_H

#include "analyse/requests/window.h"
#include "analyse/requests/window_spans.h"
#include "base/map.h"

enum occurrence_kind {
	OCCUR_RECEIVE,
	OCCUR_SEND,
	OCCUR_CONNECT,
	OCCUR_BLOCK,
	OCCUR_WAKE,
	OCCUR_FORK
};

/* An event that can show which thread works for which request. */
struct occurrence {
	nsec_t time;
	nsec_t ran;       /* WAKE: when the thread got a CPU; BLOCK: when it was woken */
	const void *what; /* struct message, connect or cause of the model; borrowed */
	uint32_t thread;
	uint32_t other; /* WAKE: the waker; FORK: the parent */
	uint8_t kind;
};

typedef VEC(struct occurrence) occurrences;

/* From which time on the items of a thread are still to be found. */
struct occurrence_cursor {
	nsec_t message, connect;
	nsec_t block, wake; /* start of a wait: its begin, its end */
	bool has_fork;
	uint32_t generation; /* of the thread's id, which the model can reuse */
};

/* All occurrences of a model up to a time that were not found before, by time. */
void occurrences_find(const struct model *model, struct occurrence_cursor *cursors, nsec_t until,
		      occurrences *ret);

/* What the messages of connections show of their protocol (control.c). */
struct control {
	VEC(struct ping_side) sides;
	struct map index;      /* host and object -> index in sides + 1 */
	VEC(uint32_t) exposed; /* threads with a connection on which control messages were found */
};

void control_done(struct control *control);

/* Drop messages that are part of neither a request nor a reply. */
void occurrences_drop_control(struct control *control, const struct model *model,
			      occurrences *list);
/* Forget connections without a message since a time. */
void control_forget(struct control *control, nsec_t t);

enum role { ROLE_UNKNOWN, ROLE_SERVER, ROLE_CLIENT };

/* A state, or a hypothesis about it; neither if unknown. */
struct owner {
	uint32_t state, hypothesis;
};

/* A stretch of work; its owner can be decided later. */
struct owned_work {
	struct owner owner;
	thread_id thread;
	nsec_t from, to;
};

/* A reply, or a part of one, that was read for an owner. */
struct owned_reply {
	struct owner owner;
	thread_id thread;
	const struct message *message; /* borrowed */
};

/* A message that was sent as a call, or a part of one. */
struct sent_call {
	struct owner owner;
	const struct message *sent; /* borrowed */
};

/* A call that was sent, whatever its peer. */
struct client_call {
	const struct message *sent; /* its first message; borrowed */
	nsec_t start, end;          /* end is 0 until a reply is read */
	uint32_t thread, side;
	bool is_peer_recorded;
};

/* One side of a connection. */
struct side {
	uint8_t role;
	bool is_peer_recorded; /* a recorded thread sent or received at the other end */
	bool awaits_reply;     /* client: a call is pending */
	bool ambiguous;        /* client: several states can have sent the pending call */
	struct owner owner;    /* server: the request; client: the owner of the last call */
	const struct message *received; /* server: the last message; borrowed */
	struct owner connect_owner;     /* client: the owner of the connect, until the first call */
	uint32_t connect_state;         /* client: the state of that owner, for good */
	uint32_t caller;                /* client: the thread that sent the pending call */
	uint32_t pending_for;           /* client: the request that counts this call as pending */
	uint32_t call;       /* client: the last call, as an index in finder.client_calls; or 0 */
	nsec_t connect_time; /* client: when a thread opened the connection, until the first call */
	uint32_t acted_for; /* client: the hypothesis for which a thread acted on part of a reply */
	nsec_t last_use;    /* time of its last message or connect */
	/* unread.c; client */
	nsec_t call_time;       /* when the pending call was sent */
	nsec_t read_until;      /* when the last call that the server has read was sent */
	uint32_t server_thread; /* that reads the calls; 0 if unknown */
	uint64_t server_socket;
	uint64_t key; /* in finder.side_index */
};

enum { BATCH_MAX = 16 };

/*
 * An unknown owner of calls.  Calls for the same unknown state share a hypothesis, and a reply to
 * the client shows which state it is.
 */
struct hypothesis {
	uint32_t state;         /* the owner, once known */
	uint32_t same_as;       /* otherwise: an earlier hypothesis with the same owner */
	uint32_t candidate;     /* otherwise: the most probable state */
	uint32_t pending_calls; /* calls of this owner without a reply */
	float confidence;
	bool broken;             /* refuted: the calls have several owners */
	uint8_t candidate_count; /* 0: any state is possible */
	uint32_t candidates[BATCH_MAX];
};

/* A worker without a pending call can start the next item at any call: why its work was cut. */
enum cut {
	CUT_NONE,
	CUT_PLAIN,     /* no sign of a new item */
	CUT_HANDSHAKE, /* the call repeats a target that was called only on a new connection */
	CUT_REPEATED,  /* the call repeats a target */
};

/* What is known of a state while requests are rebuilt. */
struct work_state {
	bool replied, ended;
	/* FORK */
	uint32_t stem; /* the nearest ancestor that is not a fork */
	/* NETWORK */
	const struct message *received; /* the first part of the request; borrowed */
	nsec_t replied_at;              /* time of the reply's first byte */
	uint32_t prev, next;            /* in the list of requests that the thread holds */
	uint32_t pending_calls;
	uint32_t handoff;    /* the handoff that is known to be for this request */
	bool reader_replied; /* the thread that received the request sent the reply */
	nsec_t left;         /* when the last byte of the reply left the send buffer, if later */
	uint8_t held;        /* enum held_reason: why it left so late */
	nsec_t next_arrival; /* arrival of the next request over the same connection */
	const struct message
		*last_reply;   /* the last part of the reply; borrowed, NULL if unknown */
	uint32_t last_replier; /* the thread that sent it */
	bool is_linked;   /* its parent is known for good: the message that shows it is forgotten */
	bool is_returned; /* it is part of a request that the window has returned */
	bool owns_received; /* `received` is a copy of its own */
	/* HANDOFF */
	nsec_t taken;        /* when the thread took the work, or was free to */
	nsec_t first_call;   /* time of its first call; 0 if there is none */
	nsec_t last_message; /* time of its last call or reply */
	nsec_t over_by;      /* latest possible end; 0 if unknown */
	uint32_t dispatcher; /* the thread that hands out the work */
	uint64_t queue;      /* the object that the thread waited on */
	uint32_t origin;     /* the handoff that this one was cut from */
	uint32_t part_of;    /* the handoff that this one turned out to be part of */
	uint32_t calls;
	uint8_t cut;     /* enum cut: why it was cut from its origin */
	bool settled;    /* its request is known */
	bool indistinct; /* nothing distinguishes it from several others */
};

enum { TARGETS_MAX = 8 };

/* What a pool has done for requests that are forgotten (match.c). */
struct pool_counts {
	uint32_t requests;
	uint32_t calls[2]; /* all; without those after a handshake */
	uint32_t parts[3]; /* of work that start an item, by rule */
};

/* A thread. */
struct worker {
	uint32_t current;          /* the state that it works for; 0 if none or unknown */
	nsec_t since;              /* start of the work for `current` or `doubtful` */
	uint32_t doubtful;         /* without `current`: the hypothesis that it works for, or 0 */
	nsec_t last_event;         /* time of its last message, or end of its last poll */
	nsec_t polled;             /* start of its last poll, if it has not read or sent since */
	uint32_t held, held_count; /* requests that it received and that have no reply: a list */
	uint32_t without_pending;  /* held requests without a pending call */
	uint32_t last;             /* the state before `current` */
	bool reads;                /* it has received requests */
	uint32_t hypothesis;       /* the owner of its actions, if unknown */
	uint32_t burst_hypothesis; /* the owner of its calls since it last read anything */
	uint32_t read_side;        /* the side of its last read, if it has not acted since */
	uint32_t partial;          /* the hypothesis of that read, if more replies are pending */
	uint32_t pending_calls;    /* calls that it sent */
	uint32_t calling_side;     /* the side of its last call, if it has done nothing since */
	nsec_t free_since;
	/* of a worker thread */
	uint32_t dispatcher;  /* the thread that last handed it work */
	uint64_t queue;       /* the object that it waited on for that */
	uint8_t queue_kind;   /* enum object_kind; 0 if it never got work */
	bool polls_when_idle; /* it has waited in a poll without work */
	uint8_t target_count;
	nsec_t taken;                  /* when it was last free to take work */
	nsec_t idle_until;             /* end of its last wait for work */
	uint64_t targets[TARGETS_MAX]; /* called for its current work or burst */
	/* of a dispatcher */
	bool holds_several; /* it has held several requests at once */
	bool gets_results;  /* workers hand their results back to it */
	struct pool_counts pool;
	uint32_t result; /* the work with the result that ended its last poll; or 0 */
	/* of an event loop */
	bool attributed; /* a read showed the owner of its actions, since it last polled */
	bool acted;      /* it has acted for that owner */
	bool from_reply; /* that read was a reply and not a request */
	/* batch.c */
	uint8_t batch_count;
	bool just_read;    /* it has read the last of the batch, and not acted or polled since */
	bool read_several; /* it did not act between its last two reads */
	struct owner batch[BATCH_MAX]; /* owners of its reads, for which it has not acted yet */
	uint32_t calls;                /* number of calls */
	uint32_t unprompted_calls;     /* number of calls without a read before */
	uint32_t replies;
	uint32_t agreed, disagreed; /* replies that match the reads before the call, or do not */
	uint32_t first_first,
		last_first; /* it acted for the oldest read of several, or the latest */
};

/* The last wait on a futex. */
struct futex_wait {
	uint32_t thread;
	nsec_t end;
	uint64_t key;   /* in finder.last_waits */
	bool is_shared; /* several threads have waited on it at once */
};

struct finder {
	const struct model *model; /* borrowed */
	struct requests *out;
	VEC(struct work_state) states; /* by span */
	VEC(struct side) sides;
	VEC(struct hypothesis) hypotheses;
	VEC(struct sent_call) calls;
	VEC(struct owned_work) work;
	VEC(struct owned_reply) replies;
	VEC(struct client_call) client_calls;
	struct map side_index;                 /* host and object -> index of a side */
	struct map sent;                       /* struct message -> index in `calls` */
	VEC(struct worker) workers;            /* by thread */
	VEC(struct occurrence_cursor) cursors; /* by thread */
	struct control control;
	struct map services;     /* host and pid of processes that serve */
	struct map readers;      /* host, network namespace and port -> the last thread that read */
	struct map conditions;   /* host and pid, if waits distinguish mutexes from conditions */
	struct map gils;         /* host and pid -> address of Python's global interpreter lock */
	struct map shared_locks; /* host, pid and address of locks that busy threads wait for
				  * -> time of the last such wait */
	struct map last_waits;   /* host, pid and address -> index of the last wait in `waits` */
	VEC(struct futex_wait) waits; /* one for each address */
	struct map work_stealing;     /* host and pid of processes with tasks that change threads
				       * -> time of the last change */
	struct request_counts counts;
};

static inline uint64_t process_key(const struct thread *thread)
{
	return (uint64_t)thread->host << 32 | thread->pid;
}

static inline struct worker *worker_of(struct finder *f, uint32_t thread)
{
	return &f->workers.items[thread];
}

static inline const struct thread *thread_of(const struct finder *f, uint32_t thread)
{
	return model_thread(f->model, (thread_id){ thread });
}

static inline struct request_span *span_at(struct finder *f, uint32_t state)
{
	return &f->out->spans.items[state];
}

static inline struct work_state *state_at(struct finder *f, uint32_t state)
{
	return &f->states.items[state];
}

static inline bool state_is_handoff(struct finder *f, uint32_t state)
{
	return state && span_at(f, state)->kind == REQUEST_HANDOFF;
}

/* finder.c */
void finder_init(struct finder *f, const struct model *model, struct requests *out);
void finder_done(struct finder *f);
void finder_process(struct finder *f, nsec_t until); /* the events up to a time */
void finder_complete(struct finder *f);              /* after the last event */

/* forget.c */
struct forget_times {
	nsec_t now;
	nsec_t horizon; /* of requests that ended before, nothing is needed */
	nsec_t needs;   /* the model holds nothing older */
	nsec_t length;  /* of the window */
};

/* Drops what is not needed any more; `completed` is a completed copy. */
void finder_forget(struct finder *f, struct finder *completed, const struct forget_times *times);
void finder_drop_thread(struct finder *f, uint32_t thread); /* it is gone */

/* requests.c */
void finder_handle(struct finder *f, const struct occurrence *o);
void side_end_call(struct finder *f, struct side *s); /* the call is no longer pending */

/* state.c */
uint32_t state_add(struct finder *f, enum request_kind kind, uint32_t thread, uint32_t parent,
		   nsec_t start);
void state_free_received(struct work_state *state);
uint32_t state_stem(struct finder *f, uint32_t state);    /* a fork's stem, or the state itself */
uint32_t state_request(struct finder *f, uint32_t state); /* the request that it is work for */
bool state_is_live(struct finder *f, uint32_t state);     /* its client still waits */
void state_extend(struct finder *f, uint32_t state, nsec_t t);
void state_count_pending(struct finder *f, uint32_t state, int change);
void worker_set_current(struct finder *f, uint32_t thread, uint32_t state, nsec_t now);
/* Adds what the thread has done for its current state. */
void worker_add_open_work(struct finder *f, uint32_t thread, nsec_t now);
/* The thread works for an unknown owner. */
void worker_set_doubtful(struct finder *f, uint32_t thread, uint32_t hypothesis, nsec_t now);
/* The thread acts for an owner; what it has done since its last event was for that owner, too. */
void worker_acts_for(struct finder *f, uint32_t thread, struct owner owner, nsec_t now);
void worker_hold(struct finder *f, uint32_t thread, uint32_t state);
void worker_release(struct finder *f, uint32_t state);

/* event_loop.c */
struct owner owner_of_send(struct finder *f, uint32_t thread, uint64_t target);
uint32_t certain_state(struct finder *f, uint32_t thread); /* that it works for; 0 if in doubt */
uint32_t hypothesis_state(const struct finder *f, uint32_t hypothesis); /* 0 if unknown */
void hypothesis_settle(struct finder *f, uint32_t hypothesis, uint32_t state);

/* batch.c */
void batch_read(struct worker *w, struct owner owner);
void batch_wait(struct worker *w);
void batch_call(struct worker *w, struct owner owner);
void batch_candidates(const struct finder *f, const struct worker *w, struct hypothesis *ret);
bool batch_splits(const struct worker *w);   /* its calls in a row can have several owners */
bool batch_is_mixed(const struct worker *w); /* it can act for another owner than its last read's */
/* The hypothesis that a reply settles, or 0. */
uint32_t batch_reply(const struct finder *f, struct worker *w, uint32_t state);

/* pool.c */
bool pool_is_shared_lock(const struct finder *f, uint32_t thread, uint64_t object);
void pool_block(struct finder *f, const struct occurrence *o);
void pool_wake(struct finder *f, const struct occurrence *o);
void pool_begin(struct finder *f, uint32_t thread); /* the thread acts: it can have taken work */
void pool_call(struct finder *f, uint32_t thread, uint32_t side, uint64_t object, nsec_t now);
void pool_receive(struct finder *f, uint32_t thread, nsec_t now);
uint32_t pool_reply(struct finder *f, uint32_t thread, uint32_t state);
void pool_reader_reply(struct finder *f, uint32_t thread, uint32_t state); /* the dispatcher's */

/* match.c */
void match_handoffs(struct finder *f);
void pool_counts_add(struct pool_counts *counts, const struct request_span *span,
		     const struct work_state *work);
void pool_counts_halve(struct pool_counts *counts);

/* arrival.c */
/* When the first byte of a received message arrived at its socket; 0 if unknown. */
nsec_t request_arrival(const struct model *model, uint16_t host, const struct message *m);
/* Notes when the last part of a reply left the send buffer, which can be recorded much later. */
void reply_left(struct finder *f, uint32_t state);
void requests_set_times(struct finder *f);

/* link.c */
void requests_link(struct finder *f);
uint32_t owner_state(struct finder *f, struct owner owner, float *ret_confidence); /* or 0 */
uint32_t state_whole(struct finder *f, uint32_t state); /* the state that a part belongs to */

void request_assign_ids(struct finder *f, uint32_t span);

/* unread.c */
/* A thread has read what a client on `host` sent. */
void unread_note_read(struct finder *f, const struct message *sent, uint16_t host,
		      const struct request_span *span);
/* Remembers which threads read from ports, before their connections are forgotten. */
void unread_note_readers(struct finder *f);
/* Adds a span for each request that no thread has read yet; after finder_complete(). */
void unread_add(struct finder *f, nsec_t now, uint32_list *ret);

/* client_call.c */
void client_call_begin(struct finder *f, uint32_t thread, uint32_t side, const struct message *m);
void client_call_reply(struct finder *f, uint32_t side, const struct message *m);
void client_calls_add(struct finder *f); /* spans for calls to services that were not recorded */

/* side.c */
uint32_t side_of(struct finder *f, uint16_t host, uint64_t object);
void side_find_role(struct finder *f, uint32_t side, const struct thread *thread,
		    const struct message *m);
uint64_t side_target(const struct finder *f, uint32_t thread, uint64_t object); /* its peer */
bool target_was_called(const struct worker *w, uint64_t target);
void target_add(struct worker *w, uint64_t target);

#endif
