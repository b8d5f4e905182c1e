/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_dwarf - line numbers and inlined functions from DWARF.
 *
 * DWARF has a tree for each compilation unit, with functions, and in these blocks
 * and inlined functions; each node has its address ranges.  Debug information can
 * be a hundred times as large as the code.  So units without any wanted address
 * in their ranges are skipped; in the others, one pass over the functions finds
 * those with a wanted address, and only these are searched for inlined functions.
 *
 * The line table yields the line of the innermost inlined function.  The line of
 * each enclosing function is the call site stored in the function inlined in it.
 *
 * Depth and number of nodes are limited, as the file is untrusted.
 */
#include "record/symbol/internal.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <string.h>

enum { TREE_DEPTH = 64, NODES_MAX = 50 * 1000 * 1000 };

struct dwarf_walk {
	struct wanted *wanted;
	size_t count;
	VEC(size_t) mine; /* indexes of the wanted addresses in the current unit */
	struct search_state {
		bool mine, done;
		Dwarf_Die function; /* in the current unit; addr is NULL if unknown */
	} *states;                  /* by index of the wanted address */
	GElf_Addr bias;             /* wanted address minus DWARF address */
	size_t nodes;
	FILE *to;
};

/* Called for each wanted address in the ranges of a node. */
typedef void found_fn(struct dwarf_walk *walk, size_t i, Dwarf_Die *die);

static void each_in_ranges(struct dwarf_walk *walk, Dwarf_Die *die, found_fn *found)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t pos = 0;

	while ((pos = dwarf_ranges(die, pos, &base, &low, &high)) > 0) {
		if (low == 0 || low >= high) /* code that the linker removed */
			continue;
		size_t i = wanted_from(walk->wanted, walk->count, low + walk->bias);
		for (; i < walk->count && walk->wanted[i].address - walk->bias < high; i++)
			found(walk, i, die);
	}
}

static void found_unit(struct dwarf_walk *walk, size_t i, Dwarf_Die *die)
{
	struct search_state *state = &walk->states[i];

	if (state->mine || state->done)
		return;
	*state = (struct search_state){ .mine = true };
	*vec_push(&walk->mine) = i;
}

static void found_function(struct dwarf_walk *walk, size_t i, Dwarf_Die *die)
{
	struct search_state *state = &walk->states[i];

	if (state->mine && !state->function.addr)
		state->function = *die;
}

/* Functions are children of the unit itself, or of its namespaces and types. */
static void find_functions(struct dwarf_walk *walk, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > TREE_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (++walk->nodes > NODES_MAX)
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			each_in_ranges(walk, &die, found_function);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			find_functions(walk, &die, depth + 1);
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* Find the inlined functions that contain an address, outermost first; returns their number. */
static size_t find_inlined(struct dwarf_walk *walk, Dwarf_Die *function, Dwarf_Addr pc,
			   Dwarf_Die inlined[static CHAIN_MAX])
{
	size_t count = 0;
	Dwarf_Die die, parent = *function;

	for (int depth = 0; depth < TREE_DEPTH && count < CHAIN_MAX - 1; depth++) {
		bool inside = false;

		if (dwarf_child(&parent, &die) != 0)
			break;
		do {
			int tag = dwarf_tag(&die);

			if (++walk->nodes > NODES_MAX)
				return count;
			inside = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
				  tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
				 dwarf_haspc(&die, pc) > 0;
		} while (!inside && dwarf_siblingof(&die, &die) == 0);
		if (!inside)
			break;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			inlined[count++] = die;
		parent = die;
	}
	return count;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	return name ? name : "";
}

static uint32_t offset_in(Dwarf_Die *die, Dwarf_Addr pc)
{
	Dwarf_Addr begin;

	return dwarf_entrypc(die, &begin) == 0 && begin <= pc ? pc - begin : 0;
}

static void set_line(Dwarf_Die *unit, Dwarf_Addr pc, struct symbol_function *sym)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	const char *source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!source)
		return;
	sym->source = source;
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		sym->line = number;
}

/* Set the line of the caller from the call site of the inlined function. */
static void set_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct symbol_function *sym)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) == 0)
		sym->line = line;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return;
	const char *source = dwarf_filesrc(files, file, NULL, NULL);
	sym->source = source ? source : "";
}

/* `unit` has the line table, `tree` the functions; with split DWARF, these are different. */
static void reply_to(struct dwarf_walk *walk, size_t i, Dwarf_Die *unit, Dwarf_Die *tree)
{
	struct wanted *w = &walk->wanted[i];
	struct search_state *state = &walk->states[i];
	Dwarf_Die *function = state->function.addr ? &state->function : NULL;
	Dwarf_Die inlined[CHAIN_MAX];
	Dwarf_Addr pc = w->address - walk->bias;
	size_t depth = function ? find_inlined(walk, function, pc, inlined) : 0;
	struct symbol_function chain[CHAIN_MAX];
	char names[CHAIN_MAX][NAME_ROOM];

	for (size_t k = 0; k <= depth; k++) {
		Dwarf_Die *die = k < depth ? &inlined[depth - 1 - k] : function;
		const char *name = k == depth && w->symbol.name ? w->symbol.name
				   : die                        ? die_name(die)
								: "";

		chain[k] = (struct symbol_function){ .name = name_readable(name, names[k]),
						     .source = "" };
		if (k == depth && w->symbol.name)
			chain[k].offset = w->address - w->symbol.begin;
		else if (die)
			chain[k].offset = offset_in(die, pc);
		if (k == 0)
			set_line(unit, pc, &chain[k]);
		else
			set_call(tree, &inlined[depth - k], &chain[k]);
	}
	if (!*chain[0].name)
		return;
	worker_reply(walk->to, w->key, chain, depth + 1);
	state->done = true;
}

static void resolve_unit(struct dwarf_walk *walk, Dwarf_Die *unit)
{
	Dwarf_Die split = { 0 };
	uint8_t type;

	walk->mine.count = 0;
	each_in_ranges(walk, unit, found_unit);
	if (walk->mine.count == 0)
		return;
	bool is_split = dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
			type == DW_UT_skeleton && split.addr;
	Dwarf_Die *tree = is_split ? &split : unit;

	find_functions(walk, tree, 0);
	for (size_t i = 0; i < walk->mine.count; i++) {
		reply_to(walk, walk->mine.items[i], unit, tree);
		walk->states[walk->mine.items[i]].mine = false;
	}
	fflush(walk->to);
}

void dwarf_resolve(Dwfl_Module *mod, struct wanted *wanted, size_t count, FILE *to)
{
	struct dwarf_walk walk = { .wanted = wanted, .count = count, .to = to };
	Dwarf *dwarf = dwfl_module_getdwarf(mod, &walk.bias);
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die unit;

	if (!dwarf || count == 0)
		return;
	walk.states = must_alloc(count * sizeof(*walk.states));
	while (walk.nodes <= NODES_MAX &&
	       dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			resolve_unit(&walk, &unit);
	vec_done(&walk.mine);
	free(walk.states);
}
