/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - a borrowed string with a length, not terminated by NUL.
 *
 * Parsers return views into a mapped file instead of copies.
 */
#ifndef SONDE_BASE_VIEW_H
#define SONDE_BASE_VIEW_H

#include <string.h>

#include "base/base.h"

struct view {
	const char *s; /* borrowed; NULL if there is none */
	size_t len;
};

static inline bool view_is(struct view view, const char *s)
{
	return view.s && view.len == strlen(s) && memcmp(view.s, s, view.len) == 0;
}

#endif
