/* SPDX-License-Identifier: Apache-2.0 */
/* phrase_step - one step of a path in English: what the thread does, or what it waits for. */
#ifndef SONDE_REPORT_PHRASE_STEP_H
#define SONDE_REPORT_PHRASE_STEP_H

#include "report/phrase.h"

/* Text that does not fit is cut off. */
__attribute__((format(printf, 2, 3))) void phrase_append(struct phrase *p, const char *fmt, ...);

struct phrase phrase_step(const struct model *model, const struct step *step,
			  const struct cause *cause);

/* "waits for a lock held by contacts (4127)"; shared: several threads held it. */
void phrase_append_lock(struct phrase *p, const struct model *model, const struct step *step,
			const struct cause *cause, thread_id holder, bool shared);

/* "()" after a function, or nothing: names of C++ functions already have their parameters. */
const char *phrase_call_suffix(const char *function);

#endif
