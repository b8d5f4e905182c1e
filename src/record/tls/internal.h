/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - shared by the files of record/tls/locate.h.
 *
 *	elf	reads a file: does it define the variable, and which words lead to it
 *	slot	reads those words in a live process, where the loader filled them in
 *	locate	combines both over all files of a process
 */
#ifndef SONDE_RECORD_TLS_INTERNAL_H
#define SONDE_RECORD_TLS_INTERNAL_H

#include "base/map.h"
#include "record/tls/locate.h"

/* Words that the loader fills in once it has placed an object's thread-local block. */
enum tls_slot_kind {
	TLS_SLOT_OFFSET,     /* R_X86_64_TPOFF64: from the FS base (initial exec) */
	TLS_SLOT_DESCRIPTOR, /* R_X86_64_TLSDESC: a function and its argument */
	TLS_SLOT_MODULE,     /* R_X86_64_DTPMOD64: a module, then an offset (general dynamic) */
	TLS_SLOT_KINDS,
};

struct tls_slot {
	uint64_t address; /* as in the file */
	int64_t addend;
	bool used;
	bool named; /* for our variable; otherwise for the object's block */
};

enum tls_loader { TLS_LOADER_NONE, TLS_LOADER_GLIBC, TLS_LOADER_MUSL, TLS_LOADER_OTHER };

/* The relevant contents of one file. */
struct tls_object {
	bool foreign;           /* a program or library for another architecture */
	bool executable;        /* otherwise a library */
	bool defines;           /* the variable: */
	uint64_t value;         /* offset of the variable in the thread-local block */
	uint64_t block_address; /* of the block's initial image, as in the file */
	uint64_t block_size;
	uint64_t block_align;
	uint64_t code_address; /* of the code segment, as in the file */
	uint64_t code_offset;  /* of the code segment in the file; both rounded down to a page */
	enum tls_loader loader;
	struct tls_slot slots[TLS_SLOT_KINDS];
};

/* Read any file; an inconsistent one defines no variable. */
void tls_object_read(int fd, struct tls_object *ret);

struct tls_range {
	uint64_t start, end;
	uint64_t file; /* hash of its identity; 0 for anonymous memory */
};

/* A live process, and which parts of its memory may be read. */
struct tls_process {
	int mem;                        /* /proc/PID/mem */
	const struct tls_range *ranges; /* borrowed; in ascending order */
	size_t range_count;
	const struct map *files; /* borrowed: files that could be read */
	enum tls_loader loader;
};

/* Locate the variable of an object loaded with this bias.  Fails like tls_locate(). */
int tls_slot_resolve(const struct tls_process *process, const struct tls_object *object,
		     uint64_t bias, struct tls_location *ret, struct err *err);

#endif
