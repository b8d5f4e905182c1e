/* SPDX-License-Identifier: Apache-2.0 */
#include "report/wrap.h"

#include <string.h>

void put_wrapped(struct out *out, size_t columns, const char *words, size_t column)
{
	size_t at = column;

	while (*words) {
		size_t len = strcspn(words, " ");

		if (at > column && at + 1 + len > columns) {
			out_char(out, '\n');
			out_fill(out, column + 2, ' ');
			at = column + 2;
		} else if (at > column) {
			out_char(out, ' ');
			at++;
		}
		at += out_escaped(out, words, len);
		words += len;
		words += strspn(words, " ");
	}
	out_char(out, '\n');
}

void put_coloured(struct out *out, const struct style *style, const char *code, const char *s)
{
	if (style->colour)
		out_str(out, code);
	out_str(out, s);
	if (style->colour)
		out_str(out, "\033[0m");
}
