/* SPDX-License-Identifier: Apache-2.0 */
/* opt_thread - the thread that --thread, --from and --to select. */
#ifndef SONDE_CLI_OPT_THREAD_H
#define SONDE_CLI_OPT_THREAD_H

#include "load/subject.h"

int opt_thread(const struct model *model, const char *tid, nsec_t from, nsec_t to,
	       struct subject *ret, struct err *err);

#endif
