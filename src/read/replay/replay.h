/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - runs the events of a foreign trace through the recorder's state machine.
 *
 * The kernel programs process events as they happen; a trace has the same events in
 * a file.  The rules are the same for both (event/thread_state.h, event/wakeup.h), and
 * so are the records.  What the kernel programs read from kernel memory, the replay
 * derives from other events: the object behind a file descriptor from the calls
 * that open and close it, the process of a thread from its creation, the block I/O
 * that an interrupt completed from the events of the block layer.
 *
 * The replay invents nothing: if the trace does not contain something, the record
 * has it as unknown, and replay_missing() describes what the whole trace is missing.
 */
#ifndef SONDE_READ_REPLAY_REPLAY_H
#define SONDE_READ_REPLAY_REPLAY_H

#include "read/raw/raw.h"

struct replay;

/* The source of the events, which is borrowed. */
struct replay *replay_new(struct raw_source *source);
void replay_free(struct replay *replay);
DEFINE_FREEP(replay)

/* Makes the records of the event that the source has just returned. */
void replay_event(struct replay *replay, const struct raw_event *event);

/* Makes the records of intervals and calls that the end of the trace cuts off. */
void replay_end(struct replay *replay);

/* Returns the next record, valid until the next event; NULL if there is none. */
const struct record *replay_take(struct replay *replay);

const char *replay_string(const struct replay *replay, uint32_t id);

/*
 * What the trace is missing so far, and the consequences for its analysis, as
 * "has no ..., so ...".  The caller frees it; NULL if nothing is missing.
 */
char *replay_missing(const struct replay *replay);

#endif
