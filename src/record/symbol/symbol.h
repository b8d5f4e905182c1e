/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol - from the address of a frame to the function that it was in.
 *
 * This is done in two steps, because each has its own time.  While recording,
 * symbol_locate() says which file the address lies in and where: cheap, but
 * only possible while the process lives and has that file mapped.  After
 * recording, symbol_resolve() reads those files for names, lines and inlined
 * functions: expensive, but then nobody waits for the rings to be drained.
 *
 * What is read may be hostile or broken (programs, debug information, perf
 * maps).  So all of that happens in child processes that hold no privileges,
 * can make few system calls (confine.h) and may die: a file that kills its reader costs the names
 * of its own frames and nothing else.  No network is ever asked for debug information.
 *
 * Names have no control characters and at most 1023 bytes.  Those of Rust and
 * C++ are demangled (C++ only where libstdc++.so.6 is installed); those of
 * other languages are left as they are.
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
 * Read the kernel's symbols, once and before privileges are dropped.  On
 * failure, above all when the kernel hides its addresses (-EACCES), err says
 * why and what to do; everything else works on, and kernel frames have no names.
 */
int symbols_load_kernel(struct symbols *syms, struct err *err);

/* What symbol_resolve() needs that must be loaded before the process is confined. */
void symbols_prepare(void);

/* Where an address lies. Plain data: keep it from symbol_locate() to symbol_resolve(). */
struct symbol_location {
	uint64_t address;
	uint64_t offset; /* in the module's file; 0 if unknown */
	uint32_t module; /* for symbol_module(); 0 if unknown */
	uint32_t pid;    /* 0: in the kernel */
	bool is_return;  /* a caller's frame: the address is the one behind the call */
};

/*
 * Find the module of an address in process pid (a thread group id; 0 for the
 * kernel).  is_return is true for every frame but the innermost of the kernel
 * part, and for every frame but the innermost of the user part: the function
 * and line are then those of the byte before, where the call is.
 *
 * Never fails: of a process that is gone or may not be looked at, the address
 * is kept and the module is 0.  A process's mappings are read when it is first
 * seen, and again when an address is in none of them, but not more often than
 * every 100 ms; so a library loaded over the place of an unloaded one goes
 * unnoticed.  Needs CAP_SYS_PTRACE for other users' processes, and
 * CAP_CHECKPOINT_RESTORE to get at libraries whose file has been deleted.
 */
void symbol_locate(struct symbols *syms, uint32_t pid, uint64_t address, bool is_return,
		   struct symbol_location *ret);

/* The process has gone, or runs another program: what is known of its mappings is void. */
void symbols_forget(struct symbols *syms, uint32_t pid);

/*
 * What a module is called: a path as its process sees it, [kernel], a kernel
 * module as [name], [vdso], or [jit] for code made at run time.  "" for 0.
 * Holds until symbols_free().
 */
const char *symbol_module(const struct symbols *syms, uint32_t module);

/* One function. Strings are never NULL. */
struct symbol_function {
	const char *name;
	const char *source; /* its file; "" if unknown */
	uint32_t line;      /* where the address is in it, or where it calls the one before; or 0 */
	uint32_t offset;    /* of the address from the function's begin */
};

/*
 * Told of places[index]: the function of the address, and if that is inlined,
 * the one it was inlined into, and so on to the one that was really called.
 * Everything is borrowed and holds until the callback returns.
 */
typedef void symbol_fn(void *arg, size_t index, const struct symbol_function *chain, size_t count);

/*
 * Resolve places, module by module, and call fn once for each of which at
 * least the function's name is known, in no particular order.  After `budget`
 * nanoseconds what is left stays without names.  Forks and reaps its own
 * children, by their id.  Fails only if no child could be started.
 */
int symbol_resolve(struct symbols *syms, const struct symbol_location *places, size_t count,
		   nsec_t budget, symbol_fn *fn, void *arg, struct err *err);

/* After symbol_resolve(): a sentence on files whose reader died or ran out of time; NULL if none.
 */
const char *symbols_trouble(const struct symbols *syms, char *buf, size_t room);

#endif
