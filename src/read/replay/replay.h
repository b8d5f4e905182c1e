/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - raw events of a foreign trace through the recorder's state machine.
 *
 * What the kernel programs see one event at a time, a trace has in a file.  So
 * the same machine (event/thread_state.h) runs over both, and the records are the
 * same.  What the kernel programs can ask the kernel for, a trace may lack or
 * tell elsewhere: what a file descriptor stands for is followed from the calls
 * that open and close it, who belongs to which process from forks, which
 * request a disk interrupt completed from the request's own events.
 *
 * Nothing is made up: where a trace does not say, the record says so, and the
 * notice says of the whole trace what it lacks.
 */
#ifndef SONDE_READ_REPLAY_REPLAY_H
#define SONDE_READ_REPLAY_REPLAY_H

#include "read/raw/raw.h"

struct replay;

/* The source, borrowed, is the one whose events are replayed. */
struct replay *replay_new(struct raw_source *source);
void replay_free(struct replay *replay);
DEFINE_FREEP(replay)

/* Makes the records of the source's next event, which has just been read. */
void replay_event(struct replay *replay, const struct raw_event *event);

/* Makes the records of what was not finished when the trace ended. */
void replay_end(struct replay *replay);

/* The next record that was made, which holds until more are; NULL if there is none. */
const struct record *replay_take(struct replay *replay);

const char *replay_string(const struct replay *replay, uint32_t id);

/*
 * What the trace lacks, so far, and what that means for its analysis: words that
 * go on from "the trace".  The caller frees it; NULL if it lacks nothing.
 */
char *replay_missing(const struct replay *replay);

#endif
