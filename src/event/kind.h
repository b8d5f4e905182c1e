/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind - names of records and of the enumerations in them.
 *
 * `info` counts records by their kind in the capture.  A dump uses broader names: RUN and
 * WAIT are both intervals, and frames, symbols and probe types are part of the records that
 * refer to them.
 */
#ifndef SONDE_EVENT_KIND_H
#define SONDE_EVENT_KIND_H

#include "base/base.h"
#include "event/event.h"

const char *kind_name(unsigned kind);      /* run, wait, ...; NULL if unknown */
const char *kind_dump_name(unsigned kind); /* interval, task, ...; NULL if it is not dumped */
bool kind_has_cpu(unsigned kind);          /* whether the cpu of a record is meaningful */
bool kind_has_thread(unsigned kind, uint32_t tid); /* whether the tid is */

/* The kinds with this name in a dump, as bits 1 << kind; 0 if there are none. */
uint32_t kind_parse(const char *dump_name);

/* "interval, task, exit, ...". The caller frees it. */
char *kind_list(void);

/* NULL if there is no name. */
const char *object_kind_name(unsigned kind);
const char *wake_context_name(unsigned context);
const char *softirq_name(unsigned vector);
const char *held_reason_name(unsigned reason);
const char *task_event_name(unsigned event);
const char *tcp_state_name(unsigned state);
const char *family_name(unsigned family);
const char *protocol_name(unsigned protocol);
const char *span_kind_name(unsigned kind); /* as in OpenTelemetry, in lower case */
const char *attribute_type_name(unsigned type);

/* All state letters, and the meaning of one. */
extern const char state_letters[];
const char *state_words(char letter);

#endif
