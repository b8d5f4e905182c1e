/* SPDX-License-Identifier: Apache-2.0 */
#include "report/deviation.h"

#include <math.h>

#include "base/text.h"
#include "report/phrase_step.h"

const char *deviation_words(uint32_t feature)
{
	static const char *const words[FEATURE_COUNT + 1] = {
		[FEATURE_RUNNING] = "running (R)",
		[FEATURE_DISK] = "waits for a disk (D)",
		[FEATURE_NETWORK] = "waits for the network (N)",
		[FEATURE_TIMER] = "waits for a timer (T)",
		[FEATURE_LOCK] = "waits for a lock (L)",
		[FEATURE_PROCESS] = "waits for another process (I)",
		[FEATURE_INPUT] = "waits for user input (U)",
		[FEATURE_UNKNOWN] = "is blocked, cause unknown (?)",
		[FEATURE_READY] = "waits for a CPU (C)",
		[FEATURE_THROTTLED] = "is throttled by a CPU quota (Q)",
		[FEATURE_IRQ] = "in interrupts (X)",
		[FEATURE_TOTAL] = "own time",
		[FEATURE_SKIPPED] = "time outside of the expected pattern",
		[FEATURE_QUEUEING] = "queueing before the request is read",
		[FEATURE_PATTERN] = "expected states are missing",
	};

	return words[feature];
}

const char *deviation_state(uint32_t feature)
{
	return feature == FEATURE_PATTERN ? "pattern" : feature_name(feature);
}

struct phrase deviation_of_operation(const struct baseline *b, const struct watched_state *s)
{
	struct phrase p = { "" };

	phrase_append(&p, "%.80s %.150s: %s", strtab_get(b->strings, s->service),
		      strtab_get(b->strings, s->operation), deviation_words(s->feature));
	if (s->feature != FEATURE_PATTERN)
		phrase_append(&p, " %s, usually %s", format_time(s->observed).s,
			      format_time(s->usual).s);
	phrase_append(&p, "; %s of %s spans", format_count(s->flagged).s, format_count(s->spans).s);
	return p;
}

struct phrase deviation_of_span(const struct deviation *d)
{
	struct phrase p = { "" };

	phrase_append(&p, "%s", deviation_words(d->feature));
	if (d->feature == FEATURE_PATTERN)
		return p;
	phrase_append(&p, " %s, usually %s %s", format_time(d->observed).s,
		      d->score < 0 ? "at least" : "up to",
		      format_time(llround(d->score < 0 ? d->band.low : d->band.high)).s);
	return p;
}
