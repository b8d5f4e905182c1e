/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_names - names of functions while a stream is recorded.
 *
 * A capture gets the names of all functions at its end.  A stream has no end, and resolving can
 * take seconds, during which the rings must be drained.  So a child process resolves the frames
 * of each second and sends the names back through a pipe.  As every epoch describes its frames
 * again, names are cached.  Functions of the kernel are in memory and need no child.
 *
 * The child ends with the recorder, so that it does not keep BPF programs attached.
 */
#ifndef SONDE_RECORD_FUNCTION_NAMES_H
#define SONDE_RECORD_FUNCTION_NAMES_H

#include "base/base.h"
#include "record/symbol/symbol.h"

struct function_names;

/* Called with a function of a frame; `depth` counts inlined functions from the innermost one. */
typedef void function_name_fn(void *arg, uint32_t frame, uint16_t depth,
			      const struct symbol_function *function);

/* Borrows symbols.  `socket` is closed in children; -1: none. */
struct function_names *function_names_new(struct symbols *symbols, int socket, function_name_fn *fn,
					  void *arg);
void function_names_free(struct function_names *n);
DEFINE_FREEP(function_names)

/* Add a frame of a stack: calls fn if its name is known already. */
void function_names_add(struct function_names *n, uint32_t frame,
			const struct symbol_location *location);

/* Call often: calls fn for all names that are known now. */
void function_names_poll(struct function_names *n, nsec_t now);

#endif
