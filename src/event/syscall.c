/* SPDX-License-Identifier: Apache-2.0 */
#include "event/syscall.h"

#include <stddef.h>
#include <string.h>

#include "event/syscall_table.h"

#define NAME(nr, name, class) [nr] = #name,
static const char *const names[SYSCALL_TABLE_SIZE] = { SYSCALL_TABLE(NAME) };
#undef NAME

const char *syscall_name(int nr)
{
	return nr >= 0 && nr < SYSCALL_TABLE_SIZE ? names[nr] : NULL;
}

int syscall_number(const char *name)
{
	for (int nr = 0; nr < SYSCALL_TABLE_SIZE; nr++)
		if (names[nr] && strcmp(names[nr], name) == 0)
			return nr;
	return -1;
}
