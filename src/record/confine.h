/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine - seccomp filters for processes that parse untrusted data.
 *
 * There are two allow lists.  The recorder can read files and the memory of other processes, but
 * not modify them, execute programs, use the network or load BPF programs; other system calls fail
 * with EPERM.  The symbol worker, which runs large parsing libraries, can only read files, allocate
 * memory, write its replies and exit; any other system call kills it.
 *
 * Builds with AddressSanitizer install no filters, because the sanitizer needs more system calls.
 */
#ifndef SONDE_RECORD_CONFINE_H
#define SONDE_RECORD_CONFINE_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

/*
 * Irrevocable.  The recorder can send signals to `command` only (0: to none), and messages over the
 * socket `stream` only (-1: none).  With `attach`, it can attach BPF programs that are loaded.
 */
int confine_recorder(pid_t command, int stream, bool attach, struct err *err);

/*
 * Irrevocable.  The process can still open files for reading, as debug information can be in
 * several directories; file permissions apply, and after dropping root few files remain readable.
 */
int confine_parser(void);

/*
 * Irrevocable, and inherited by children.  Denies executing programs, writing to other processes,
 * loading kernel modules and sockets other than AF_UNIX.  Everything else that starting a recorder
 * needs is allowed; the recorder then restricts itself further.
 */
int confine_keeper(struct err *err);

/* Irrevocable.  Denies what confine_keeper() denies, and BPF, perf events and reading processes. */
int confine_reader(struct err *err);

/* Irrevocable.  Denies what confine_reader() denies, except connections by IP. */
int confine_relay(struct err *err);

/* Whether this build installs filters. */
bool confine_works(void);

#endif
