/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonde.h - spans for C programs that do not use an OpenTelemetry SDK.
 *
 *	#include <sonde.h>                          cc service.c -lsonde-agent
 *
 *	struct sonde_span span;
 *
 *	SONDE_BEGIN(&span, "load order");
 *	sonde_set_int(&span, "order.lines", lines);
 *	...
 *	sonde_end(&span);
 *
 * A span that begins while another is open on the same thread becomes its child, and
 * the thread works for it until it ends.  Spans end in the reverse order of their
 * begins, on the thread that began them; for work that moves to another thread, see
 * sonde_detach() and sonde_attach().
 *
 * `sonde record` records the spans; `sonde export --to=otlp` exports them.  Without a
 * recorder, a begin and an end cost a few nanoseconds.  Each name can be switched off and
 * on at run time, with sonde_set_enabled() or with `sonde spans --disable PATTERN --pid PID`,
 * and from the start with SONDE_SPANS_DISABLED=PATTERN,... in the environment.  A span that is
 * off costs one memory access, and its children become children of the enclosing span.
 *
 * These functions do not fail, wait, print or allocate memory.
 */
#ifndef SONDE_H
#define SONDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_API __attribute__((visibility("default")))

/* A call site that begins spans of one name; defined by SONDE_BEGIN. */
struct sonde_site {
	const char *name;
	void *slot; /* private */
};

enum { SONDE_ATTRIBUTES_SIZE = 256 };

/* An open span.  It can be moved but not copied; its fields are private to the library. */
struct sonde_span {
	struct sonde_site *site; /* NULL if the span is off or has ended */
	uint64_t start;          /* ns; 0 if there was no recorder */
	uint8_t trace[16], id[8], parent[8];
	uint8_t before_trace[16], before_id[8]; /* the thread's previous span */
	uint32_t tid;                           /* of the thread that began the span */
	uint16_t attributes_size;
	uint16_t dropped; /* attributes that did not fit; their number becomes an attribute */
	uint8_t trace_flags, before_flags;
	uint8_t state;
	uint8_t kind;
	uint8_t attributes[SONDE_ATTRIBUTES_SIZE];
};

/* Begin a span.  The name must be a string literal. */
#define SONDE_BEGIN(span, text) \
	do { \
		static struct sonde_site sonde_site_ = { text, 0 }; \
		sonde_begin(&sonde_site_, span); \
	} while (0)

SONDE_API void sonde_begin(struct sonde_site *site, struct sonde_span *ret);
SONDE_API void sonde_end(struct sonde_span *span);

SONDE_API void sonde_set_string(struct sonde_span *span, const char *key, const char *value);
SONDE_API void sonde_set_int(struct sonde_span *span, const char *key, int64_t value);
SONDE_API void sonde_set_double(struct sonde_span *span, const char *key, double value);
SONDE_API void sonde_set_bool(struct sonde_span *span, const char *key, bool value);
SONDE_API void sonde_set_error(struct sonde_span *span);

/*
 * Move a span to another thread: the current thread detaches it, and continues with the span that
 * it worked for before; this or another thread attaches it again.
 */
SONDE_API void sonde_detach(struct sonde_span *span);
SONDE_API void sonde_attach(struct sonde_span *span);

/*
 * Begin a span for a request from another process, as a child of the span in its `traceparent`
 * header.  If the header is NULL or malformed, the span becomes a root.
 */
SONDE_API void sonde_begin_remote(struct sonde_site *site, const char *traceparent,
				  struct sonde_span *ret);

/*
 * Write the `traceparent` header for a request to another process.  Returns text, which is "" if
 * the span is off.
 */
enum { SONDE_TRACEPARENT_SIZE = 56 };
SONDE_API char *sonde_traceparent(const struct sonde_span *span, char text[SONDE_TRACEPARENT_SIZE]);

/* Switch all spans whose name matches a pattern (see fnmatch(3)) on or off. */
SONDE_API void sonde_set_enabled(const char *pattern, bool enabled);

#ifdef __cplusplus
}
#endif
#endif
