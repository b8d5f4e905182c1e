/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for ctf_babeltrace.c in a build without libbabeltrace2. */
#include <errno.h>

#include "read/ctf/babeltrace.h"

int ctf_babeltrace_new(const char *path, struct raw_source **ret, struct err *err)
{
	struct err why = *err;

	return err_set(err, -ENOTSUP,
		       "%.300s; libbabeltrace2 could read that, but sonde was built without it "
		       "(package libbabeltrace2-dev)",
		       why.text);
}
