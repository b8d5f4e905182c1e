/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_babeltrace - reads CTF traces through libbabeltrace2.
 *
 * libbabeltrace2 is about ten times slower than the built-in decoder, so it reads only
 * the traces that the latter does not support, and a warning names the reason.
 */
#ifndef SONDE_READ_CTF_BABELTRACE_H
#define SONDE_READ_CTF_BABELTRACE_H

#include "read/raw/raw.h"

/*
 * Opens the traces in a directory and its subdirectories.  On entry, err contains
 * the reason why the built-in decoder cannot read them; it becomes part of the warning.
 */
int ctf_babeltrace_new(const char *path, struct raw_source **ret, struct err *err);

#endif
