/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject - a program that knows its own symbols.
 *
 * Each MARK() calls out, so that the return address is a known place in a known
 * function at a known line.  It prints, with tabs between them,
 *
 *	ADDRESS [FUNCTION SOURCE LINE]...
 *
 * innermost function first, the rest being those that it was inlined into.
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#define EXPORT __attribute__((visibility("default")))

__attribute__((noinline)) EXPORT void subject_mark(const char *here, const char *caller,
						   const char *its_caller);
__attribute__((noinline)) EXPORT void library_outer(int depth);

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define HERE(function) "\t" function "\t" __FILE_NAME__ "\t" TEXT(__LINE__)

/* The empty assembler keeps the call from becoming a jump, which would leave no frame. */
#define MARK_INLINED(function, caller, its_caller) \
	do { \
		subject_mark(HERE(function), caller, its_caller); \
		__asm__ volatile(""); \
	} while (0)

#define MARK(function) MARK_INLINED(function, "", "")

#endif
