/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opt_selection.h"

int opt_selection(const struct selection_opts *opts, struct selection *ret, struct err *err)
{
	*ret = (struct selection){
		.entries = { opts->entries.items, opts->entries.count },
		.services = { opts->services.items, opts->services.count },
		.operations = { opts->operations.items, opts->operations.count },
		.from = opts->from,
		.to = opts->to,
		.above = opts->above,
	};
	return selection_check(ret, err) < 0 ? -EUSAGE : 0;
}
