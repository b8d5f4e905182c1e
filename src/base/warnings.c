/* SPDX-License-Identifier: Apache-2.0 */
#include "base/warnings.h"

#include <stdarg.h>

void warnings_add(struct warnings *warnings, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*vec_push(&warnings->items) = must_vprintf(fmt, ap);
	va_end(ap);
}

void warnings_done(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->items.count; i++)
		free(warnings->items.items[i]);
	vec_done(&warnings->items);
}
