/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec - a growable array of any type.
 *
 *	VEC(struct frame) frames = { 0 };
 *	*vec_push(&frames) = (struct frame){ ... };
 *	for (size_t i = 0; i < frames.count; i++)
 *		use(&frames.items[i]);
 *	vec_done(&frames);
 *
 * Pointers to items are valid until the next push.  So the value to push is never read from the
 * same array in the same statement: C lets the compiler read the array's address before it moves.
 */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include <string.h>

#include "base/base.h"

#define VEC(type) \
	struct { \
		type *items; \
		size_t count, room; \
	}

/* Append an uninitialised item and return a pointer to it. */
#define vec_push(v) \
	({ \
		if ((v)->count == (v)->room) { \
			(v)->room = (v)->room ? 2 * (v)->room : 16; \
			(v)->items = must_realloc((v)->items, (v)->room * sizeof((v)->items[0])); \
		} \
		&(v)->items[(v)->count++]; \
	})

/* Give back memory if at most a quarter of the room is used. */
#define vec_shrink(v) \
	do { \
		if ((v)->room > 64 && (v)->count <= (v)->room / 4) { \
			(v)->room = (v)->count < 16 ? 16 : 2 * (v)->count; \
			(v)->items = must_realloc((v)->items, (v)->room * sizeof((v)->items[0])); \
		} \
	} while (0)

/* Drop the first n items. */
#define vec_drop_first(v, n) \
	do { \
		size_t n_ = (n); \
		if (n_) { \
			(v)->count -= n_; \
			memmove((v)->items, (v)->items + n_, (v)->count * sizeof((v)->items[0])); \
			vec_shrink(v); \
		} \
	} while (0)

#define vec_done(v) \
	do { \
		free((v)->items); \
		(v)->items = NULL; \
		(v)->count = (v)->room = 0; \
	} while (0)

#endif
