/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - interfaces between the parts of symbol.h.
 *
 *	kernel	symbols of the kernel
 *	maps	mappings of processes
 *	file	finds and opens the file behind a mapping
 *	locate	combines these three: symbols_*(), symbol_locate()
 *	resolve	symbol_resolve(): sorts locations by module, runs a worker for each
 *	worker	the worker process: limits, replies
 *	elf	in the worker: function names from ELF files
 *	dwarf	in the worker: line numbers and inlined functions
 *	perfmap	in the worker: functions of JIT compilers
 *	name	in the worker: demangling
 *	rust	in the worker: demangling of Rust names
 */
#ifndef SONDE_RECORD_SYMBOL_INTERNAL_H
#define SONDE_RECORD_SYMBOL_INTERNAL_H

#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "record/clock.h"
#include "record/symbol/symbol.h"

/* The kernel. */

struct kernel_symbol {
	uint64_t address;
	uint32_t name;   /* offset in `names` */
	uint16_t module; /* index in `modules` */
	uint8_t rank;    /* the lowest rank wins if several names have one address */
};

struct kernel_symbols {
	VEC(struct kernel_symbol) symbols; /* sorted by address, without duplicates */
	VEC(char) names;                   /* NUL-terminated */
	VEC(char *) modules;               /* [kernel] first */
	uint64_t base;                     /* address of _text; 0 if unknown */
};

int kernel_symbols_load(struct kernel_symbols *kernel, FILE *kallsyms, struct err *err);
void kernel_symbols_done(struct kernel_symbols *kernel);
/* NULL if the address is not in a kernel function. */
const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *kernel,
						uint64_t address);

/* Modules: mapped files, and code without a file. */

enum module_kind {
	MODULE_NAMED, /* only a name, without symbols */
	MODULE_FILE,
	MODULE_DATA, /* a mapped file that is not ELF: JIT code */
	MODULE_JIT,  /* JIT code of one process */
	MODULE_VDSO,
};

/* Identity of a file. */
struct file_id {
	dev_t device;
	ino_t inode; /* 0: none */
};

struct module {
	const char *name;      /* borrowed from modules.keys */
	struct file_id mapped; /* according to /proc/PID/maps */
	struct file_id found;  /* according to stat(); the file at `name` must match it */
	nsec_t changed;        /* ctime of that file, because inode numbers are reused */
	enum module_kind kind;
	uint32_t pid;  /* JIT: its process */
	bool deleted;  /* the file was deleted or replaced */
	bool searched; /* module_find_file() was called */
	int fd;        /* FILE: if not reachable by name; JIT: the perf map; or -1 */
	int proc;      /* JIT: descriptor of /proc/PID, because pids are reused; or -1 */
};

struct modules {
	VEC(struct module) list; /* index 0 is the unknown module */
	struct strtab *keys;     /* the id of a key is the index of its module */
	char *line;              /* scratch buffer for a key */
	size_t open_files;
};

void modules_init(struct modules *mods);
void modules_done(struct modules *mods);
/* The index of a module, which is added if it is new; 0 if there are too many. */
uint32_t modules_add(struct modules *mods, const struct module *like);

/* Mappings. */

struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* file offset of start */
	uint32_t module;
};

/* All zero is an empty cache. */
struct maps {
	struct map processes; /* pid -> struct mapped_process */
	size_t total;         /* number of mappings of all processes */
};

void maps_done(struct maps *maps);
void maps_forget(struct maps *maps, uint32_t pid);
/* The executable mapping of an address, borrowed until the next call; NULL if unknown. */
const struct mapping *maps_find(struct maps *maps, struct modules *mods, uint32_t pid,
				uint64_t address);
/* Parse a line of /proc/PID/maps, modifying it; false if the mapping is not executable. */
bool maps_parse(char *line, struct mapping *ret, struct module *ret_module);

/* Files. */

/* Find the file of a module while its process runs: save its identity, or open it. */
void module_find_file(struct modules *mods, uint32_t module, uint32_t pid,
		      const struct mapping *map);
/* Open the file of a module (JIT: the perf map); returns -1 on failure.  The caller closes it. */
int module_open(const struct module *mod);
/* Find and open the file of a mapping, without adding a module.  The caller closes it. */
int module_open_mapped(const struct module *like, uint32_t pid, const struct mapping *map);

struct symbols {
	struct kernel_symbols kernel;
	struct modules modules;
	struct maps maps;
	size_t troubles;   /* number of files whose worker failed */
	char trouble[512]; /* name and reason of the first one */
};

/* Jobs of workers and their replies. */

enum { CHAIN_MAX = 32, NAME_ROOM = 1024 };

struct job {
	const char *path;
	void (*resolve)(const struct job *job, FILE *to); /* runs in the worker */
	int fd;
	const uint64_t *keys; /* sorted file offsets; for JIT code, addresses */
	size_t count;
};

/*
 * Send a reply to the parent.  A second reply for the same key replaces the first
 * one, so that function names are sent before the slower search for line numbers.
 * A third reply is malformed.
 */
void worker_reply(FILE *to, size_t key, const struct symbol_function *chain, size_t count);

struct replies { /* the result of a job */
	struct strtab *strings;
	struct reply {
		struct symbol_function *chain;
		size_t count;
		int times; /* number of replies */
	} *items;          /* by key */
	size_t count;
	char trouble[64]; /* why the worker failed; "" on success */
};

void replies_done(struct replies *replies);
/* Run the job in a worker.  If the worker crashes or times out, this succeeds with `trouble` set.
 */
int worker_run(const struct job *job, nsec_t deadline, struct replies *ret, struct err *err);

/* In the worker. */

struct elf_symbol {
	const char *name; /* NULL: none; borrowed from the file */
	uint64_t begin, end;
	int rank; /* the highest rank wins if several names have one address */
};

struct wanted {           /* an address to resolve */
	uint64_t address; /* in libdwfl's address space */
	size_t key;
	struct elf_symbol symbol; /* the function that contains the address */
	struct elf_symbol label;  /* while searching: the last symbol without a size before it */
	uint64_t floor;           /* while searching: the end of the last symbol with a size */
};

struct Dwfl_Module;

void elf_resolve(const struct job *job, FILE *to);
void dwarf_resolve(struct Dwfl_Module *mod, struct wanted *wanted, size_t count, FILE *to);
void perfmap_resolve(const struct job *job, FILE *to);
/* The index of the first address in `wanted`, which is sorted, at or above an address. */
size_t wanted_from(const struct wanted *wanted, size_t count, uint64_t address);

/* Returns false if it is not a Rust name (_R...); then buf is undefined. */
bool rust_demangle(const char *raw, char buf[static NAME_ROOM]);
/* Load the C++ demangler, before the process is confined. */
void name_prepare(void);
/* Replace control characters, and truncate to NAME_ROOM. */
const char *name_clean(const char *s, char buf[static NAME_ROOM]);
/* Demangle, remove the ELF symbol version, and clean the name. */
const char *name_readable(const char *raw, char buf[static NAME_ROOM]);

#endif
