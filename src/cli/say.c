/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/say.h"

#include <stdarg.h>

#include "base/out.h"

void say(const char *fmt, ...)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	_cleanup_(freep) char *words = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&words, fmt, ap) < 0)
		abort();
	va_end(ap);
	out_init(out, stderr);
	out_str(out, "sonde: ");
	for (char *line, *rest = words; (line = strsep(&rest, "\n"));) {
		out_escaped(out, line, strlen(line));
		out_char(out, '\n');
	}
	out_flush(out);
}
