/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *or_die(void *p)
{
	if (!p) {
		fputs("sonde: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *must_alloc(size_t size)
{
	return or_die(calloc(1, size));
}

void *must_realloc(void *p, size_t size)
{
	return or_die(realloc(p, size));
}

char *must_strdup(const char *s)
{
	return or_die(strdup(s));
}

char *must_printf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return or_die(n < 0 ? NULL : s);
}
