/* SPDX-License-Identifier: Apache-2.0 */
#include "subject.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void subject_mark(const char *here, const char *caller, const char *its_caller)
{
	printf("%p%s%s%s\n", __builtin_return_address(0), here, caller, its_caller);
}

__attribute__((noinline)) static void plain(void)
{
	MARK("plain");
}

__attribute__((always_inline)) static inline void inner(const char *caller, const char *its_caller)
{
	MARK_INLINED("inner", caller, its_caller);
}

__attribute__((always_inline)) static inline void middle(const char *caller)
{
	inner(HERE("middle"), caller);
}

__attribute__((noinline)) static void outer(void)
{
	middle(HERE("outer"));
	inner(HERE("outer"), "");
}

/* As C++ and Rust would name them. */
void sky(int n) __asm__("_ZN4blue3skyEi");
void earth(int n) __asm__("_ZN5brown17h0123456789abcdefE");
void sea(int n) __asm__(
	"_ZN47_$LT$wet..Sea$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE");

__attribute__((noinline)) void sky(int n)
{
	MARK("blue::sky(int)");
}

__attribute__((noinline)) void earth(int n)
{
	MARK("brown");
}

__attribute__((noinline)) void sea(int n)
{
	MARK("<wet::Sea as core::fmt::Display>::fmt");
}

/* A function without a size, as assembler code often has. */
void label(void);
__asm__(".pushsection .text\n"
	"label: .type label, @function\n"
	"	nop\n"
	"	nop\n"
	"	ret\n"
	".popsection\n");

static char *map_code(void)
{
	char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(code, 0xc3, 8192);
	return code;
}

/* Code that a perf map describes, as run-time compilers write it: with blanks and garbage. */
static int make_code(void)
{
	char path[64], *code = map_code();

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "garbage\n\nzz 10 x\n%lx\n", (long)code);
	fprintf(map, "%lx 1000 old\n", (long)code);
	fprintf(map, "%lx 80 LazyCompile:~run @ app.js:1\n", (long)code);
	fprintf(map, "%lx 80 Builtin:\x1b[2J\n", (long)code + 0x100);
	fprintf(map, "ffffffffffffffff ffffffffffffffff wrapped\n");
	fclose(map);
	printf("%p\tLazyCompile:~run @ app.js:1\t\t0\n", code + 0x7f);
	printf("%p\told\t\t0\n", code + 0x91);
	printf("%p\tBuiltin:?[2J\t\t0\n", code + 0x111);
	return 0;
}

int main(int argc, char **argv)
{
	plain();
	outer();
	sky(1);
	earth(1);
	sea(1);
	library_outer(1);
	printf("%p\tlabel\t\t0\n", (char *)label + 2);
	MARK("main");
	if (argc > 1 && strcmp(argv[1], "jit") == 0 && make_code() != 0)
		return 1;
	printf(".\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
