/* SPDX-License-Identifier: Apache-2.0 */
/*
 * story - hand-written models for tests.
 *
 *	_cleanup_(story_done) struct story s = { 0 };
 *	story_begin(&s, 1, 0);
 *	story_run(&s, 1, 0, 10);
 *	story_wait(&s, 1, 10, 20, STATE_LOCK, 2);
 *	_cleanup_(model_freep) struct model *model = story_model(&s);
 *
 * Events can be added in any order; the model gets them sorted by time, and those of one time
 * in the order in which they were added.
 */
#ifndef SONDE_TESTS_STORY_H
#define SONDE_TESTS_STORY_H

#include "base/vec.h"
#include "build.h"
#include "model/span_set.h"

struct story_event {
	struct record_socket record; /* the largest */
	uint32_t order;              /* in which it was added */
	uint16_t host;
};

struct story {
	VEC(struct story_event) events;
	uint16_t host; /* of the events that follow */
	uint8_t trace; /* of the spans and contexts that follow */
};

void story_done(struct story *s);

/* Strings with a meaning. */
enum { STRING_PYTHON = 1000, STRING_JAVA, STRING_VM_THREAD, STRING_POSTGRES };

/* The string with any other number n is "string n". */
struct source story_source(uint16_t host);

/* Copies a record, which must have no variable part. */
void story_add(struct story *s, const struct record *record);

void story_begin(struct story *s, uint32_t tid, nsec_t time); /* existing thread */
void story_create(struct story *s, uint32_t tid, uint32_t parent, nsec_t time);
void story_run(struct story *s, uint32_t tid, nsec_t start, nsec_t end);

/* Blocked until the thread `waker` ends it; 0 is none. */
void story_wait(struct story *s, uint32_t tid, nsec_t start, nsec_t end, enum state state,
		uint32_t waker);
/* Blocked until a packet comes. */
void story_wait_packet(struct story *s, uint32_t tid, nsec_t start, nsec_t end);

/*
 * A TCP connection between the sockets n and n + 1, which can be on two hosts; and bytes over
 * it, with the same positions on both sides.
 */
void story_connect(struct story *s, uint64_t n);
void story_send(struct story *s, uint32_t tid, nsec_t time, uint64_t socket, uint32_t position,
		uint32_t bytes);
void story_receive(struct story *s, uint32_t tid, nsec_t time, uint64_t socket, uint32_t position,
		   uint32_t bytes);

/* A span and the thread that created it; none if tid is 0.  Its service is string 20, its operation
 * the string of its number. */
void story_span(struct story *s, nsec_t start, nsec_t end, uint8_t id, uint8_t parent,
		uint32_t tid);
/* From `time` on, the thread works for a span; for none if id is 0. */
void story_context(struct story *s, uint32_t tid, nsec_t time, uint8_t id);
void story_observed(struct story *s, uint32_t tid, nsec_t since, nsec_t time, uint8_t id);
void story_unknown(struct story *s, uint32_t tid, nsec_t time);

struct model *story_model(const struct story *s);

/*
 * The path of a thread as text.  The caller frees it.
 *
 *	1R 0-10, 1L 10-20 (2R 10-15, 2C 15-20), 1R 20-30
 *
 * thread, state, start and end, and in brackets the steps that explain a wait.  ~ is a message in
 * transit, ! unexplained time, ^ queueing, _ a reply in the send buffer.
 */
char *story_path(const struct model *model, uint32_t tid, nsec_t from, nsec_t to);

/* The path of a span as text; > and a number is the other span that its thread works for. */
char *story_span_path(const struct model *model, uint8_t id);
/* The same for any span; > and a number is the socket of the other request. */
char *story_path_of(const struct span_set *spans, span_id span);

/* The span with this number, of any trace. */
span_id story_find_span(const struct model *model, uint8_t id);

#endif
