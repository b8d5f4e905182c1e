/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method - replace a C function of Python by one of ours.
 *
 * A built-in function or method points to a PyMethodDef, a public struct in a table that
 * is never const, and each call reads the function pointer there.  So a single store
 * installs our function: no object that a program can see changes, no additional call
 * is visible, and no frame appears in a traceback.
 *
 * The position of that pointer in an object has not changed since Python 3.4, but there
 * are unusual builds (free-threaded, with reference tracing).  So the pointer must be an
 * address in a loaded file before it is followed, and the method must have the expected
 * name and calling convention.
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

enum {                                            /* offset of the pointer to the PyMethodDef */
       PYTHON_OF_FUNCTION = 2 * sizeof(void *),   /* in a built-in function */
       PYTHON_OF_DESCRIPTOR = 5 * sizeof(void *), /* in a method descriptor */
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
