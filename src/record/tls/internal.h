/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_parts - what the parts of tls_location.h share among themselves.
 *
 *	tls_elf		what a file says: is the variable there, and what leads to it
 *	tls_slot	what the loader wrote into a live process: where it is then
 *	tls_location	puts these together over all files of a process
 */
#ifndef SONDE_RECORD_TLS_INTERNAL_H
#define SONDE_RECORD_TLS_INTERNAL_H

#include "base/map.h"
#include "record/tls/locate.h"

/* Words that the loader fills in when it has put an object's thread-local block somewhere. */
enum tls_slot_kind {
	TLS_SLOT_OFFSET,     /* R_X86_64_TPOFF64: from the FS base (initial exec) */
	TLS_SLOT_DESCRIPTOR, /* R_X86_64_TLSDESC: a function and its argument */
	TLS_SLOT_MODULE,     /* R_X86_64_DTPMOD64: a module, then an offset (general dynamic) */
	TLS_SLOT_KINDS,
};

struct tls_slot {
	uint64_t address; /* as the file counts them */
	int64_t addend;
	bool used;
	bool named; /* it is for our variable; else for this object's block as a whole */
};

enum tls_loader { TLS_LOADER_NONE, TLS_LOADER_GLIBC, TLS_LOADER_MUSL, TLS_LOADER_OTHER };

/* What is of interest in one file. */
struct tls_object {
	bool foreign;           /* a program or library, but not for x86-64 */
	bool executable;        /* and not a library */
	bool defines;           /* has the variable: */
	uint64_t value;         /* where in its thread-local block */
	uint64_t block_address; /* of that block's image, as the file counts them */
	uint64_t block_size;
	uint64_t block_align;
	uint64_t code_address; /* where the code is, as the file counts them, */
	uint64_t code_offset;  /* and in the file: both rounded down to a page */
	enum tls_loader loader;
	struct tls_slot slots[TLS_SLOT_KINDS];
};

/* Any file: what does not hold together has no variable. */
void tls_object_read(int fd, struct tls_object *ret);

/* A live process: its memory, and what of it may be read. */

struct tls_range {
	uint64_t start, end;
	uint64_t file; /* which one; 0 for memory and no file */
};

struct tls_process {
	int mem;                        /* /proc/PID/mem */
	const struct tls_range *ranges; /* borrowed; rising */
	size_t range_count;
	const struct map *files; /* borrowed: those that were looked at, and gave an answer */
	enum tls_loader loader;
};

/* Where the variable of an object is that was loaded with this bias.  Fails as tls_locate(). */
int tls_slot_resolve(const struct tls_process *process, const struct tls_object *object,
		     uint64_t bias, struct tls_location *ret, struct err *err);

#endif
