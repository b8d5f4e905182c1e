/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject - what to explain: a span, or part of a thread's life.
 *
 * Subjects are found by what a user typed, or are the slowest requests (load/slowest.h).  Each can
 * be explained as a critical path (analyse/path.h) or as an account (analyse/account.h).
 */
#ifndef SONDE_LOAD_SUBJECT_H
#define SONDE_LOAD_SUBJECT_H

#include "analyse/account.h"
#include "analyse/path.h"
#include "load/load.h"

struct subject {
	span_id span;     /* none: the subject is a thread */
	thread_id thread; /* of a subject without a span */
	nsec_t from, to;
	uint32_t entry; /* number of its entry, counted from 1; 0 if it was not chosen by entry */
};

typedef VEC(struct subject) subjects;

/* The latency of a span: from the arrival of its request, if known, to its end. */
struct subject subject_of_span(const struct span_set *spans, span_id span);

/*
 * The last recorded thread with this tid, between two times counted from the start of the capture;
 * 0 stands for the start of the thread and for its end.
 */
int subject_find_thread(const struct model *model, uint32_t tid, nsec_t from, nsec_t to,
			struct subject *ret, struct err *err);

/*
 * A span by its id, or the longest root of a trace by the trace's id.  `hex` can omit leading
 * zeros, or be the first digits of the id.  Adds a warning if several spans or traces match.
 */
int subject_find_span(struct loaded *loaded, const char *hex, struct subject *ret, struct err *err);
int subject_find_trace(struct loaded *loaded, const char *hex, struct subject *ret,
		       struct err *err);

void subject_path(const struct loaded *loaded, const struct subject *subject, struct path *ret);
void subject_account(const struct loaded *loaded, const struct subject *subject,
		     struct account *ret);

#endif
