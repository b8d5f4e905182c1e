/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_babeltrace - CTF traces through libbabeltrace2, for what our decoder does not cover.
 *
 * Slower by an order, so it only steps in where it has to, and the notice says so.
 */
#ifndef SONDE_READ_CTF_BABELTRACE_H
#define SONDE_READ_CTF_BABELTRACE_H

#include "read/raw/raw.h"

/*
 * A source of the traces in a directory and below.  err has, when it is called,
 * why our own decoder does not read them; that becomes part of the notice.
 */
int ctf_babeltrace_new(const char *path, struct raw_source **ret, struct err *err);

#endif
