/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_view.h"

void top_view_free(struct top_view *view)
{
	if (!view)
		return;
	arena_free(view->arena);
	free(view);
}
