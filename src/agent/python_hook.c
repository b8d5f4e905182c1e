/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_hook - how the agent gets into Python, and only where it is wanted.
 *
 * A process that has Python has its table of built-in modules when the agent is
 * loaded, before main().  The module `posix` is made in every start of an
 * interpreter, so its entry there is our way in: from then on the built-in
 * function exec() is followed, by which importlib executes every module,
 * however it is imported.  When it has executed the SDK's module for traces,
 * libsonde-agent-python.so is loaded from beside this library and does the rest.
 *
 * A program that never imports an SDK has paid a few nanoseconds for
 * each module that it imports, and nothing that it can see is different: no
 * module, no path, no environment variable, no hook of importing.  Options of
 * Python (-I, -E, -S) and virtual environments make no difference.  An audit
 * hook would do the same, and cannot be taken back: with it, id() takes 1.7 times as
 * long and copy.deepcopy() 13 % longer.
 *
 * Nothing of Python is linked: what is needed is looked up, and where one is
 * missing, Python is left alone.  All of this runs under Python's lock.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "agent/load_binding.h"
#include "agent/python/method.h"

#define BINDING "libsonde-agent-python.so"
#define SDK "opentelemetry.sdk.trace"

struct inittab { /* struct _inittab of Python's import.h */
	const char *name;
	void *(*init)(void);
};

typedef void *exec_fn(void *module, void *const *args, ssize_t n, void *kwnames);
typedef void follow_fn(const char *module);

/* What Python has of these names; the prefix is that of Python. */
static struct {
	void *(*PyEval_GetBuiltins)(void);
	void *(*PyDict_GetItemString)(void *dict, const char *key);
	void (*PyErr_Clear)(void);
	const char *(*PyUnicode_AsUTF8)(void *text);
	int (*PyType_IsSubtype)(void *type, void *base);
	void *(*PyInterpreterState_Get)(void);
	void *PyDict_Type, *PyUnicode_Type;
} python;

static void *(*posix_init)(void);
static exec_fn *python_exec;
static void *interpreter; /* the one that we follow: the first */
static follow_fn *follow; /* the binding's, once it is loaded */

static bool is_a(void *object, void *type)
{
	void *its = ((void **)object)[1]; /* ob_type */

	return its == type || python.PyType_IsSubtype(its, type);
}

/* The name of the module whose namespace this is, or NULL. */
static const char *module_name(void *globals)
{
	void *name = NULL;
	const char *text = NULL;

	if (is_a(globals, python.PyDict_Type))
		name = python.PyDict_GetItemString(globals, "__name__");
	if (name && is_a(name, python.PyUnicode_Type))
		text = python.PyUnicode_AsUTF8(name);
	if (!text)
		python.PyErr_Clear();
	return text;
}

/* A module has been executed. */
static void see(void *globals)
{
	const char *name = module_name(globals);

	if (!name)
		return;
	if (!follow && !strcmp(name, SDK))
		follow = (follow_fn *)binding_function("python/", BINDING, "sonde_python_follow");
	if (follow && (!strcmp(name, SDK) || !strcmp(name, "asyncio") || !strcmp(name, "greenlet")))
		follow(name);
}

static void *exec_seen(void *module, void *const *args, ssize_t n, void *kwnames)
{
	void *done = python_exec(module, args, n, kwnames);

	if (done && n >= 2 && python.PyInterpreterState_Get() == interpreter)
		see(args[1]);
	return done;
}

/* Python's own is made, and with it all built-in functions are there. */
static void *posix_init_seen(void)
{
	void *builtins = python.PyEval_GetBuiltins();
	void *exec =
		builtins && !python_exec ? python.PyDict_GetItemString(builtins, "exec") : NULL;
	struct python_method *method =
		exec ? python_method(exec, PYTHON_OF_FUNCTION, "exec") : NULL;

	if (method && (method->flags & ~PYTHON_KEYWORDS) == PYTHON_FASTCALL) {
		interpreter = python.PyInterpreterState_Get();
		python_exec = (exec_fn *)method->function;
		method->function = (void *)exec_seen;
	}
	return posix_init();
}

static bool look_up(void)
{
	const struct {
		void *to;
		const char *name;
	} wanted[] = {
		{ &python.PyEval_GetBuiltins, "PyEval_GetBuiltins" },
		{ &python.PyDict_GetItemString, "PyDict_GetItemString" },
		{ &python.PyErr_Clear, "PyErr_Clear" },
		{ &python.PyUnicode_AsUTF8, "PyUnicode_AsUTF8" },
		{ &python.PyType_IsSubtype, "PyType_IsSubtype" },
		{ &python.PyInterpreterState_Get, "PyInterpreterState_Get" },
		{ &python.PyDict_Type, "PyDict_Type" },
		{ &python.PyUnicode_Type, "PyUnicode_Type" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *found = dlsym(RTLD_DEFAULT, wanted[i].name);

		if (!found)
			return false;
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	/* In builds without the lock, objects look otherwise. */
	return !dlsym(RTLD_DEFAULT, "_Py_MergeZeroLocalRefcount");
}

__attribute__((constructor)) static void find_python(void)
{
	struct inittab **table = dlsym(RTLD_DEFAULT, "PyImport_Inittab");

	if (!table || !*table || !look_up())
		return;
	for (struct inittab *entry = *table; entry->name; entry++) {
		if (strcmp(entry->name, "posix"))
			continue;
		posix_init = entry->init;
		entry->init = posix_init_seen;
		return;
	}
}
