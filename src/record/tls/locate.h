/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate - find the thread context that a process publishes.
 *
 * OpenTelemetry's standard (OTEP 4947) is a thread-local variable with a fixed name, in
 * the executable or in any library.  Its location follows from the ELF files and from
 * words of memory that the loader filled in.  It is the same for all threads of the
 * process and for its forked children, until the next execve().
 *
 * Locating it does not change, stop or delay the process.  Each file is read once, no
 * matter how many processes map it.
 */
#ifndef SONDE_RECORD_TLS_LOCATE_H
#define SONDE_RECORD_TLS_LOCATE_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"

#define TLS_SYMBOL "otel_thread_ctx_v1"

struct tls_location {
	struct wire_tls_location wire; /* for programs_set_tls_location() */
	const char *model;             /* TLS access model, for the user */
	char object[256];              /* path of the file that defines it, cut if longer */
};

/* A cache of the files read so far. */
struct tls_files;

struct tls_files *tls_files_new(void);
void tls_files_free(struct tls_files *files);
DEFINE_FREEP(tls_files)

/*
 * Needs permission to read the memory of the process (PRIVILEGE_PROCESSES).  Takes about
 * 100 microseconds, more for new files.  On failure, err contains the reason, and the result is
 *
 *	-ENOENT		no object of the process defines the variable; a library that does may
 *			be loaded later
 *	-EAGAIN		the process is still starting: try again
 *	-ESRCH		the process does not exist
 *	-EPERM, -EACCES	no permission to read its files or memory
 *	-EOPNOTSUPP	the variable is accessed in an unsupported way, or the process is not
 *			an x86-64 program
 */
int tls_locate(struct tls_files *files, uint32_t pid, struct tls_location *ret, struct err *err);

#endif
