/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opt_thread.h"

#include "base/text.h"
#include "cli/opt.h"

int opt_thread(const struct model *model, const char *tid, nsec_t from, nsec_t to,
	       struct subject *ret, struct err *err)
{
	uint64_t number;

	if (parse_count(tid, UINT32_MAX, &number) < 0)
		return err_usage(err, "--thread requires a number, not '%s'", tid);
	return subject_find_thread(model, number, from, to, ret, err);
}
