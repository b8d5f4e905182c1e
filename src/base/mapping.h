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
 * has the effect that it had before.  A forked child keeps its mappings and the
 * handler; executing a program resets both.  Any thread may call any of this.
 */
#ifndef SONDE_BASE_MAPPING_H
#define SONDE_BASE_MAPPING_H

#include "base/base.h"

/*
 * Map a file from its begin; NULL and errno if that fails.  mapping_lost_name() reports
 * the name, unless it is NULL.
 */
void *mapping_new(int fd, size_t size, int protection, int flags, const char *name);
void mapping_free(void *start, size_t size);

/* Whether pages of a mapping were missing when they were touched. */
bool mapping_is_lost(const void *start);

/* Number of losses since the process began. */
unsigned int mapping_losses(void);

/* The name of a file that was lost, also if it is unmapped now; NULL if there is none. */
const char *mapping_lost_name(void);

/*
 * Between these two calls, a library maps parts of this file on its own: a page that is
 * missing outside of all mappings above becomes zeros, and counts as a loss of this file.
 */
struct mapping_guard;
struct mapping_guard *mapping_guard_new(const char *name);
void mapping_guard_free(struct mapping_guard *guard);

#endif
