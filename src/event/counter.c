/* SPDX-License-Identifier: Apache-2.0 */
#include "event/counter.h"

static const struct {
	const char *name;
	const char *drop; /* noun phrase for the user; NULL if nothing was dropped */
} counters[COUNTER_COUNT] = {
	[COUNTER_KERNEL_DRAINED] = { "kernel_drained", NULL },
	[COUNTER_KERNEL_LOST] = { "kernel_lost", NULL },
	[COUNTER_KERNEL_UNCOMMITTED] = { "kernel_uncommitted",
					 "kernel rings with an incomplete record" },
	[COUNTER_KERNEL_MISSED] = { "kernel_missed", "kernel events that the kernel skipped" },
	[COUNTER_ADDED] = { "added", NULL },
	[COUNTER_DUPLICATES] = { "duplicates", NULL },
	[COUNTER_OUT_OF_ORDER] = { "out_of_order", NULL },
	[COUNTER_AGENT_RECORDS] = { "agent_records", NULL },
	[COUNTER_WRITTEN] = { "written", NULL },
	[COUNTER_SAMPLES_DUE] = { "samples_due", NULL },
	[COUNTER_SAMPLES_TAKEN] = { "samples_taken", NULL },
	[COUNTER_SAMPLES_MISSING] = { "samples_missing", "samples of --profile that the kernel "
							 "did not take" },
	[COUNTER_EVENTS_DRAINED] = { "events_drained", NULL },
	[COUNTER_EVENTS_LOST] = { "events_lost", NULL },
	[COUNTER_EVENTS_MISSING] = { "events_missing", "span events that disappeared from rings" },
	[COUNTER_EVENTS_UNREAD] = { "events_unread", "span events of threads unknown at the end" },
	[COUNTER_EVENTS_DAMAGED] = { "events_damaged", "malformed span events" },
	[COUNTER_EVENTS_OUT_OF_SCOPE] = { "events_out_of_scope",
					  "span events of threads out of scope" },
	[COUNTER_EVENTS_OUTSIDE_RECORDING] = { "events_outside_recording", NULL },
	[COUNTER_BEGINS] = { "begins", NULL },
	[COUNTER_ENDS] = { "ends", NULL },
	[COUNTER_CONTEXTS] = { "contexts", NULL },
	[COUNTER_CONTEXTS_UNKNOWN] = { "contexts_unknown", "contexts of unknown threads" },
	[COUNTER_SPANS_PAIRED] = { "spans_paired", NULL },
	[COUNTER_SPANS_END_ONLY] = { "spans_end_only", NULL },
	[COUNTER_SPANS_UNFINISHED] = { "spans_unfinished", NULL },
	[COUNTER_BEGINS_REPEATED] = { "begins_repeated", "repeated begins of spans" },
	[COUNTER_BEGINS_DISCARDED] = { "begins_discarded",
				       "begins beyond the limit of open spans" },
	[COUNTER_ENDS_WITHOUT_BEGIN] = { "ends_without_begin", "spans that began before the "
							       "recording, at an unknown time" },
	[COUNTER_SPANS_IN_FUTURE] = { "spans_in_future", "spans with a timestamp in the future" },
	[COUNTER_AGENT_GAPS] = { "agent_gaps", "gaps in which a process wrote no spans" },
	[COUNTER_EVENTS_TOO_OLD] = { "events_too_old",
				     "span events of processes that write too fast" },
	[COUNTER_STREAM_ADDED] = { "stream_added", NULL },
	[COUNTER_STREAM_DROPPED] = { "stream_dropped",
				     "records that the reader of the stream was too slow for" },
	[COUNTER_READ] = { "read", NULL },
	[COUNTER_SPANS_READ] = { "spans_read", NULL },
};

enum { TERMS = 7 };

/* Sums to compare; a list of terms ends with 0. */
static const struct {
	const char *what, *in, *out;
	enum counter before[TERMS], after[TERMS];
	bool read;
} checks[] = {
	{ "span events",
	  "drained",
	  "handled",
	  { COUNTER_EVENTS_DRAINED },
	  { COUNTER_EVENTS_DAMAGED, COUNTER_EVENTS_OUT_OF_SCOPE, COUNTER_EVENTS_OUTSIDE_RECORDING,
	    COUNTER_EVENTS_TOO_OLD, COUNTER_BEGINS, COUNTER_ENDS, COUNTER_CONTEXTS },
	  false },
	{ "spans",
	  "begun",
	  "ended or closed",
	  { COUNTER_BEGINS },
	  { COUNTER_SPANS_PAIRED, COUNTER_SPANS_UNFINISHED, COUNTER_BEGINS_REPEATED,
	    COUNTER_BEGINS_DISCARDED },
	  false },
	{ "spans",
	  "ended",
	  "recorded",
	  { COUNTER_ENDS },
	  { COUNTER_SPANS_PAIRED, COUNTER_SPANS_END_ONLY, COUNTER_ENDS_WITHOUT_BEGIN },
	  false },
	{ "records",
	  "drained or created",
	  "written",
	  { COUNTER_KERNEL_DRAINED, COUNTER_ADDED, COUNTER_AGENT_RECORDS },
	  { COUNTER_WRITTEN, COUNTER_DUPLICATES },
	  false },
	{ "records",
	  "written",
	  "read",
	  { COUNTER_WRITTEN, COUNTER_STREAM_ADDED },
	  { COUNTER_READ, COUNTER_STREAM_DROPPED },
	  true },
	{ "spans",
	  "recorded",
	  "read",
	  { COUNTER_SPANS_PAIRED, COUNTER_SPANS_END_ONLY, COUNTER_SPANS_UNFINISHED },
	  { COUNTER_SPANS_READ, COUNTER_SPANS_IN_FUTURE },
	  true },
};

const char *counter_name(unsigned int counter)
{
	return counter < COUNTER_COUNT ? counters[counter].name : NULL;
}

const char *counter_drop_reason(unsigned int counter)
{
	return counter < COUNTER_COUNT ? counters[counter].drop : NULL;
}

static uint64_t sum(const struct counters *c, const enum counter terms[TERMS])
{
	uint64_t total = 0;

	for (size_t i = 0; i < TERMS && terms[i]; i++)
		total += c->n[terms[i]];
	return total;
}

bool counter_check(const struct counters *c, size_t i, bool read, struct counter_sums *ret)
{
	if (i >= ARRAY_LEN(checks) || (checks[i].read && !read))
		return false;
	*ret = (struct counter_sums){ checks[i].what, checks[i].in, checks[i].out,
				      sum(c, checks[i].before), sum(c, checks[i].after) };
	return true;
}

bool counters_agree(const struct counters *c, bool read)
{
	struct counter_sums sums;

	for (size_t i = 0; counter_check(c, i, read, &sums); i++)
		if (sums.before != sums.after)
			return false;
	return true;
}
