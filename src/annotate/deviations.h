/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deviations - spans that leave their baseline, slow or not.
 *
 * A request that has ended is compared span by span (diagnose/watch.h), a second or two after its
 * end.  One usual span in a hundred is outside of the usual range, so a span is a finding only if
 * its operation leaves its baseline at the moment.
 *
 * Most spans are not slow and pass the relay unchanged, before their end is known here or seconds
 * after it.  So a finding waits for the export of its span, by default up to 5 s: if the span
 * turns out to be slow, its annotation takes the finding (deviations_take).  Otherwise, the finding
 * is due after DEVIATION_DELAY, as a late child of the span.  No span is held for it.
 *
 * A slow span that is exported at its end is annotated before its request is compared.  It is
 * compared on its own (deviations_find): by its subtree or operation, since its trace is
 * incomplete.
 *
 * The cost is bounded: comparing takes at most COMPARE_MAX per batch, and findings have a rate.
 */
#ifndef SONDE_ANNOTATE_DEVIATIONS_H
#define SONDE_ANNOTATE_DEVIATIONS_H

#include "diagnose/watch.h"
#include "live/live.h"
#include "report/export/otlp_put.h"
#include "report/phrase.h"

#define DEVIATION_DELAY (6 * NSEC_PER_SEC)

struct deviations;

struct span_finding {
	uint8_t trace[16], id[8];
	nsec_t end;          /* on the clock of the records */
	struct phrase words; /* "waits for a lock (L) 58.4 ms, usually up to 100 µs" */
	const char *state;   /* static */
	double score, limit;
	enum key_kind compared_by;
};

struct deviations_counters {
	uint64_t compared; /* spans */
	uint64_t skipped;  /* requests that were not compared: too many */
	uint64_t found;    /* spans that leave their baseline */
	uint64_t shed;     /* of these, without an annotation: too many */
};

/* Both are borrowed. */
struct deviations *deviations_new(const struct baseline *baseline, const struct profiles *profiles);
void deviations_free(struct deviations *d);
DEFINE_FREEP(deviations)

/* A request has ended. */
void deviations_add(struct deviations *d, span_id root);
/* Compares the added requests, which are in the view. */
void deviations_end_batch(struct deviations *d, const struct live_view *view);

/* The finding of a span that is not due yet; removes it.  False if there is none. */
bool deviations_take(struct deviations *d, const uint8_t trace[16], const uint8_t id[8],
		     struct span_finding *ret);
/* Compares one span whose records have come; false if it does not leave its baseline. */
bool deviations_find(struct deviations *d, const struct span_set *spans, span_id id,
		     struct span_finding *ret);
bool deviations_is_due(const struct deviations *d, nsec_t now);
/* The next finding that is due at a time; removes it. */
bool deviations_next(struct deviations *d, nsec_t now, struct span_finding *ret);

struct deviations_counters deviations_counters(const struct deviations *d);

/* Writes the attributes `sonde.baseline.*`. */
void span_finding_put(const struct span_finding *finding, struct otlp_put *put);

#endif
