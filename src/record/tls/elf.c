/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf - find a thread-local variable in an ELF file.
 *
 * The dynamic symbol table is searched like in the loader, with a hash table, so that most
 * files cost a handful of small reads.  A file without hash table, and a static
 * executable, which has no dynamic symbols, are searched linearly.
 *
 * Code that accesses the variable gets its location from words that the loader fills in;
 * relocations identify those words.  A relocation can name the variable, or no symbol and
 * give an offset in the object's block; any of the latter kind is sufficient, because it
 * locates the block.
 *
 * The file may be crafted.  It is read and not mapped, so that truncation is harmless;
 * everything is bounded; and each byte and each read is charged to a budget.  A file that
 * exhausts the budget defines no variable.
 */
#include "record/tls/internal.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SEGMENTS = 64,
	DYNAMICS = 512,
	CHUNK = 4096,      /* bytes */
	READ_PRICE = 256,  /* cost of a read, in bytes */
	CHAIN_MAX = 65536, /* symbols that share a hash bucket */
};

#define BUDGET (64ll << 20)
#define PAGE 4096ull

struct elf {
	int fd;
	int64_t budget;
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS];
	uint64_t dynamic[DT_NUM]; /* by tag; 0 if missing */
	uint64_t gnu_hash, flags_1;
	uint32_t symbol; /* index of the variable's dynamic symbol; 0 if unknown */
};

static bool read_at(struct elf *elf, uint64_t offset, void *to, size_t size)
{
	elf->budget -= size + READ_PRICE;
	return elf->budget >= 0 && offset <= INT64_MAX &&
	       pread(elf->fd, to, size, offset) == (ssize_t)size;
}

/* Read at a virtual address of the file. */
static bool read_address(struct elf *elf, uint64_t address, void *to, size_t size)
{
	for (size_t i = 0; i < elf->head.e_phnum; i++) {
		const Elf64_Phdr *s = &elf->segments[i];
		uint64_t in = address - s->p_vaddr;

		if (s->p_type == PT_LOAD && address >= s->p_vaddr && in < s->p_filesz &&
		    size <= s->p_filesz - in)
			return read_at(elf, s->p_offset + in, to, size);
	}
	return false;
}

static const Elf64_Phdr *find_segment(const struct elf *elf, uint32_t type, uint32_t flags)
{
	for (size_t i = 0; i < elf->head.e_phnum; i++)
		if (elf->segments[i].p_type == type && (elf->segments[i].p_flags & flags) == flags)
			return &elf->segments[i];
	return NULL;
}

static bool read_head(struct elf *elf, struct tls_object *object)
{
	Elf64_Ehdr *head = &elf->head;

	if (!read_at(elf, 0, head, sizeof(*head)) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	object->foreign = head->e_ident[EI_CLASS] != ELFCLASS64 ||
			  head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_machine != EM_X86_64;
	if (object->foreign || (head->e_type != ET_EXEC && head->e_type != ET_DYN))
		return false;
	return head->e_phentsize == sizeof(Elf64_Phdr) && head->e_phnum <= SEGMENTS &&
	       read_at(elf, head->e_phoff, elf->segments, head->e_phnum * sizeof(elf->segments[0]));
}

static bool read_dynamic(struct elf *elf)
{
	const Elf64_Phdr *s = find_segment(elf, PT_DYNAMIC, 0);
	Elf64_Dyn list[DYNAMICS];
	size_t count = s ? s->p_filesz / sizeof(list[0]) : 0;

	if (count > DYNAMICS)
		count = DYNAMICS;
	if (count == 0 || !read_at(elf, s->p_offset, list, count * sizeof(list[0])))
		return false;
	for (size_t i = 0; i < count && list[i].d_tag != DT_NULL; i++) {
		if (list[i].d_tag > 0 && list[i].d_tag < DT_NUM)
			elf->dynamic[list[i].d_tag] = list[i].d_un.d_val;
		else if (list[i].d_tag == DT_GNU_HASH)
			elf->gnu_hash = list[i].d_un.d_ptr;
		else if (list[i].d_tag == DT_FLAGS_1)
			elf->flags_1 = list[i].d_un.d_val;
	}
	return true;
}

static bool is_variable(const Elf64_Sym *symbol, const char name[sizeof(TLS_SYMBOL)])
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
	       memcmp(name, TLS_SYMBOL, sizeof(TLS_SYMBOL)) == 0;
}

/* Whether a dynamic symbol is the variable. */
static bool symbol_matches(struct elf *elf, uint32_t index, struct tls_object *object)
{
	char name[sizeof(TLS_SYMBOL)];
	Elf64_Sym s;

	if (!read_address(elf, elf->dynamic[DT_SYMTAB] + (uint64_t)index * sizeof(s), &s,
			  sizeof(s)) ||
	    ELF64_ST_TYPE(s.st_info) != STT_TLS ||
	    !read_address(elf, elf->dynamic[DT_STRTAB] + s.st_name, name, sizeof(name)) ||
	    !is_variable(&s, name))
		return false;
	elf->symbol = index;
	object->value = s.st_value;
	return true;
}

static uint32_t hash_gnu(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return h;
}

static uint32_t hash_old(const char *s)
{
	uint32_t h = 0;

	for (; *s; s++) {
		h = (h << 4) + (uint8_t)*s;
		h = (h ^ (h & 0xf0000000) >> 24) & 0x0fffffff;
	}
	return h;
}

static bool find_by_gnu_hash(struct elf *elf, struct tls_object *object)
{
	struct {
		uint32_t buckets, first, words, shift;
	} head;
	uint32_t hash = hash_gnu(TLS_SYMBOL), index, other;
	uint64_t word, at = elf->gnu_hash + sizeof(head);

	if (!read_address(elf, elf->gnu_hash, &head, sizeof(head)) || head.buckets == 0 ||
	    head.words == 0 ||
	    !read_address(elf, at + hash / 64 % head.words * 8ull, &word, sizeof(word)))
		return false;
	if (!(word >> hash % 64 & 1) || !(word >> (hash >> head.shift % 32) % 64 & 1))
		return false;
	at += head.words * 8ull;
	if (!read_address(elf, at + hash % head.buckets * 4ull, &index, sizeof(index)) ||
	    index < head.first)
		return false;
	at += head.buckets * 4ull;
	for (uint32_t i = 0; i < CHAIN_MAX; i++, index++) {
		if (!read_address(elf, at + (index - head.first) * 4ull, &other, sizeof(other)))
			return false;
		if ((other | 1) == (hash | 1) && symbol_matches(elf, index, object))
			return true;
		if (other & 1)
			return false;
	}
	return false;
}

static bool find_by_hash(struct elf *elf, struct tls_object *object)
{
	uint64_t at = elf->dynamic[DT_HASH];
	uint32_t head[2], index; /* number of buckets, number of chains */

	if (!read_address(elf, at, head, sizeof(head)) || head[0] == 0)
		return false;
	at += sizeof(head);
	if (!read_address(elf, at + hash_old(TLS_SYMBOL) % head[0] * 4ull, &index, sizeof(index)))
		return false;
	at += head[0] * 4ull;
	for (uint32_t i = 0; i < CHAIN_MAX && index != 0; i++) {
		if (symbol_matches(elf, index, object))
			return true;
		if (index >= head[1] ||
		    !read_address(elf, at + index * 4ull, &index, sizeof(index)))
			return false;
	}
	return false;
}

/* Search a symbol table; returns the index of the variable, 0 if it is missing. */
static uint32_t search_symbols(struct elf *elf, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			       struct tls_object *object)
{
	Elf64_Sym list[CHUNK / sizeof(Elf64_Sym)];
	uint64_t total = table->sh_size / sizeof(list[0]);

	for (uint64_t i = 0; i < total && i < UINT32_MAX; i++) {
		const Elf64_Sym *s = &list[i % ARRAY_LEN(list)];
		uint64_t left = total - i;
		size_t count = left < ARRAY_LEN(list) ? left : ARRAY_LEN(list);
		char name[sizeof(TLS_SYMBOL)];

		if (s == list &&
		    !read_at(elf, table->sh_offset + i * sizeof(*s), list, count * sizeof(*s)))
			return 0;
		if (ELF64_ST_TYPE(s->st_info) == STT_TLS &&
		    read_at(elf, strings->sh_offset + s->st_name, name, sizeof(name)) &&
		    is_variable(s, name)) {
			object->value = s->st_value;
			return i;
		}
	}
	return 0;
}

/* Search the first symbol table of a type (SHT_DYNSYM, SHT_SYMTAB). */
static uint32_t search_section(struct elf *elf, uint32_t type, struct tls_object *object)
{
	const Elf64_Ehdr *head = &elf->head;
	Elf64_Shdr table, strings;

	if (head->e_shentsize != sizeof(table))
		return 0;
	for (size_t i = 0; i < head->e_shnum; i++) {
		if (!read_at(elf, head->e_shoff + i * sizeof(table), &table, sizeof(table)))
			return 0;
		if (table.sh_type != type)
			continue;
		if (table.sh_link >= head->e_shnum ||
		    !read_at(elf, head->e_shoff + table.sh_link * sizeof(strings), &strings,
			     sizeof(strings)))
			return 0;
		return search_symbols(elf, &table, &strings, object);
	}
	return 0;
}

static bool find_variable(struct elf *elf, struct tls_object *object)
{
	if (elf->gnu_hash)
		return find_by_gnu_hash(elf, object);
	if (elf->dynamic[DT_HASH])
		return find_by_hash(elf, object);
	elf->symbol = search_section(elf, SHT_DYNSYM, object);
	return elf->symbol != 0;
}

static int slot_kind(uint32_t type)
{
	switch (type) {
	case R_X86_64_TPOFF64:
		return TLS_SLOT_OFFSET;
	case R_X86_64_TLSDESC:
		return TLS_SLOT_DESCRIPTOR;
	case R_X86_64_DTPMOD64:
		return TLS_SLOT_MODULE;
	default:
		return -1;
	}
}

static void consider_slot(const struct elf *elf, const Elf64_Rela *r, struct tls_object *object)
{
	int kind = slot_kind(ELF64_R_TYPE(r->r_info));
	uint32_t symbol = ELF64_R_SYM(r->r_info);
	bool named = symbol != 0;
	struct tls_slot *slot = kind >= 0 ? &object->slots[kind] : NULL;

	if (!slot || (named && symbol != elf->symbol) || (slot->used && (slot->named || !named)))
		return;
	*slot = (struct tls_slot){
		.address = r->r_offset, .addend = r->r_addend, .used = true, .named = named
	};
}

static void read_relocations(struct elf *elf, uint64_t address, uint64_t size,
			     struct tls_object *object)
{
	Elf64_Rela list[CHUNK / sizeof(Elf64_Rela)];
	uint64_t total = size / sizeof(list[0]);

	for (uint64_t i = 0; i < total; i++) {
		uint64_t left = total - i;
		size_t at = i % ARRAY_LEN(list),
		       count = left < ARRAY_LEN(list) ? left : ARRAY_LEN(list);

		if (at == 0 && !read_address(elf, address + i * sizeof(list[0]), list,
					     count * sizeof(list[0])))
			return;
		consider_slot(elf, &list[at], object);
	}
}

static enum tls_loader loader_of(struct elf *elf)
{
	const Elf64_Phdr *s = find_segment(elf, PT_INTERP, 0);
	char path[256] = "";

	if (!s)
		return TLS_LOADER_NONE;
	if (!read_at(elf, s->p_offset, path,
		     s->p_filesz < sizeof(path) ? s->p_filesz : sizeof(path) - 1))
		return TLS_LOADER_OTHER;
	if (strstr(path, "/ld-musl-"))
		return TLS_LOADER_MUSL;
	return strstr(path, "/ld-linux-") ? TLS_LOADER_GLIBC : TLS_LOADER_OTHER;
}

/* Old linkers did not mark position-independent executables; but only libraries have a SONAME. */
static bool is_executable(const struct elf *elf, enum tls_loader loader)
{
	return elf->head.e_type == ET_EXEC || elf->flags_1 & DF_1_PIE ||
	       (loader != TLS_LOADER_NONE && !elf->dynamic[DT_SONAME]);
}

static bool find_definition(struct elf *elf, struct tls_object *object)
{
	const Elf64_Phdr *block = find_segment(elf, PT_TLS, 0);

	if (!block)
		return false;
	object->block_address = block->p_vaddr;
	object->block_size = block->p_memsz;
	object->block_align = block->p_align ? block->p_align : 1;
	if (!find_variable(elf, object) &&
	    !(object->executable && object->loader == TLS_LOADER_NONE &&
	      search_section(elf, SHT_SYMTAB, object)))
		return false;
	/* no sum of these can overflow */
	return object->block_size <= INT32_MAX && object->block_align <= INT32_MAX &&
	       object->value <= object->block_size &&
	       (object->block_align & (object->block_align - 1)) == 0;
}

void tls_object_read(int fd, struct tls_object *ret)
{
	struct elf elf = { .fd = fd, .budget = BUDGET };
	struct tls_object object = { 0 };

	*ret = object;
	if (!read_head(&elf, &object)) {
		*ret = object;
		return;
	}

	const Elf64_Phdr *code = find_segment(&elf, PT_LOAD, PF_X);
	bool dynamic = read_dynamic(&elf);

	if (!code || (!dynamic && elf.head.e_type != ET_EXEC))
		return;
	object.code_address = code->p_vaddr & ~(PAGE - 1);
	object.code_offset = code->p_offset & ~(PAGE - 1);
	object.loader = loader_of(&elf);
	object.executable = is_executable(&elf, object.loader);
	object.defines = find_definition(&elf, &object);
	if (object.defines) {
		read_relocations(&elf, elf.dynamic[DT_RELA], elf.dynamic[DT_RELASZ], &object);
		read_relocations(&elf, elf.dynamic[DT_JMPREL], elf.dynamic[DT_PLTRELSZ], &object);
	}
	*ret = object;
}
