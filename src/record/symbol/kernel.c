/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_kernel - kernel functions from /proc/kallsyms.
 *
 * The kernel lists its symbols as `address type name [module]`, in more than
 * 100,000 lines.  We store the functions, sorted, with their names in one block of
 * memory: two to three MiB.  The list has no sizes, so a function extends to the
 * next one.  As that is wrong for the last function of a module, the distance from
 * an address to its symbol is limited.
 *
 * Without privileges, all addresses read as zero.  The kernel checks this when the
 * file is opened, so it must be opened before privileges are dropped.
 */
#include "record/symbol/internal.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"

enum { FUNCTION_SIZE_MAX = 1 << 20 };

struct kallsyms_line {
	uint64_t address;
	char type;
	char *name, *module; /* module is NULL for the kernel itself */
};

/* Modifies the line. */
static bool parse(char *line, struct kallsyms_line *ret)
{
	char *at;

	ret->address = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ')
		return false;
	ret->type = at[1];
	ret->name = at + 3;
	ret->module = NULL;
	at = ret->name + strcspn(ret->name, "\t\n");
	if (*at == '\t' && at[1] == '[') {
		ret->module = at + 1;
		ret->module[strcspn(ret->module, "\n")] = '\0';
	}
	*at = '\0';
	return *ret->name != '\0';
}

/* Of several names for one address, prefer global to local to weak symbols. */
static int type_rank(char type)
{
	const char *types = "TtWw";
	const char *at = strchr(types, type);

	return at ? at - types : -1;
}

static uint16_t module_number(struct kernel_symbols *kernel, const char *name)
{
	/* the symbols of a module are consecutive, so it is mostly the last one */
	for (size_t i = kernel->modules.count; i-- > 0;)
		if (strcmp(kernel->modules.items[i], name) == 0)
			return i;
	if (kernel->modules.count > UINT16_MAX)
		return 0;
	*vec_push(&kernel->modules) = must_strdup(name);
	return kernel->modules.count - 1;
}

static void add(struct kernel_symbols *kernel, const struct kallsyms_line *line, int rank)
{
	struct kernel_symbol sym = { .address = line->address, .rank = rank };
	const char *c = line->name;

	sym.name = kernel->names.count;
	sym.module = line->module ? module_number(kernel, line->module) : 0;
	do
		*vec_push(&kernel->names) = *c;
	while (*c++);
	*vec_push(&kernel->symbols) = sym;
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank - y->rank;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct kernel_symbols *kernel)
{
	struct kernel_symbol *syms = kernel->symbols.items;
	size_t kept = 0;

	if (kernel->symbols.count)
		qsort(syms, kernel->symbols.count, sizeof(*syms), by_address);
	for (size_t i = 0; i < kernel->symbols.count; i++)
		if (kept == 0 || syms[kept - 1].address != syms[i].address)
			syms[kept++] = syms[i];
	kernel->symbols.count = kept;
}

static void trim(struct kernel_symbols *kernel)
{
	kernel->symbols.room = kernel->symbols.count;
	kernel->symbols.items = must_realloc(kernel->symbols.items,
					     kernel->symbols.room * sizeof(*kernel->symbols.items));
	kernel->names.room = kernel->names.count;
	kernel->names.items = must_realloc(kernel->names.items, kernel->names.room);
}

int kernel_symbols_load(struct kernel_symbols *kernel, FILE *kallsyms, struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	size_t room = 0, lines = 0;
	struct kallsyms_line line;

	kernel_symbols_done(kernel);
	*vec_push(&kernel->modules) = must_strdup("[kernel]");
	while (getline(&text, &room, kallsyms) > 0) {
		if (!parse(text, &line))
			continue;
		lines++;
		if (line.address == 0)
			continue;
		if (!line.module && strcmp(line.name, "_text") == 0)
			kernel->base = line.address;
		int rank = type_rank(line.type);
		if (rank >= 0)
			add(kernel, &line, rank);
	}
	if (kernel->symbols.count == 0) {
		kernel_symbols_done(kernel);
		if (lines == 0)
			return err_set(err, -ENODATA, "the kernel lists no symbols");
		return err_set(
			err, -EACCES,
			"the kernel hides its addresses, so kernel frames will have no names: "
			"run as root or with CAP_SYSLOG, and set kernel.kptr_restrict "
			"to 0 or 1");
	}
	sort(kernel);
	trim(kernel);
	return 0;
}

void kernel_symbols_done(struct kernel_symbols *kernel)
{
	for (size_t i = 0; i < kernel->modules.count; i++)
		free(kernel->modules.items[i]);
	vec_done(&kernel->modules);
	vec_done(&kernel->symbols);
	vec_done(&kernel->names);
	kernel->base = 0;
}

const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *kernel,
						uint64_t address)
{
	const struct kernel_symbol *syms = kernel->symbols.items;
	size_t above = partition_point(kernel->symbols.count, i, syms[i].address <= address);

	if (above == 0 || address - syms[above - 1].address >= FUNCTION_SIZE_MAX)
		return NULL;
	return &syms[above - 1];
}
