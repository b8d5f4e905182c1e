/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load - the entry point of the Python binding, called by python_hook.c.
 *
 * The binding contains no Python code and is not a module, so it does not appear in
 * sys.modules.  It keeps its references to the program's objects until the interpreter
 * ends.
 */
#include "agent/python/binding.h"

SONDE_AGENT_API void sonde_python_follow(const char *module);

PyObject *module_attribute(const char *module, const char *name)
{
	PyObject *found = PyDict_GetItemString(PyImport_GetModuleDict(), module); /* borrowed */
	PyObject *value = found ? PyObject_GetAttrString(found, name) : NULL;

	if (!value)
		PyErr_Clear();
	return value;
}

/* The PyMethodDef of a type's method or of a module's function. */
static struct python_method *method_of(PyObject *owner, const char *name)
{
	PyObject *callable = PyObject_GetAttrString(owner, name);
	struct python_method *method = NULL;

	if (!callable) {
		PyErr_Clear();
		return NULL;
	}
	if (PyCFunction_Check(callable))
		method = python_method(callable, PYTHON_OF_FUNCTION, name);
	else if (Py_TYPE(callable) == &PyMethodDescr_Type)
		method = python_method(callable, PYTHON_OF_DESCRIPTOR, name);
	Py_DECREF(callable);
	return method;
}

void *function_of(PyObject *owner, const char *name, int flags)
{
	struct python_method *method = method_of(owner, name);

	return method && method->flags == flags ? method->function : NULL;
}

bool hook_method(PyObject *owner, const char *name, int flags, void *ours, void **ret_theirs)
{
	struct python_method *method = method_of(owner, name);

	if (!method || method->flags != flags)
		return false;
	if (method->function != ours) { /* not hooked yet */
		*ret_theirs = method->function;
		method->function = ours;
	}
	return true;
}

static void follow_sdk(void)
{
	static bool done;
	PyObject *span = module_attribute("opentelemetry.sdk.trace", "Span");

	if (span && !done) {
		done = true; /* try only once */
		if (span_follow(span) && context_follow()) {
			loops_follow_asyncio();
			loops_follow_greenlet();
			sonde_agent_is_recording(); /* creates the arena: it shows that the binding
						       works */
		}
	}
	Py_XDECREF(span);
}

/* A module has been executed: the SDK's trace module, always first, or asyncio or greenlet. */
void sonde_python_follow(const char *module)
{
	PyObject *type, *value, *trace;

	PyErr_Fetch(&type, &value, &trace);
	if (!strcmp(module, "asyncio"))
		loops_follow_asyncio();
	else if (!strcmp(module, "greenlet"))
		loops_follow_greenlet();
	else
		follow_sdk();
	PyErr_Restore(type, value, trace);
}
