/* SPDX-License-Identifier: Apache-2.0 */
/* wrap - sentences in the columns of a terminal. */
#ifndef SONDE_REPORT_WRAP_H
#define SONDE_REPORT_WRAP_H

#include "base/out.h"

struct style {
	bool colour;
	size_t columns; /* width of a line */
};

/* Writes words from a column on, wraps them at the end of the line, and ends the last line. */
void put_wrapped(struct out *out, size_t columns, const char *words, size_t column);

/* Writes text in a colour, such as "\033[1m", if the style has colours. */
void put_coloured(struct out *out, const struct style *style, const char *code, const char *s);

#endif
