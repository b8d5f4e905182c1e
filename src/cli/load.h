/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load - inputs into a model, and what to look at in it, as several commands
 * have it.
 */
#ifndef SONDE_CLI_LOAD_H
#define SONDE_CLI_LOAD_H

#include "analyse/requests/requests.h"
#include "base/err.h"
#include "model/model.h"
#include "read/merge.h"

/*
 * Read all inputs, in this format if not NULL.  If one is damaged, what comes before is in the
 * model all the same; the result then is -EBADMSG with the sentence, and *ret is set.
 */
int load_model(char **inputs, const char *format, struct model **ret, struct err *err);

/* Likewise, for who also asks of clocks and hosts; the caller frees both. */
int load_merged(char **inputs, const char *format, struct model **ret, struct merge **ret_merge,
		struct err *err);

/* Warns on stderr if records were lost, whatever the command and its format. */
void load_warn_lost(const struct model *model);

/* The name of a machine by its number, for reports, which know of no merge. */
const char *load_host_name(const void *merge, uint16_t host);

/*
 * The requests that can be rebuilt, as spans: if wanted, or if the inputs have no spans.  What they
 * were rebuilt from is put into *ret, which is all zero and the caller's.
 */
void load_requests(struct model *model, bool wanted, struct requests *ret);

/* A part of a thread's life. */
struct life {
	thread_id thread;
	nsec_t from, to;
};

/*
 * What was recorded of the thread with this number between two times, which
 * count from the start of the capture: 0 for its begin, and for its end.
 */
int load_find_thread(const struct model *model, const char *tid, nsec_t from, nsec_t to,
		     struct life *ret, struct err *err);

/*
 * Spans whose id, or trace, has or begins with these hex digits, leading zeros not counted: the
 * first; or the longest root.  If there are others, that is said.
 */
int load_find_span(const struct model *model, const char *hex, span_id *ret, struct err *err);
int load_find_trace(const struct model *model, const char *hex, span_id *ret, struct err *err);

#endif
