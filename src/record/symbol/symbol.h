/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - resolve the addresses of stack frames to functions.
 *
 * There are two steps.  While recording, symbol_locate() finds the file and the
 * offset of an address: cheap, but only possible while the process has that file
 * mapped.  After recording, symbol_resolve() reads names, lines and inlined
 * functions from those files: expensive, but no rings have to be drained then.
 *
 * Programs, debug information and perf maps are untrusted.  They are parsed in
 * worker processes without privileges, with few system calls (confine.h): a file
 * that crashes its worker only loses the names of its own frames.  Debug
 * information is never downloaded.
 *
 * Names contain no control characters and at most 1023 bytes.  Rust and C++ names
 * are demangled (C++ only if libstdc++.so.6 is installed).
 */
#ifndef SONDE_RECORD_SYMBOL_SYMBOL_H
#define SONDE_RECORD_SYMBOL_SYMBOL_H

#include "base/base.h"
#include "base/err.h"

struct symbols;

struct symbols *symbols_new(void);
void symbols_free(struct symbols *syms);
DEFINE_FREEP(symbols)

/*
 * Read the kernel's symbols, before privileges are dropped.  After a failure, such as
 * -EACCES if the kernel hides its addresses, kernel frames have no names and
 * everything else works.
 */
int symbols_load_kernel(struct symbols *syms, struct err *err);

/* Load libraries for symbol_resolve(), before the process is confined. */
void symbols_prepare(void);

/* The location of an address.  Plain data, from symbol_locate() for symbol_resolve(). */
struct symbol_location {
	uint64_t address;
	uint64_t offset; /* in the module's file; 0 if unknown */
	uint32_t module; /* for symbol_module(); 0 if unknown */
	uint32_t pid;    /* 0: in the kernel */
	bool is_return;  /* a return address: the call is before it */
};

/*
 * Find the module of an address in process pid (a thread group id; 0 for the
 * kernel).  is_return is true for all frames except the innermost kernel frame and
 * the innermost user frame: function and line are then those of the call.
 *
 * Never fails: if the process has exited or must not be read, the module is 0.
 * The mappings of a process are read for its first address, and again for an
 * address outside of all mappings, but at most every 100 ms; so a library that is
 * loaded at the addresses of an unloaded one is not noticed.  Needs CAP_SYS_PTRACE
 * for other users' processes, and CAP_CHECKPOINT_RESTORE for deleted libraries.
 */
void symbol_locate(struct symbols *syms, uint32_t pid, uint64_t address, bool is_return,
		   struct symbol_location *ret);

/* Forget the mappings of a process that exited or executed another program. */
void symbols_forget(struct symbols *syms, uint32_t pid);

/*
 * The name of a module: a path in the mount namespace of its process, [kernel], a
 * kernel module as [name], [vdso], or [jit] for JIT code.  "" for 0.  Valid until
 * symbols_free().
 */
const char *symbol_module(const struct symbols *syms, uint32_t module);

/* One function. Strings are never NULL. */
struct symbol_function {
	const char *name;
	const char *source; /* source file; "" if unknown */
	uint32_t line;      /* of the address, or of the call of the inlined function; or 0 */
	uint32_t offset;    /* of the address from the start of the function */
};

/*
 * Called for locations[index].  The chain starts with the innermost inlined function
 * and ends with the function that contains it.  All strings are borrowed and valid
 * until the callback returns.
 */
typedef void symbol_fn(void *arg, size_t index, const struct symbol_function *chain, size_t count);

/*
 * Resolve locations, module by module, and call fn once for each location with a
 * known function, in no particular order.  Stops after `budget` nanoseconds.  Forks
 * and reaps its own children.  Fails only if no child can be started.
 */
int symbol_resolve(struct symbols *syms, const struct symbol_location *locations, size_t count,
		   nsec_t budget, symbol_fn *fn, void *arg, struct err *err);

/* The function of an address in the kernel, without a child; strings are borrowed. */
bool symbol_find_kernel(const struct symbols *syms, const struct symbol_location *location,
			struct symbol_function *ret);

/* After symbol_resolve(): a warning about files whose worker failed; NULL if there are none. */
const char *symbols_trouble(const struct symbols *syms, char *buf, size_t room);

#endif
