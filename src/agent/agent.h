/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - the C interface of libsonde-agent.so for language bindings.
 *
 * A binding reports two things.  *Context*: the span that the calling thread works for.
 * The agent publishes it according to OpenTelemetry's OTEP 4947, at the cost of a few
 * stores.  *Spans*: their begin and end, which become events while a recorder is
 * attached, and cost next to nothing otherwise.
 *
 * These functions do not lock, wait, allocate memory, print or fail.  The first call in
 * a process, and the first call of each thread while a recorder is attached, can make
 * system calls.  All functions can be called from any thread, in forked children, and
 * in signal handlers, where an event can be dropped (and is counted).  They preserve
 * errno.
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

/* From now on, the calling thread works for this span. */
SONDE_AGENT_API void sonde_agent_set_context(const uint8_t trace[16], const uint8_t span[8],
					     uint8_t trace_flags);

/* From now on, the calling thread works for no span. */
SONDE_AGENT_API void sonde_agent_clear_context(void);

/* The span of the calling thread is unknown: better no attribution than a wrong one. */
SONDE_AGENT_API void sonde_agent_set_unknown_context(void);

/* Whether a recorder is attached; if not, a binding need not prepare spans. */
SONDE_AGENT_API bool sonde_agent_is_recording(void);

struct sonde_agent_span {
	uint8_t trace[16], span[8];
	uint8_t parent[8]; /* all zero for a root */
	const char *name;
	size_t name_size;
	uint64_t start;         /* ns on CLOCK_MONOTONIC; 0: now (begin) or unknown (end) */
	const void *attributes; /* end only: packed struct span_attribute (event/span_wire.h), or
				   NULL */
	size_t attributes_size;
	uint32_t tid;  /* end only: the thread that began the span; 0 if unknown */
	uint8_t kind;  /* enum span_kind */
	bool is_error; /* end only */
};

SONDE_AGENT_API void sonde_agent_begin(const struct sonde_agent_span *span);
SONDE_AGENT_API void sonde_agent_end(const struct sonde_agent_span *span);

/*
 * Set the service name of the process, OTLP's resource attribute service.name.  Without this call
 * the environment decides, as in the SDKs (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES).
 * Publishes the process context of OTEP 4719.
 */
SONDE_AGENT_API void sonde_agent_set_service(const char *name);

#ifdef __cplusplus
}
#endif
#endif
