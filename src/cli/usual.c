/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/usual.h"

#include <unistd.h>

#include "store/baseline_file.h"

int usual_load(const char *path, struct usual *ret, struct err *err)
{
	struct usual usual = { 0 };
	int r = baseline_load(path, &usual.baseline, err);

	if (r < 0)
		return r;
	profiles_build(usual.baseline, sysconf(_SC_NPROCESSORS_ONLN), &usual.profiles);
	*ret = usual;
	return 0;
}

void usual_done(struct usual *usual)
{
	profiles_done(&usual->profiles);
	baseline_free(usual->baseline);
}
