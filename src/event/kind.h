/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind - what records and the numbers in them are called.
 *
 * A capture has kinds of its own, which `info` counts; a dump speaks of what
 * they mean: turns on a CPU and waits are both intervals, and the tables of
 * frames, symbols and tracepoints are not told apart from what they describe.
 */
#ifndef SONDE_EVENT_KIND_H
#define SONDE_EVENT_KIND_H

#include "base/base.h"
#include "event/event.h"

const char *kind_name(unsigned kind);      /* run, wait, ...; NULL if unknown */
const char *kind_dump_name(unsigned kind); /* interval, task, ...; NULL if it is not dumped */
bool kind_has_cpu(unsigned kind);          /* whether a record's cpu means something */
bool kind_has_thread(unsigned kind, uint32_t tid); /* and whether its tid does */

/* The kinds that a dump calls so, as bits 1 << kind; 0 if there are none. */
uint32_t kind_parse(const char *dump_name);

/* "interval, task, exit, ...". The caller frees it. */
char *kind_list(void);

/* NULL where there is no name. */
const char *object_kind_name(unsigned kind);
const char *wake_context_name(unsigned context);
const char *softirq_name(unsigned vector);
const char *task_event_name(unsigned event);
const char *tcp_state_name(unsigned state);
const char *family_name(unsigned family);
const char *protocol_name(unsigned protocol);
const char *span_kind_name(unsigned kind); /* as OpenTelemetry calls it, in small letters */
const char *attribute_type_name(unsigned type);

/* All letters and what each stands for. */
extern const char state_letters[];
const char *state_words(char letter);

#endif
