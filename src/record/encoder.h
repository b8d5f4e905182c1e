/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder - encode the records of the kernel programs as records of a capture.
 *
 * Most records are the same in both.  Records with text or addresses get shorter: names
 * go into the string table of the capture, stacks and frames into tables that store each
 * of them once.  The encoder also adds what the kernel programs cannot read: command
 * lines, cgroup paths, device names and function names.
 */
#ifndef SONDE_RECORD_ENCODER_H
#define SONDE_RECORD_ENCODER_H

#include "base/base.h"
#include "base/err.h"
#include "record/sink.h"
#include "event/counter.h"
#include "record/sort.h"
#include "record/symbol/symbol.h"

struct encoder;

/* Borrows its parameters.  Without `arguments`, a command line is cut to the program's name. */
struct encoder *encoder_new(struct sorter *sorter, struct sink *sink, struct symbols *symbols,
			    bool arguments, struct counters *counters);
void encoder_free(struct encoder *t);
DEFINE_FREEP(encoder)

/*
 * Begin an epoch at `now`: stacks and frames are numbered on and described again.  When its EPOCH
 * record leaves the sorter, the living threads are described again, and fn describes the rest.
 */
typedef int encoder_epoch_fn(void *arg, nsec_t now, struct err *err);
void encoder_on_epoch(struct encoder *e, encoder_epoch_fn *fn, void *arg);
void encoder_begin_epoch(struct encoder *e, nsec_t now);

/* Add a record of a CPU's ring to the sorter; a callback of rings_drain(). */
void encoder_add(void *encoder, size_t stream, const struct record *record);

/* Write a record that left the sorter; a callback of sorter_flush(). */
int encoder_write(void *encoder, const struct record *record, struct err *err);

/* Call in each round: a stream gets the names of functions while it is recorded. */
void encoder_poll(struct encoder *e, nsec_t now);

/* After recording: write the names of all functions in stacks. */
int encoder_write_symbols(struct encoder *t, nsec_t now, struct err *err);

/* Write the counters, after everything else. */
int encoder_write_counters(struct encoder *t, nsec_t now, struct err *err);

#endif
