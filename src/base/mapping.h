/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping - map a file that another process can truncate at any time.
 *
 * Touching a page that the file no longer has raises SIGBUS, which ends the
 * process.  A signal handler replaces the missing pages by zeros instead and
 * marks the mapping as lost; the reader finishes its current step on zeros,
 * which it has to survive as any damaged input, and then checks for the loss.
 * systemd's journal does the same.
 *
 * SIGBUS at an address outside of all mappings, or sent by another process,
 * keeps its previous action.  A forked child inherits mappings and handler;
 * execve() resets both.  All functions are thread-safe.
 */
#ifndef SONDE_BASE_MAPPING_H
#define SONDE_BASE_MAPPING_H

#include "base/base.h"

/*
 * Map a file from offset 0; returns NULL and sets errno on failure.  After a loss,
 * mapping_lost_name() returns `name`, unless it is NULL.
 */
void *mapping_new(int fd, size_t size, int protection, int flags, const char *name);
void mapping_free(void *start, size_t size);

/* Whether an access to the mapping found a page missing. */
bool mapping_is_lost(const void *start);

/* Number of losses since the process started. */
unsigned int mapping_losses(void);

/* The name of a file that was truncated while mapped; NULL if there is none. */
const char *mapping_lost_name(void);

/*
 * Between these two calls a library maps parts of the named file itself: a missing page
 * outside of all other mappings is replaced by zeros and counts as a loss of this file.
 */
struct mapping_guard;
struct mapping_guard *mapping_guard_new(const char *name);
void mapping_guard_free(struct mapping_guard *guard);

#endif
