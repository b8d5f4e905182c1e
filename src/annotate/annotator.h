/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotator - annotations of slow spans, made when their records have come.
 *
 *	annotator_add(annotator, live, ticket, deadline, request, &err);	spans of OTLP, all
 *of them slow annotator_run(annotator, live);				after each live_poll()
 *
 * A slow span is known to the collector's side a moment after its end, but records come later: the
 * recorder sorts them, and an interval is recorded when it ends.  So a slow span waits until the
 * records of its thread reach its end, or at most GRACE longer than the records of all threads.
 *
 * Spans of a service that was not started by `sonde run` have no thread.  They are joined with the
 * rebuilt requests that they serve (analyse/span_join.h), a second after these have ended.
 *
 * With a baseline, spans that leave it are annotated, too, whether they are slow or not
 * (deviations.h).
 *
 * The cost is bounded: one run takes a limited time, and if more slow spans wait than fit, the
 * newest get no annotation, and are counted.
 */
#ifndef SONDE_ANNOTATE_ANNOTATOR_H
#define SONDE_ANNOTATE_ANNOTATOR_H

#include "annotate/annotation.h"
#include "annotate/deviations.h"
#include "annotate/governor.h"
#include "annotate/inferred_spans.h"
#include "annotate/slow_roots.h"
#include "annotate/syscall_switch.h"
#include "live/live.h"

struct annotator;

/* A slow span, from its arrival until its annotation. */
struct slow_span {
	uint8_t trace[16], id[8];
	uint64_t start, end;     /* CLOCK_REALTIME, ns */
	uint64_t ticket;         /* of the request that contained it */
	uint32_t index;          /* among the spans of that request */
	nsec_t limit;            /* its threshold; 0 without one */
	nsec_t deadline;         /* CLOCK_MONOTONIC: afterwards, the span is forwarded without it */
	struct otlp_writer late; /* a request that has begun the resource of the span and a scope */
	nsec_t complete_from;    /* no use to look for its records before; 0: unknown */
	bool needs_join;         /* no thread of it is known */
	bool is_deviation;       /* it is annotated because it leaves its baseline */
};

/* The annotation of a slow span; NULL if there is none, and then why. */
typedef void annotation_fn(void *arg, struct slow_span *span, struct annotation *annotation,
			   const char *why);

struct annotator_options {
	size_t spans_max;                /* child spans per span; 0: ANNOTATION_SPANS */
	size_t trace_max;                /* child spans per trace; 0: default */
	size_t pending_max;              /* slow spans that wait for their records; 0: default */
	const struct governor *governor; /* borrowed; NULL: all detail is recorded */
	annotation_fn *fn;
	/* spans on their own: critical paths (slow_roots.h), and requests; NULL: none */
	void (*add)(void *arg, struct view request, size_t spans);
	void *arg;
	bool requests;                            /* export them (inferred_spans.h) */
	uint16_t skip_ports[INFERRED_SKIP_PORTS]; /* of the collector */
	struct syscall_switch *syscalls;          /* borrowed: gets slow spans; or NULL */
	const struct baseline *baseline;          /* to compare spans with; borrowed; or NULL */
	const struct profiles *profiles;          /* of the baseline; borrowed */
};

struct annotator_counters {
	uint64_t slow; /* spans added */
	uint64_t annotated;
	uint64_t joined;     /* annotated by the request that they serve */
	uint64_t unrecorded; /* no thread of the span was recorded */
	uint64_t too_many;   /* no room, or no budget */
	struct slow_roots_counters roots;
	struct inferred_spans_counters requests;
	struct deviations_counters deviations;
};

struct annotator *annotator_new(const struct annotator_options *options);
void annotator_free(struct annotator *a);
DEFINE_FREEP(annotator)

/* Borrows `a`. */
struct consumer annotator_consumer(struct annotator *a);

/*
 * Adds the spans of an export request, and asks for an annotation of each.  `limits`: an array of
 * nsec_t with the threshold of each span, not aligned; it can be shorter.
 */
int annotator_add(struct annotator *a, struct live *live, uint64_t ticket, nsec_t deadline,
		  struct view request, struct view limits, struct err *err);

/* Makes the annotations that are due.  Returns the number of spans that still wait. */
size_t annotator_run(struct annotator *a, struct live *live);

struct annotator_counters annotator_counters(const struct annotator *a);

/*
 * Whether all spans are of use, not only slow ones: services that were not started by `sonde run`
 * had slow spans in the last seconds, or requests are exported.
 */
bool annotator_wants_spans(const struct annotator *a);

#endif
