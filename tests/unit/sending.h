/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sending - a sender and a collector, for tests of relay/sender.h.
 *
 * Request n is a message with one field that contains n, so that the requests in a merged export
 * differ.
 */
#ifndef SONDE_TESTS_SENDING_H
#define SONDE_TESTS_SENDING_H

#include "collector.h"
#include "relay/sender.h"

struct sending {
	struct collector collector;
	struct endpoints endpoints;
	struct sender *sender;
};

/* Starts both; the options have no endpoints.  Variables of the test are set before. */
void sending_start(struct sending *s, bool is_grpc, answer_fn *answer, void *arg,
		   struct sender_options options);
/* Without a collector: at this URL. */
void sending_start_to(struct sending *s, const char *url, struct sender_options options);
void sending_done(struct sending *s);

/* Adds request n as one item; pads it to a size. */
int sending_add(struct sending *s, uint64_t n);
int sending_add_sized(struct sending *s, uint64_t n, size_t size);

/* Runs the sender until its queues are empty or a time in ms has passed; returns whether they are.
 */
bool sending_run(struct sending *s, unsigned ms);
/* Runs it for all of this time, and returns how often its descriptor was readable. */
unsigned sending_wait(struct sending *s, unsigned ms);

/* Runs it until an export has failed or a time in ms has passed; returns whether one has. */
bool sending_wait_error(struct sending *s, unsigned ms);

struct sender_counts sending_counts(const struct sending *s);

/* The numbers in a body, in order; returns their count. */
size_t sending_numbers(const struct pb_buffer *body, uint64_t *ret, size_t room);
bool sending_contains(const struct collected *request, uint64_t n);

#endif
