/* SPDX-License-Identifier: Apache-2.0 */
/*
 * char_width - columns that a character takes on a terminal: 0, 1 or 2.
 *
 * wcwidth() depends on the locales that are installed, which on a minimal host are none.  This
 * table has the scripts in common use; a rare character can be off by a column, so a caller that
 * depends on the column moves the cursor there.
 */
#ifndef SONDE_BASE_CHAR_WIDTH_H
#define SONDE_BASE_CHAR_WIDTH_H

#include "base/base.h"

unsigned int char_width(uint32_t code);

#endif
