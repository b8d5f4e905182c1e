/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_parts - what the parts of symbol.h share among themselves.
 *
 *	symbol_kernel	the kernel's own symbols
 *	symbol_maps	which file is mapped where in a process
 *	symbol_file	how to get at that file, also when its name leads elsewhere
 *	symbol_locate	puts these three together: symbols_*(), symbol_locate()
 *	symbol_resolve	symbol_resolve(): sorts frames by module, asks a child each
 *	symbol_worker	that child: started, limited, listened to, ended
 *	symbol_elf	in the child: function names from an ELF file
 *	symbol_dwarf	in the child: lines and inlined functions
 *	symbol_perfmap	in the child: functions made at run time
 *	symbol_name	in the child: names made readable
 *	symbol_rust	in the child: those of Rust
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
	uint32_t name;   /* where it begins in `names` */
	uint16_t module; /* in `modules` */
	uint8_t rank;    /* of several names for one address, the smallest is kept */
};

struct kernel {
	VEC(struct kernel_symbol) symbols; /* by address, no two at the same */
	VEC(char) names;                   /* each ends with NUL */
	VEC(char *) modules;               /* [kernel] first */
	uint64_t base;                     /* address of its first byte; 0 if unknown */
};

int kernel_load(struct kernel *kernel, FILE *kallsyms, struct err *err);
void kernel_done(struct kernel *kernel);
/* NULL if the address is not in the kernel's code. */
const struct kernel_symbol *kernel_find(const struct kernel *kernel, uint64_t address);

/* Modules: the files that code is mapped from, and what takes their place. */

enum module_kind {
	MODULE_NAMED, /* it has a name, and nothing more can be learnt */
	MODULE_FILE,
	MODULE_DATA, /* a file that is no program: code that a process wrote there itself */
	MODULE_JIT,  /* code made at run time, of one process */
	MODULE_VDSO, /* the kernel's code in every process */
};

/* The number of a file. */
struct file_id {
	dev_t device;
	ino_t inode; /* 0: none */
};

struct module {
	const char *name;      /* borrowed from the table of keys */
	struct file_id mapped; /* as /proc/PID/maps has it */
	struct file_id found;  /* as stat() has it: what must be at `name` to be read there, */
	nsec_t changed;        /* and since when, as numbers are used again */
	enum module_kind kind;
	uint32_t pid; /* JIT: whose */
	bool deleted; /* its name leads nowhere, or to something else */
	bool sought;  /* file_seek() was here */
	int fd;       /* FILE: if its name does not lead to it; JIT: the perf map; or -1 */
	int proc;     /* JIT: /proc/PID, so that no other process is taken for it; or -1 */
};

struct modules {
	VEC(struct module) list; /* 0 is the unknown one */
	struct strtab *keys;     /* what tells them apart; their ids are the modules' */
	char *line;              /* scratch for a key */
	size_t open_files;
};

void modules_init(struct modules *mods);
void modules_done(struct modules *mods);
/* The number of the module, added if it is new; 0 if there are too many. */
uint32_t modules_add(struct modules *mods, const struct module *like);

/* Mappings. */

struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file, of start */
	uint32_t module;
};

/* All zero is an empty cache. */
struct maps {
	struct map processes; /* pid to struct process */
	size_t total;         /* mappings of all of them */
};

void maps_done(struct maps *maps);
void maps_forget(struct maps *maps, uint32_t pid);
/* The executable mapping of an address, borrowed until the next call; NULL if unknown. */
const struct mapping *maps_find(struct maps *maps, struct modules *mods, uint32_t pid,
				uint64_t address);
/* One line of /proc/PID/maps, which is cut up; false if it is not an executable mapping. */
bool maps_parse(char *line, struct mapping *ret, struct module *ret_module);

/* Files. */

/* While the process lives: find out how to open the module later, or open it now. */
void file_seek(struct modules *mods, uint32_t module, uint32_t pid, const struct mapping *map);
/* A descriptor of the caller's own for reading the module (JIT: its perf map), or -1. */
int file_open(const struct module *mod);
/* Likewise of a mapping of a file, at once and without keeping anything of it. */
int file_open_mapped(const struct module *like, uint32_t pid, const struct mapping *map);

struct symbols {
	struct kernel kernel;
	struct modules modules;
	struct maps maps;
	size_t troubles;   /* files whose reader did not end well, and of the first one: */
	char trouble[512]; /* which and what */
};

/* What a child is asked, and what it answers. */

enum { CHAIN_MAX = 32, NAME_ROOM = 1024 };

struct job {
	const char *path;
	void (*resolve)(const struct job *job, FILE *to); /* in the child */
	int fd;
	const uint64_t *keys; /* rising: offsets in the file; for JIT addresses */
	size_t count;
};

/*
 * Tell the parent.  A second answer for the same key replaces the first one,
 * so that names can go out before the slower search for lines; a third one is
 * not believed, and is the end of listening.
 */
void answer(FILE *to, size_t key, const struct symbol_function *chain, size_t count);

struct replies { /* what came of a job, by key */
	struct strtab *strings;
	struct reply {
		struct symbol_function *chain;
		size_t count;
		int times; /* answered */
	} *items;
	size_t count;
	char trouble[64]; /* what befell the child; "" if it ended well */
};

void replies_done(struct replies *replies);
/* Run the job in a child until it is done, or dead, or the time is over: see `trouble`. */
int worker_run(const struct job *job, nsec_t deadline, struct replies *ret, struct err *err);

/* In the child. */

struct elf_symbol {
	const char *name; /* NULL: none; borrowed from the file */
	uint64_t begin, end;
	int rank; /* of several names for one function, the highest is kept */
};

struct wanted { /* an address to find, as libdwfl counts them */
	uint64_t address;
	size_t key;
	struct elf_symbol symbol; /* the function that it is in */
	struct elf_symbol label;  /* while searching: the last one without a size before it, */
	uint64_t floor;           /* and the end of the last one with a size */
};

struct Dwfl_Module;

void elf_resolve(const struct job *job, FILE *to);
void dwarf_resolve(struct Dwfl_Module *mod, struct wanted *wanted, size_t count, FILE *to);
void perfmap_resolve(const struct job *job, FILE *to);
/* The first of `wanted`, which rises, at or above an address. */
size_t wanted_from(const struct wanted *wanted, size_t count, uint64_t address);

/* False if it is not a name of Rust (_R...), and then buf is undefined. */
bool rust_demangle(const char *raw, char buf[static NAME_ROOM]);
/* Load what makes names of C++ readable, which a confined process cannot do. */
void name_prepare(void);
/* Printable and cut to its room. */
const char *name_clean(const char *s, char buf[static NAME_ROOM]);
/* Likewise, and demangled, and without the version of an ELF symbol. */
const char *name_readable(const char *raw, char buf[static NAME_ROOM]);

#endif
