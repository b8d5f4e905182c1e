/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols from untrusted input: tests of the parsers, and of corrupted files, which
 * may lose only their own names.
 */
#include "record/symbol/symbol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "record/symbol/internal.h"
#include "test.h"

#define BUDGET (20 * NSEC_PER_SEC)

static int load(struct kernel_symbols *kernel, const char *text, struct err *err)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	int r = kernel_symbols_load(kernel, file, err);

	fclose(file);
	return r;
}

static const char *kernel_name(const struct kernel_symbols *kernel, uint64_t address)
{
	const struct kernel_symbol *sym = kernel_symbols_find(kernel, address);

	return sym ? &kernel->names.items[sym->name] : "";
}

TEST(kernel_symbols_are_sorted_and_of_code_only)
{
	struct kernel_symbols kernel = { 0 };
	struct err err;

	CHECK_INT(load(&kernel,
		       "ffffffff81000000 T _text\n"
		       "ffffffff81000300 w weak\n"
		       "ffffffff81000300 T strong\n"
		       "ffffffff81000200 t middle\n"
		       "ffffffff81000280 D data\n"
		       "ffffffffc0000000 t of_module\t[ext4]\n"
		       "ffffffffc0800000 t bpf_prog_1\t[bpf]\n",
		       &err),
		  0);
	CHECK_INT(kernel.symbols.count, 5);
	CHECK_STR(kernel_name(&kernel, 0xffffffff81000000), "_text");
	CHECK_STR(kernel_name(&kernel, 0xffffffff810002ff), "middle");
	CHECK_STR(kernel_name(&kernel, 0xffffffff81000300), "strong");
	CHECK_STR(kernel_name(&kernel, 0xffffffff80ffffff), "");
	CHECK_STR(kernel_name(&kernel, 0xffffffff90000000), "");
	CHECK_STR(kernel_name(&kernel, 0xffffffffc0000010), "of_module");
	CHECK_STR(kernel.modules.items[kernel_symbols_find(&kernel, 0xffffffffc0000010)->module],
		  "[ext4]");
	CHECK(kernel.base == 0xffffffff81000000);
	kernel_symbols_done(&kernel);
}

TEST(hidden_kernel_addresses_are_an_error)
{
	struct kernel_symbols kernel = { 0 };
	struct err err = { "" };

	CHECK_INT(load(&kernel, "0000000000000000 T _text\n0000000000000000 t schedule\n", &err),
		  -EACCES);
	CHECK(strstr(err.text, "kptr_restrict") != NULL);
	CHECK_INT(load(&kernel, "what is this\nx\n\n1\n1 T\n1 T \n", &err), -ENODATA);
	kernel_symbols_done(&kernel);
}

TEST(the_running_kernel_has_symbols)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct symbol_location place;
	struct err err;

	if (symbols_load_kernel(syms, &err) < 0)
		SKIP("the kernel hides its addresses");
	CHECK(syms->kernel.symbols.count > 1000);
	for (size_t i = 0; i < syms->kernel.symbols.count; i += 97) {
		const struct kernel_symbol *sym = &syms->kernel.symbols.items[i];

		symbol_locate(syms, 0, sym->address + 1, true, &place);
		CHECK_STR(symbol_module(syms, place.module),
			  syms->kernel.modules.items[sym->module]);
	}
}

static bool parse_map(const char *text, struct mapping *map, struct module *mod)
{
	static char line[256];

	snprintf(line, sizeof(line), "%s", text);
	return maps_parse(line, map, mod);
}

TEST(executable_mappings_are_parsed_and_garbage_is_not)
{
	static const char *const bad[] = {
		"",
		"\n",
		" ",
		"1000-2000 r",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 8:1",
		"2000-1000 r-xp 0 08:01 5 /bin/a",
		"1000-1000 r-xp 0 08:01 5 /bin/a",
		"1000-2000 rw-p 0 08:01 5 /bin/a",
		"xyz-2000 r-xp 0 08:01 5 /bin/a",
	};
	struct mapping map;
	struct module mod;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(!parse_map(bad[i], &map, &mod));
	CHECK(parse_map("55d0-55d8 r-xp 00002000 fe:01 77    /a b/c (deleted)\n", &map, &mod));
	CHECK_INT(map.start, 0x55d0);
	CHECK_INT(map.end, 0x55d8);
	CHECK_INT(map.offset, 0x2000);
	CHECK_INT(mod.kind, MODULE_FILE);
	CHECK_STR(mod.name, "/a b/c");
	CHECK(mod.deleted);
	CHECK(parse_map("1000-2000 rwxp 0 00:00 0 \n", &map, &mod));
	CHECK_INT(mod.kind, MODULE_JIT);
	CHECK(parse_map("1000-2000 rwxp 0 00:00 0 [anon:v8]", &map, &mod));
	CHECK_INT(mod.kind, MODULE_JIT);
	CHECK(parse_map("1000-2000 r-xp 0 00:00 0 [vdso]", &map, &mod));
	CHECK_INT(mod.kind, MODULE_NAMED);
	CHECK(parse_map("7ffff7fc1000-7ffff7fc3000 r-xp 0 00:00 0 [vdso]", &map, &mod));
	CHECK_INT(mod.kind, MODULE_VDSO);
}

struct result {
	size_t count;
	char name[NAME_ROOM];
};

static void note(void *arg, size_t index, const struct symbol_function *chain, size_t count)
{
	struct result *result = arg;

	result->count++;
	snprintf(result->name, sizeof(result->name), "%s", chain[0].name);
}

static const char *resolve_one(struct symbols *syms, uint64_t address, struct result *ret)
{
	struct symbol_location place;
	struct err err;

	*ret = (struct result){ 0 };
	symbol_locate(syms, getpid(), address, false, &place);
	CHECK_INT(symbol_resolve(syms, &place, 1, BUDGET, note, ret, &err), 0);
	return ret->name;
}

TEST(new_code_is_found_after_a_pause_or_on_request)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct symbol_location place;

	symbol_locate(syms, getpid(), 8, false, &place);
	CHECK_INT(place.module, 0);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	symbols_forget(syms, getpid());
	symbol_locate(syms, getpid(), (uintptr_t)code, false, &place);
	CHECK_STR(symbol_module(syms, place.module), "[jit]");

	munmap(code, 4096);
	code = mmap(code + (1 << 20), 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	nsec_t start = clock_now();
	do {
		usleep(5000);
		symbol_locate(syms, getpid(), (uintptr_t)code, false, &place);
	} while (place.module == 0 && clock_now() - start < NSEC_PER_SEC);
	CHECK_STR(symbol_module(syms, place.module), "[jit]");
	munmap(code, 4096);
}

TEST(the_vdso_is_read_from_our_own)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	struct result result;
	bool found = false;

	if (!base)
		SKIP("no vdso here");
	for (uintptr_t at = base; at < base + 8192 && !found; at += 16)
		found = strstr(resolve_one(syms, at, &result), "clock_gettime") != NULL;
	CHECK(found);
}

TEST(a_budget_of_nothing_resolves_nothing)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct result result = { 0 };
	struct symbol_location place;
	struct err err;

	symbol_locate(syms, getpid(), (uintptr_t)resolve_one, false, &place);
	CHECK_INT(symbol_resolve(syms, &place, 1, 0, note, &result, &err), 0);
	CHECK_INT(result.count, 0);
	CHECK_STR(resolve_one(syms, (uintptr_t)resolve_one + 1, &result), "resolve_one");
}

/* The contents of a subject, to be corrupted. */
static char *read_subject(const char *name, size_t *ret_size)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 64];
	struct stat st;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		abort();
	snprintf(path, sizeof(path), "%s/%s", dirname(self), name);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		abort();
	char *data = must_alloc(st.st_size);
	CHECK_INT(read(fd, data, st.st_size), st.st_size);
	*ret_size = st.st_size;
	return data;
}

/* Map it as code in this process, and resolve addresses all over it. */
static size_t resolve_data(const char *data, size_t size)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	char path[] = "/tmp/sonde-symbol-XXXXXX";
	_cleanup_(closep) int fd = mkostemp(path, O_CLOEXEC);
	struct symbol_location places[64];
	struct result result = { 0 };
	struct err err;

	CHECK_INT(write(fd, data, size), size);
	char *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(code != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		symbol_locate(syms, getpid(), (uintptr_t)code + size / ARRAY_LEN(places) * i, false,
			      &places[i]);
	CHECK_INT(symbol_resolve(syms, places, ARRAY_LEN(places), BUDGET, note, &result, &err), 0);
	munmap(code, size);
	unlink(path);
	return result.count;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Change bytes in the headers at both ends, or anywhere; truncate a third of the files. */
static void spoil(char *data, size_t *size, uint32_t *seed)
{
	size_t whole = *size;

	for (uint32_t n = 1 + next_random(seed) % 30; n-- > 0;) {
		size_t at = next_random(seed) % whole;

		if (next_random(seed) % 2)
			at = next_random(seed) % 2 ? at % 1024 : whole - 1 - at % 4096;
		data[at] = next_random(seed) % 3 ? next_random(seed) : 0xff;
	}
	if (next_random(seed) % 3 == 0)
		*size = 1 + next_random(seed) % whole;
}

TEST(a_corrupted_program_loses_only_its_own_names)
{
	static const char *const names[] = { "pie", "dwarf4", "compressed", "packed", "split" };
	uint32_t seed = 1;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t whole, size;
		_cleanup_(freep) char *data = read_subject(names[i], &whole);
		_cleanup_(freep) char *spoilt = must_alloc(whole);

		if (strcmp(names[i], "packed") != 0)
			CHECK(resolve_data(data, whole) > 0);
		for (int round = 0; round < 40; round++) {
			memcpy(spoilt, data, whole);
			size = whole;
			spoil(spoilt, &size, &seed);
			resolve_data(spoilt, size);
		}
	}
}

/* Each pair repeats the one before it twice, so that a short name expands exponentially. */
TEST(a_name_that_expands_exponentially_is_truncated)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char raw[1024] = "_RINvC1a1bTuuE", buf[NAME_ROOM], pair[32];
	size_t last = 8;

	for (int i = 0; i < 60; i++) {
		char high[] = { last > 62 ? digits[(last - 1) / 62] : '\0', '\0' };
		char low = digits[(last - 1) % 62];

		snprintf(pair, sizeof(pair), "TB%s%c_B%s%c_E", high, low, high, low);
		last = strlen(raw) - 2;
		strcat(raw, pair);
	}
	strcat(raw, "E");
	name_readable(raw, buf);
	CHECK_INT(strlen(buf), NAME_ROOM - 1);
	CHECK(strncmp(buf, "a::b::<((), ()), (((), ()), ((), ())), ", 38) == 0);
}

TEST(corrupted_names_are_harmless)
{
	uint32_t seed = 1;

	for (int round = 0; round < 20000; round++) {
		char raw[] =
			"_RINvNtCs1_4core3ptr13drop_in_placeINtNtB4_5boxed3BoxDNtB4_2FnEL_Kj2a_E";
		char buf[NAME_ROOM];

		for (uint32_t n = 1 + next_random(&seed) % 4; n-- > 0;)
			raw[2 + next_random(&seed) % (sizeof(raw) - 3)] =
				"BCDEFIKLMNPRSTXYabp019_"[next_random(&seed) % 23];
		name_readable(raw, buf);
		CHECK(strlen(buf) < NAME_ROOM);
	}
}

TEST(names_are_demangled)
{
	static const struct {
		const char *raw, *want;
	} cases[] = {
		{ "", "" },
		{ "@", "@" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "bad\x1b[2J\n\xff", "bad?[2J??" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN4core17h0123456789abcdefE.llvm.1", "core" },
		{ "_ZN4core999999999999999999999x17h0123456789abcdefE",
		  "_ZN4core999999999999999999999x17h0123456789abcdefE" },
		{ "_Z", "_Z" },
		{ "_ZN", "_ZN" },
		{ "_ZN3", "_ZN3" },
		{ "_RNvC4test4main", "test::main" },
		{ "_RNvMsa_NtCs1_4core3rawNtB5_5Table4find", "<core::raw::Table>::find" },
		{ "_RNCNCNvCs1_3std4main00B4_", "std::main::{closure#0}::{closure#0}" },
		{ "_RINvC1a3runlKj2a_RShTmEE", "a::run::<i32, 42, &[u8], (u32,)>" },
		{ "_RINvC1a3runDINtC1b2FnuEp6OutputbEL_E",
		  "a::run::<dyn b::Fn<(), Output = bool>>" },
		{ "_RINvC1a3runFUKCPhEuE", "a::run::<unsafe extern \"C\" fn(*const u8)>" },
		{ "_RXC1aYB_B_", "_RXC1aYB_B_" }, /* refers to itself */
		{ "_RNvC4te", "_RNvC4te" },
		{ "_RNvC99999999999999999999a4main", "_RNvC99999999999999999999a4main" },
		{ "_R", "_R" },
	};
	char buf[NAME_ROOM];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(name_readable(cases[i].raw, buf), cases[i].want);

	_cleanup_(freep) char *endless = must_alloc(100000);
	memset(endless, 'a', 99999);
	CHECK_INT(strlen(name_readable(endless, buf)), NAME_ROOM - 1);
	memcpy(endless, "_Z", 2);
	CHECK_INT(strlen(name_readable(endless, buf)), NAME_ROOM - 1);
}
