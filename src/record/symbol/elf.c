/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_elf - function names from the symbol table of an ELF file.
 *
 * libdwfl finds the table: in the file, in a separate debug file (by build id
 * or .gnu_debuglink), or compressed in .gnu_debugdata.  Its lookup by address
 * scans the whole table each time.  As all addresses are known in advance, we
 * scan the table once, and find the wanted addresses of each symbol by binary
 * search.
 *
 * Labels in assembler code have no size.  A label matches an address only if no
 * symbol with a size contains the address or ends between label and address, and
 * if both are in the same section.  In a stripped file, only exports are left, and the
 * address can be in any function after the label; so its labels match nothing.
 */
#include "record/symbol/internal.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libgen.h>
#include <string.h>

#include "base/search.h"

size_t wanted_from(const struct wanted *wanted, size_t count, uint64_t address)
{
	return partition_point(count, i, wanted[i].address < address);
}

/* Prefer read to __read and __libc_read; then global to local to weak symbols. */
static int rank(const GElf_Sym *sym, const char *name)
{
	int binding = GELF_ST_BIND(sym->st_info), underscores = strspn(name, "_");

	return 4 * (8 - (underscores < 8 ? underscores : 8)) +
	       (binding == STB_GLOBAL ? 2 : binding != STB_WEAK);
}

static bool is_code(const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !name || !*name)
		return false;
	if (type == STT_NOTYPE) /* ARM has mapping symbols such as $x */
		return sym->st_shndx < SHN_LORESERVE && *name != '$' && *name != '.';
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Of two symbols that contain an address, prefer the one that starts later, as it is nested. */
static void improve(struct elf_symbol *best, const struct elf_symbol *sym)
{
	if (!best->name || sym->begin > best->begin ||
	    (sym->begin == best->begin && sym->rank > best->rank))
		*best = *sym;
}

static void match_sized(struct wanted *wanted, size_t count, const struct elf_symbol *sym)
{
	size_t i = wanted_from(wanted, count, sym->begin);

	for (; i < count && wanted[i].address < sym->end; i++)
		improve(&wanted[i].symbol, sym);
	if (i < count && wanted[i].floor < sym->end)
		wanted[i].floor = sym->end;
}

static void match_label(struct wanted *wanted, size_t count, const struct elf_symbol *sym)
{
	size_t i = wanted_from(wanted, count, sym->begin);

	if (i < count)
		improve(&wanted[i].label, sym);
}

/* Labels and ends are stored at the first address after them; apply them to later ones, too. */
static void use_labels(struct wanted *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct wanted *w = &wanted[i];

		if (i > 0 && w[-1].label.name)
			improve(&w->label, &w[-1].label);
		if (i > 0 && w->floor < w[-1].floor)
			w->floor = w[-1].floor;
		if (!w->symbol.name && w->label.name && w->label.begin >= w->floor &&
		    w->address < w->label.end)
			w->symbol = w->label;
	}
}

static uint64_t section_end(Elf *elf, const GElf_Sym *sym, GElf_Addr bias)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf ? elf_getscn(elf, sym->st_shndx) : NULL;

	return scn && gelf_getshdr(scn, &shdr) ? shdr.sh_addr + shdr.sh_size + bias : 0;
}

/* Whether a file has all of its symbols, and not only those for dynamic linking. */
static bool has_all_symbols(Elf *elf)
{
	GElf_Shdr shdr;

	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void find_symbols(Dwfl_Module *mod, struct wanted *wanted, size_t count)
{
	int total = dwfl_module_getsymtab(mod);
	Elf *last = NULL;
	bool is_complete = false;

	for (int i = 1; i < total; i++) {
		GElf_Sym sym;
		GElf_Addr value, bias;
		Elf *elf;
		const char *name = dwfl_module_getsym_info(mod, i, &sym, &value, NULL, &elf, &bias);

		if (!name || !is_code(&sym, name))
			continue;
		if (elf != last) {
			last = elf;
			is_complete = has_all_symbols(elf);
		}
		struct elf_symbol found = { name, value, value + sym.st_size, rank(&sym, name) };
		if (sym.st_size > 0) {
			match_sized(wanted, count, &found);
		} else if (is_complete) {
			found.end = section_end(elf, &sym, bias);
			match_label(wanted, count, &found);
		}
	}
	use_labels(wanted, count);
}

static int by_address(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Convert file offsets to addresses by the executable segments; returns the number of addresses. */
static size_t find_addresses(Dwfl_Module *mod, const struct job *job, struct wanted *wanted)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	size_t segments = 0, count = 0;

	if (!elf || elf_getphdrnum(elf, &segments) != 0)
		return 0;
	for (size_t key = 0; key < job->count; key++) {
		for (size_t i = 0; i < segments; i++) {
			GElf_Phdr p;
			uint64_t offset = job->keys[key];

			if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
				continue;
			if (offset < p.p_offset || offset - p.p_offset >= p.p_filesz)
				continue;
			wanted[count++] =
				(struct wanted){ .address = offset - p.p_offset + p.p_vaddr + bias,
						 .key = key };
			break;
		}
	}
	qsort(wanted, count, sizeof(*wanted), by_address);
	return count;
}

static void reply_to_all(const struct wanted *wanted, size_t count, FILE *to)
{
	char buf[NAME_ROOM];

	for (size_t i = 0; i < count; i++) {
		const struct elf_symbol *sym = &wanted[i].symbol;
		struct symbol_function chain = { .source = "",
						 .offset = wanted[i].address - sym->begin };

		if (!sym->name)
			continue;
		chain.name = name_readable(sym->name, buf);
		worker_reply(to, wanted[i].key, &chain, 1);
	}
	fflush(to);
}

static bool is_readable(const char *directory, const char *sub, const char *name)
{
	_cleanup_(freep) char *path = must_printf("%s%s/%s", directory, sub, name);

	return access(path, R_OK) == 0;
}

/*
 * If libdwfl's search by name finds no file, it loads the debuginfod client to
 * query servers, which is unwanted and slow.  So call it only if the file exists.
 */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *mod_name, Dwarf_Addr base,
			  const char *path, const char *link, GElf_Word crc, char **ret_path)
{
	int fd = dwfl_build_id_find_debuginfo(mod, data, mod_name, base, path, link, crc, ret_path);

	if (fd >= 0 || !link || !path)
		return fd;
	_cleanup_(freep) char *directory = must_strdup(path);
	_cleanup_(freep) char *global = must_printf("/usr/lib/debug%s", dirname(directory));
	if (*link != '/' && !is_readable(directory, "", link) &&
	    !is_readable(directory, "/.debug", link) && !is_readable(global, "", link))
		return -1;
	return dwfl_standard_find_debuginfo(mod, data, mod_name, base, path, link, crc, ret_path);
}

void elf_resolve(const struct job *job, FILE *to)
{
	const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct wanted *wanted = must_alloc(job->count * sizeof(*wanted));

	if (!dwfl)
		return;
	Dwfl_Module *mod = dwfl_report_offline(dwfl, job->path, job->path, job->fd);
	dwfl_report_end(dwfl, NULL, NULL);
	if (mod) {
		size_t count = find_addresses(mod, job, wanted);

		find_symbols(mod, wanted, count);
		reply_to_all(wanted, count, to);
		dwarf_resolve(mod, wanted, count, to);
	}
	free(wanted);
	dwfl_end(dwfl);
}
