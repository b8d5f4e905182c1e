/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method - put a function of ours before one that Python has in C.
 *
 * A built-in function or method points to a PyMethodDef, which is a public
 * struct, in a table that is never const; each call looks there for the function.
 * So one store puts ours before theirs: no object that a program can see is
 * another one, nothing is called that was not called before, and no frame
 * appears in a traceback.
 *
 * Where an object keeps that pointer has not changed since Python 3.4, but
 * builds of another kind exist (free threads, traced references).  So what is
 * found there must be an address in a loaded file before it is followed, and
 * must have the name and the calling convention that we expect.
 */
#ifndef SONDE_AGENT_PYTHON_METHOD_H
#define SONDE_AGENT_PYTHON_METHOD_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct python_method { /* PyMethodDef */
	const char *name;
	void *function;
	int flags;
	const char *doc;
};

enum { /* METH_ of Python's methodobject.h */
       PYTHON_VARARGS = 0x01,
       PYTHON_KEYWORDS = 0x02,
       PYTHON_O = 0x08,
       PYTHON_FASTCALL = 0x80,
};

enum {
	PYTHON_OF_FUNCTION = 2 * sizeof(void *),   /* where a built-in function has the pointer */
	PYTHON_OF_DESCRIPTOR = 5 * sizeof(void *), /* where the method of a type has it */
};

static inline struct python_method *python_method(void *object, size_t offset, const char *name)
{
	struct python_method *method = *(struct python_method **)((char *)object + offset);
	Dl_info where;

	if (!dladdr(method, &where) || !dladdr(method->name, &where) || strcmp(method->name, name))
		return NULL;
	return method;
}

#endif
