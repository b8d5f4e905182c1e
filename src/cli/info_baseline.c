/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info_baseline.h"

#include "report/baseline.h"
#include "store/baseline_file.h"

bool info_is_baseline(const char *path)
{
	return baseline_is_file(path);
}

int info_baseline(const char *path, struct out *out, struct json *j, struct err *err)
{
	_cleanup_(baseline_freep) struct baseline *baseline = NULL;
	struct profiles profiles = { 0 };
	int r = baseline_load(path, &baseline, err);

	if (r < 0)
		return r;
	profiles_build(baseline, sysconf(_SC_NPROCESSORS_ONLN), &profiles);
	if (j)
		baseline_json(j, path, baseline, &profiles);
	else
		baseline_text(out, path, baseline, &profiles);
	profiles_done(&profiles);
	return 0;
}
