/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis - what differs from a baseline, as text or JSON.
 *
 * A finding has the service, operation and state that differ, by how much, and the cause: what the
 * threads of its spans waited for in that state, summed over the spans that deviate most.
 */
#ifndef SONDE_REPORT_DIAGNOSIS_H
#define SONDE_REPORT_DIAGNOSIS_H

#include "base/json.h"
#include "diagnose/diagnosis.h"
#include "report/culprit.h"
#include "report/phrase.h"
#include "report/wrap.h"

struct diagnosis_view { /* all borrowed */
	const struct diagnosis *diagnosis;
	const struct observation_counts *counts;
	size_t top;             /* findings to show */
	nsec_t length;          /* of the recording */
	uint64_t inputs_digest; /* of the spans of the inputs */
};

void diagnosis_text(struct out *out, const struct style *style, const struct diagnosis_view *view);
void diagnosis_json(struct json *j, const struct diagnosis_view *view);

/* The largest cause of a finding; false if there is none. */
struct finding_cause {
	struct phrase text;
	struct culprit culprit;
	double share; /* of the time in that state */
};
bool finding_cause_find(const struct diagnosis *diagnosis, const struct finding *finding,
			struct finding_cause *ret);

/* How the first example differs: the interval with the largest deviation. */
struct finding_evidence {
	uint32_t interval;          /* or INTERVAL_ALL */
	struct deviation deviation; /* of the state of the finding */
	char expected[80];          /* pattern, "" if there is none */
	char observed[80];          /* states */
};
bool finding_evidence_find(const struct diagnosis *diagnosis, const struct finding *finding,
			   struct finding_evidence *ret);

/* "state", "pattern", "total" or "queueing". */
const char *finding_kind(const struct finding *finding);

#endif
