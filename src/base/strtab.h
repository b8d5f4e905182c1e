/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab - string interning: each distinct string is stored once and has an id.
 *
 * Two strings are equal exactly if their ids are equal, so the rest of the
 * program compares ids.  Id 0 is the empty string; further ids count up from 1.
 * A table that lives for days can drop strings that are no longer used.
 */
#ifndef SONDE_BASE_STRTAB_H
#define SONDE_BASE_STRTAB_H

#include "base/arena.h"

typedef struct {
	uint32_t i;
} str_id;

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *tab);
DEFINE_FREEP(strtab)

str_id strtab_add(struct strtab *tab, const char *s);
/* At most len bytes of s, up to the first NUL. */
str_id strtab_add_n(struct strtab *tab, const char *s, size_t len);

/* The id of a string that was added before; otherwise 0. */
str_id strtab_find(const struct strtab *tab, const char *s);

/*
 * Removes all strings except those with used[id], and gives back memory.  The ids of the others
 * stay; those of removed strings are given to new ones.  Texts move.  Linear in the table.
 */
void strtab_sweep(struct strtab *tab, const bool *used);

size_t strtab_memory(const struct strtab *tab); /* bytes */

/* The string of an id; "" for an unknown id. */
const char *strtab_get(const struct strtab *tab, str_id id);
uint32_t strtab_count(const struct strtab *tab); /* ids are below */

#endif
