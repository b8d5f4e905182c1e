/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

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

char *must_vprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	return or_die(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *must_printf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *s = must_vprintf(fmt, ap);
	va_end(ap);
	return s;
}
