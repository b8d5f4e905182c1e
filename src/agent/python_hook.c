/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_hook - loads the Python binding into processes that import the SDK.
 *
 * If the process is a Python interpreter, its table of built-in modules exists when the
 * agent is loaded, before main().  Every start of an interpreter initialises the module
 * `posix`, so its entry in the table is our way in.  From then on we hook the built-in
 * function exec(), with which importlib executes every module, however it is imported.
 * When exec() has executed the SDK's trace module, the hook loads
 * libsonde-agent-python.so from beside this library.
 *
 * A program that never imports the SDK pays a few nanoseconds per imported module, and
 * can observe no difference: no module, path, environment variable or import hook is
 * added.  Python's options (-I, -E, -S) and virtual environments make no difference.  An
 * audit hook would be simpler, but cannot be removed: with one, id() takes 1.7 times as
 * long and copy.deepcopy() 13 % longer.
 *
 * The agent does not link against Python: it looks up the functions that it needs, and
 * leaves Python alone if one is missing.  All of this code runs with the GIL held.
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

/* Functions of Python's C API. */
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
static void *interpreter; /* the first one, the only one followed */
static follow_fn *follow; /* of the binding, once loaded */

static bool is_a(void *object, void *type)
{
	void *object_type = ((void **)object)[1]; /* ob_type */

	return object_type == type || python.PyType_IsSubtype(object_type, type);
}

/* The name of the module with this namespace, or NULL. */
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

/* exec() has executed a module. */
static void module_executed(void *globals)
{
	const char *name = module_name(globals);

	if (!name)
		return;
	if (!follow && !strcmp(name, SDK))
		follow = (follow_fn *)binding_symbol("python/", BINDING, "sonde_python_follow");
	if (follow && (!strcmp(name, SDK) || !strcmp(name, "asyncio") || !strcmp(name, "greenlet")))
		follow(name);
}

static void *exec_hook(void *module, void *const *args, ssize_t n, void *kwnames)
{
	void *done = python_exec(module, args, n, kwnames);

	if (done && n >= 2 && python.PyInterpreterState_Get() == interpreter)
		module_executed(args[1]);
	return done;
}

/* All built-in functions exist when `posix` is initialised. */
static void *posix_init_hook(void)
{
	void *builtins = python.PyEval_GetBuiltins();
	void *exec =
		builtins && !python_exec ? python.PyDict_GetItemString(builtins, "exec") : NULL;
	struct python_method *method =
		exec ? python_method(exec, PYTHON_OF_FUNCTION, "exec") : NULL;

	if (method && (method->flags & ~PYTHON_KEYWORDS) == PYTHON_FASTCALL) {
		interpreter = python.PyInterpreterState_Get();
		python_exec = (exec_fn *)method->function;
		method->function = (void *)exec_hook;
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
	/* Free-threaded builds have another object layout. */
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
		entry->init = posix_init_hook;
		return;
	}
}
