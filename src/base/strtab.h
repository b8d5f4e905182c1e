/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab - each distinct string once, named by a small number.
 *
 * Two strings are equal exactly when their ids are, so the rest of the program
 * compares ids.  Id 0 is always the empty string; ids count up from there.
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
/* At most len bytes of s, which ends before that if it has a NUL. */
str_id strtab_add_n(struct strtab *tab, const char *s, size_t len);

/* Its id if it was added before; else 0. */
str_id strtab_find(const struct strtab *tab, const char *s);

/* The string of an id; "" for an id that was never given out. */
const char *strtab_get(const struct strtab *tab, str_id id);
uint32_t strtab_count(const struct strtab *tab);

#endif
