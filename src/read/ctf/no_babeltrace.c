/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces babeltrace.c in builds without libbabeltrace2. */
#include <errno.h>

#include "read/ctf/babeltrace.h"

int ctf_babeltrace_new(const char *path, struct raw_source **ret, struct err *err)
{
	struct err why = *err;

	return err_set(err, -ENOTSUP,
		       "%.300s; rebuild sonde with libbabeltrace2-dev to read such traces",
		       why.text);
}
