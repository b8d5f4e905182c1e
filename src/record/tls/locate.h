/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_location - where a process keeps the thread context that it publishes.
 *
 * OpenTelemetry's standard for it (OTEP 4947) is a thread-local variable with a
 * name, in the executable or in any library.  Where the linker and the loader
 * put that is in the ELF files, and in words of memory that the loader filled
 * in; once known, it is the same for all threads of the process and for all
 * that are forked from it, until it executes another program.
 *
 * Nothing of the process is changed, stopped or waited for.  Files are looked
 * at once, however many processes have them.
 */
#ifndef SONDE_RECORD_TLS_LOCATE_H
#define SONDE_RECORD_TLS_LOCATE_H

#include "base/base.h"
#include "base/err.h"
#include "bpf/wire.h"

#define TLS_SYMBOL "otel_thread_ctx_v1"

struct tls_location {
	struct wire_tls_location wire; /* for programs_set_tls_location() */
	const char *model;             /* in words: how the variable is reached */
	char object[256]; /* the file that has it, as the process calls it; cut if longer */
};

/* What is known of files. */
struct tls_files;

struct tls_files *tls_files_new(void);
void tls_files_free(struct tls_files *files);
DEFINE_FREEP(tls_files)

/*
 * Needs the right to read the memory of the process (PRIVILEGE_PROCESSES).
 * Takes some 100 microseconds, more for files that are new.  On failure err
 * says why, and the result is
 *
 *	-ENOENT		no object of the process has the variable, as things are: a
 *			library may still be loaded
 *	-EAGAIN		one has, but the process is just being started: look again
 *	-ESRCH		there is no such process, or no more
 *	-EPERM, -EACCES	its files or its memory must not be read
 *	-EOPNOTSUPP	it has the variable in a way that cannot be followed, or it is
 *			not a program for x86-64
 */
int tls_locate(struct tls_files *files, uint32_t pid, struct tls_location *ret, struct err *err);

#endif
