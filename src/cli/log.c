/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log.h"

#include "base/out.h"

void log_message(const char *fmt, ...)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	va_list ap;

	va_start(ap, fmt);
	_cleanup_(freep) char *text = must_vprintf(fmt, ap);
	va_end(ap);
	out_init(out, stderr);
	out_str(out, "sonde: ");
	for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
		out_escaped(out, line, strlen(line));
		out_char(out, '\n');
	}
	out_flush(out);
}
