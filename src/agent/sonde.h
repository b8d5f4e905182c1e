/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonde.h - spans for C programs that use no OpenTelemetry SDK.
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
 * A span that is begun while another is open on the same thread is its child,
 * and the thread works for it until it ends.  Spans end in the reverse order of
 * their begins, on the thread that began them; for work that moves, see
 * sonde_detach() and sonde_attach().
 *
 * `sonde record` sees them, `sonde export --to=otlp` gives them to others.
 * While nobody records, begin and end cost a few nanoseconds.  Each name can be
 * switched off and on while the program runs, by sonde_set_enabled(), by
 * `sonde spans --off PATTERN --pid PID`, or from the start by SONDE_SPANS_OFF=PATTERN,... in
 * the environment; a span that is off costs one look at memory, and its
 * children become children of the one around it.
 *
 * Nothing here fails, waits, prints or allocates memory.
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

/* A place in the program where spans of one name begin; made by SONDE_BEGIN. */
struct sonde_site {
	const char *name;
	void *slot; /* the library's */
};

enum { SONDE_ATTRIBUTES_SIZE = 256 };

/* An open span. It may be moved, but not copied; what is in it is the library's affair. */
struct sonde_span {
	struct sonde_site *site; /* NULL if it is off, or has ended */
	uint64_t start;          /* 0 if nobody recorded */
	uint8_t trace[16], id[8], parent[8];
	uint8_t before_trace[16], before_id[8]; /* what the thread worked for before it */
	uint32_t tid;                           /* of the thread that began it */
	uint16_t attributes_size;
	uint16_t dropped; /* attributes that had no room; the span says how many */
	uint8_t trace_flags, before_flags;
	uint8_t state;
	uint8_t kind;
	uint8_t attributes[SONDE_ATTRIBUTES_SIZE];
};

/* Begin a span, whose name is a string literal. */
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
 * Work for a span goes on elsewhere: the thread leaves it (and is then where it was
 * before it began or entered it), this or another thread enters it.
 */
SONDE_API void sonde_detach(struct sonde_span *span);
SONDE_API void sonde_attach(struct sonde_span *span);

/*
 * A request from another process: begin as a child of what a `traceparent`
 * header says; NULL or a broken one is a root.  And such a header for a request to
 * another; returns text, or "" if the span is off.
 */
SONDE_API void sonde_begin_remote(struct sonde_site *site, const char *traceparent,
				  struct sonde_span *ret);
enum { SONDE_TRACEPARENT_SIZE = 56 };
SONDE_API char *sonde_traceparent(const struct sonde_span *span, char text[SONDE_TRACEPARENT_SIZE]);

/* Switch all names that match a pattern (of fnmatch) off or on, from now on. */
SONDE_API void sonde_set_enabled(const char *pattern, bool on);

#ifdef __cplusplus
}
#endif
#endif
