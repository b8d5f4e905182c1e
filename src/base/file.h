/* SPDX-License-Identifier: Apache-2.0 */
/* file - a whole file as bytes in memory, mapped (base/mapping.h) and not copied. */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/view.h"

/* Anything but a regular file gets a sentence.  An empty one is an empty view. */
int file_map(const char *path, struct view *ret, struct err *err);
void file_unmap(struct view *view);

#endif
