/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - the C interface of libsonde-agent.so, for the bindings of languages.
 *
 * A binding says two kinds of things.  *Context*: which span the calling thread
 * works for from now on; it is published as OpenTelemetry's OTEP 4947 has it
 * and costs a few stores.  *Spans*: that one began or ended; that is an event,
 * and nothing at all while nobody records.
 *
 * None of this locks, waits, allocates, prints or fails.  A thread's first
 * call while somebody records may make system calls; so may a process's first
 * of all.  All may be called from any thread, also of a forked child; from
 * a signal handler too, where an event may be dropped (and is counted).
 * errno is left as it was.
 */
#ifndef SONDE_AGENT_AGENT_H
#define SONDE_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_AGENT_API __attribute__((visibility("default")))

/* The calling thread works for this span from now on. */
SONDE_AGENT_API void sonde_agent_set_context(const uint8_t trace[16], const uint8_t span[8],
					     uint8_t trace_flags);

/* It works for no span that we know of. */
SONDE_AGENT_API void sonde_agent_clear_context(void);

/* It may work for a span, but which cannot be followed: better nothing than the wrong one. */
SONDE_AGENT_API void sonde_agent_set_unknown_context(void);

/* Whether somebody records: to spare the work of putting a span together. */
SONDE_AGENT_API bool sonde_agent_is_recording(void);

struct sonde_agent_span {
	uint8_t trace[16], span[8];
	uint8_t parent[8]; /* all zero for a root */
	const char *name;
	size_t name_size;
	uint64_t start;         /* CLOCK_MONOTONIC in ns; 0: it begins now, or it is not known */
	const void *attributes; /* end only: struct span_attribute of event/span_wire.h, or NULL */
	size_t attributes_size;
	uint32_t tid;  /* end only: the thread that began it; 0 if not known */
	uint8_t kind;  /* enum span_kind */
	bool is_error; /* end only */
};

SONDE_AGENT_API void sonde_agent_begin(const struct sonde_agent_span *span);
SONDE_AGENT_API void sonde_agent_end(const struct sonde_agent_span *span);

/*
 * What the process calls itself: OTLP's resource attribute service.name.  Until
 * it is called, the environment decides as the SDKs have it (OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES).  Publishes the process context of OTEP 4719.
 */
SONDE_AGENT_API void sonde_agent_set_service(const char *name);

#ifdef __cplusplus
}
#endif
#endif
