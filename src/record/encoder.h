/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcribe - from the records of the kernel programs to those of a capture.
 *
 * Most are the same.  Those that carry text or addresses are shortened: names
 * go into the capture's string table, stacks and frames into tables of their
 * own, each told once.  And what the kernel side cannot know is added: command
 * lines, names of devices.
 */
#ifndef SONDE_RECORD_ENCODER_H
#define SONDE_RECORD_ENCODER_H

#include "base/base.h"
#include "base/err.h"
#include "event/capture.h"
#include "event/counter.h"
#include "record/sort.h"
#include "record/symbol/symbol.h"

struct encoder;

/* All are borrowed.  Without arguments, of a command line only the program is stored. */
struct encoder *encoder_new(struct sorter *sorter, struct capture_writer *writer,
			    struct symbols *symbols, bool arguments, struct counters *counters);
void encoder_free(struct encoder *t);
DEFINE_FREEP(encoder)

/* A record comes from the ring of a CPU: put it into the sorter. For rings_drain(). */
void encoder_add(void *encoder, size_t stream, const struct record *record);

/* Its turn has come: write what it says. For sorter_flush(). */
int encoder_write(void *encoder, const struct record *record, struct err *err);

/* After recording: write the names of all functions seen in stacks. */
int encoder_write_symbols(struct encoder *t, nsec_t now, struct err *err);

/* As the very last: write the counters. */
int encoder_write_counters(struct encoder *t, nsec_t now, struct err *err);

#endif
