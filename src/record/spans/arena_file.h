/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena_file - recognise and map the memory file of an agent's arena.
 *
 * The descriptor comes from a process that may be hostile.  An arena is a memory
 * file (memfd) of the right size, sealed against resizing, with the arena's magic
 * number.  The checks ask the kernel only, never a file system that a process
 * implements: such a file system could block the recorder.
 */
#ifndef SONDE_RECORD_SPANS_ARENA_FILE_H
#define SONDE_RECORD_SPANS_ARENA_FILE_H

#include "base/base.h"
#include "event/span_wire.h"

/* The device number of all memory files; 0 if it is unknown. */
uint64_t arena_file_device(void);

/* The inode of an arena; -EBADMSG if it cannot be an arena.  Accepts an O_PATH descriptor. */
int arena_file_identify(int fd, uint64_t device, uint64_t *ret_inode);

/*
 * A new open file description of the arena: a lock on a shared description would be
 * shared as well.  Checks the size after the seals, because only then it is final.
 */
int arena_file_open(int fd, uint64_t device);

/* Map a descriptor of arena_file_open(); -EBADMSG if it is not an arena. */
int arena_file_map_open(int own, struct span_arena **ret);

/* Open and map an arena without locking it, for example to read and switch its span names. */
int arena_file_map(int fd, uint64_t device, struct span_arena **ret);
void arena_file_unmap(struct span_arena *arena);

#endif
