/* SPDX-License-Identifier: Apache-2.0 */
/* base - definitions that every file uses: time units, cleanup, allocation that cannot fail. */
#ifndef SONDE_BASE_BASE_H
#define SONDE_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef uint64_t nsec_t; /* a timestamp or a duration, in nanoseconds */

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull

/* Run fn(&var) when var goes out of scope. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Define thing_freep(), for use with _cleanup_, from thing_free(). */
#define DEFINE_FREEP(type) \
	static inline void type##_freep(struct type **p) \
	{ \
		type##_free(*p); \
	}

/* Move the pointer out of a variable and set it to NULL, so that its cleanup does nothing. */
#define TAKE(ptr) \
	({ \
		__typeof__(ptr) taken_ = (ptr); \
		(ptr) = NULL; \
		taken_; \
	})

/* Like TAKE(), for a file descriptor. */
#define TAKE_FD(fd) \
	({ \
		int taken_ = (fd); \
		(fd) = -1; \
		taken_; \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Allocation that aborts the program on failure, so callers do not check for NULL. */
void *must_alloc(size_t size); /* zeroed */
void *must_realloc(void *p, size_t size);
char *must_strdup(const char *s);
__attribute__((format(printf, 1, 2))) char *must_printf(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) char *must_vprintf(const char *fmt, va_list ap);

#endif
