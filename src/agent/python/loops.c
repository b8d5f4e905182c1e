/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loops - follow code that changes contexts without calling Context.run().
 *
 * Python's own event loop calls Context.run() for each step, and so do trio, executors
 * and frameworks.  Three others matter:
 *
 * - A task that starts eagerly (Python 3.12) runs its first step inside the call that
 *   creates it.  After that call, the caller's span is published again.
 *
 * - Event loops written in other languages, such as uvloop, enter contexts through the C
 *   API.  A loop announces itself with _set_running_loop().  While a loop runs that is
 *   not derived from Python's own, the thread's span is unknown.
 *
 * - Each greenlet has its own context, which changes on a switch, by a method or by
 *   greenlet's C API.  From a switch until it returns, or until the greenlet sets its
 *   context, the thread's span is unknown.  So it is unknown in a new greenlet: nothing
 *   reports its begin.
 */
#include "agent/python/binding.h"

enum { /* indices in the table of greenlet's C API, from greenlet.h */
       GREENLET_THROW = 5,
       GREENLET_SWITCH = 6,
};

typedef PyObject *throw_fn(PyObject *greenlet, PyObject *type, PyObject *value, PyObject *trace);

enum { TYPE_INIT = 37 }; /* index of tp_init in a type, in pointers */

static PyObject *own_loop; /* base class of Python's own loops */
static PyObject *running;  /* asyncio._get_running_loop() */
static one_fn *python_set_running;
static initproc task_init;
static words_fn *method_switch, *api_switch;
static one_fn *method_throw;
static throw_fn *api_throw;

static bool is_foreign(PyObject *loop)
{
	int own = loop == Py_None || !own_loop ? 1 : PyObject_IsInstance(loop, own_loop);

	if (own < 0)
		PyErr_Clear();
	return own <= 0;
}

bool loop_is_foreign(void)
{
	PyObject *loop = running ? PyObject_CallNoArgs(running) : NULL;
	bool foreign = loop && is_foreign(loop);

	if (!loop)
		PyErr_Clear();
	Py_XDECREF(loop);
	return foreign;
}

static PyObject *set_running_hook(PyObject *module, PyObject *loop)
{
	PyObject *done = python_set_running(module, loop);

	if (!done)
		return NULL;
	if (is_foreign(loop))
		context_stop();
	else
		context_resume();
	return done;
}

static int task_init_hook(PyObject *self, PyObject *args, PyObject *words)
{
	int done = task_init(self, args, words);

	if (!done)
		context_publish();
	return done;
}

/* The tp_init slot of a type; NULL if its layout is unexpected. */
static initproc *init_slot(PyObject *type)
{
	initproc *slot = (initproc *)type + TYPE_INIT;

	return PyType_Check(type) && *slot == PyType_GetSlot((PyTypeObject *)type, Py_tp_init)
		       ? slot
		       : NULL;
}

/* The first step of an eager task runs inside its constructor. */
static void follow_eager_tasks(void)
{
	PyObject *task = module_attribute("_asyncio", "Task");
	PyObject *eager = module_attribute("asyncio", "eager_task_factory");
	initproc *slot = eager && task ? init_slot(task) : NULL;

	if (eager && !slot)
		context_disable();
	if (slot && *slot != task_init_hook) {
		task_init = *slot;
		*slot = task_init_hook;
	}
	Py_XDECREF(eager);
	Py_XDECREF(task);
}

void loops_follow_asyncio(void)
{
	PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "_asyncio");

	if (own_loop || !module)
		return;
	running = module_attribute("_asyncio", "_get_running_loop");
	own_loop = module_attribute("asyncio.base_events", "BaseEventLoop");
	if (!running || !own_loop ||
	    !hook_method(module, "_set_running_loop", PYTHON_O, (void *)set_running_hook,
			 (void **)&python_set_running))
		context_disable();
	follow_eager_tasks();
}

static PyObject *method_switch_hook(PyObject *self, PyObject *args, PyObject *words)
{
	PyObject *got;

	context_set_unknown();
	got = method_switch(self, args, words);
	context_publish_after(got);
	return got;
}

static PyObject *method_throw_hook(PyObject *self, PyObject *args)
{
	PyObject *got;

	context_set_unknown();
	got = method_throw(self, args);
	context_publish_after(got);
	return got;
}

static PyObject *api_switch_hook(PyObject *greenlet, PyObject *args, PyObject *words)
{
	PyObject *got;

	context_set_unknown();
	got = api_switch(greenlet, args, words);
	context_publish_after(got);
	return got;
}

static PyObject *api_throw_hook(PyObject *greenlet, PyObject *type, PyObject *value,
				PyObject *trace)
{
	PyObject *got;

	context_set_unknown();
	got = api_throw(greenlet, type, value, trace);
	context_publish_after(got);
	return got;
}

/* Extension modules call these functions through a table. */
static bool follow_greenlet_api(void)
{
	PyObject *capsule = module_attribute("greenlet", "_C_API");
	void **table = capsule ? PyCapsule_GetPointer(capsule, "greenlet._C_API") : NULL;

	if (table && table[GREENLET_SWITCH] != (void *)api_switch_hook) {
		api_switch = (words_fn *)table[GREENLET_SWITCH];
		api_throw = (throw_fn *)table[GREENLET_THROW];
		table[GREENLET_SWITCH] = (void *)api_switch_hook;
		table[GREENLET_THROW] = (void *)api_throw_hook;
	}
	PyErr_Clear();
	Py_XDECREF(capsule);
	return table;
}

void loops_follow_greenlet(void)
{
	PyObject *type = module_attribute("greenlet", "greenlet");

	if (type && !(follow_greenlet_api() &&
		      hook_method(type, "switch", PYTHON_VARARGS | PYTHON_KEYWORDS,
				  (void *)method_switch_hook, (void **)&method_switch) &&
		      hook_method(type, "throw", PYTHON_VARARGS, (void *)method_throw_hook,
				  (void **)&method_throw)))
		context_disable();
	Py_XDECREF(type);
}
