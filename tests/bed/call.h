/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - the requests that a service makes in order to answer one.
 *
 * A target is whom to ask.  With keep-alive it holds its idle connections, and
 * the one that was used last is used next; without, each call has its own.
 * call_begin() and call_end() block; the event loop goes the same steps by
 * itself, as its sockets let it.
 */
#ifndef BED_CALL_H
#define BED_CALL_H

#include <pthread.h>

#include "base/vec.h"
#include "link.h"
#include "wire.h"

struct target {
	const struct wire *wire;
	const char *address; /* borrowed */
	bool keep_alive;
	pthread_mutex_t lock;
	VEC(struct link *) idle;
};

struct call { /* one that is under way */
	struct target *target;
	struct link *link;
	struct call_entry *log;
};

/* ADDRESS of another service, redis:ADDRESS or pg:ADDRESS. */
void target_init(struct target *t, const char *text, bool keep_alive);
struct link *target_take_idle(struct target *t); /* or NULL */
void target_give_back(struct target *t, struct link *l);

/* The question that is asked in call number i for an entry; its bytes. */
size_t call_ask(const struct target *t, const struct entry *e, size_t i, char *buf, size_t room);
void call_log_begin(struct call *c, struct entry *e, size_t i, size_t bytes);
void call_log_end(struct call *c, size_t bytes);

struct call call_begin(struct target *t, struct entry *e, size_t i, const struct manner *how);
void call_end(struct call *c, const struct manner *how);

#endif
