/* SPDX-License-Identifier: Apache-2.0 */
#include "report/contrast.h"
#include "report/json_put.h"

void contrast_json(struct json *j, const struct contrast_view *view)
{
	json_object(j);
	put_u64(j, "count", view->latency.count);
	json_end(j);
}
