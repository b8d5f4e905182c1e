/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - the calls that a service makes to handle a request.
 *
 * A target is a service to call.  With keep-alive, it keeps its idle connections and reuses the
 * most recently used one; otherwise each call has a new connection.  call_begin() and call_end()
 * block; the event loop takes the same steps when its sockets are ready.
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

struct call { /* a pending call */
	struct target *target;
	struct link *link;
	struct call_entry *log;
};

/* `text` is the ADDRESS of another service, redis:ADDRESS or pg:ADDRESS. */
void target_init(struct target *t, const char *text, bool keep_alive);
struct link *target_take_idle(struct target *t); /* or NULL */
void target_give_back(struct target *t, struct link *l);

/* Write call number i of an entry to a buffer; returns its bytes. */
size_t call_format(const struct target *t, const struct entry *e, size_t i, char *buf, size_t room);
void call_log_begin(struct call *c, struct entry *e, size_t i, size_t bytes);
void call_log_end(struct call *c, size_t bytes);

struct call call_begin(struct target *t, struct entry *e, size_t i, const struct io_style *how);
void call_end(struct call *c, const struct io_style *how);

#endif
