/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loops - what changes contexts without calling Context.run().
 *
 * Python's own event loop calls it for each step, and so do trio, executors and
 * frameworks.  There are three others that matter:
 *
 * - A task that is started eagerly (Python 3.12) runs its first step inside of
 *   the call that makes it.  When that is over, the caller's span is
 *   published again.
 *
 * - Event loops in other languages, as uvloop, enter contexts by functions of
 *   the C API.  A loop says that it runs by _set_running_loop().  While one runs
 *   that is not made of Python's own, the thread is lost.
 *
 * - Greenlets each have a context, and change it when they switch, by a method
 *   or by greenlet's own C API.  From where one switches away, the thread's span
 *   is not known, until it comes back from that, or sets its context.  So it is not
 *   known of one that is new, for nobody tells when it begins.
 */
#include "agent/python/binding.h"

enum { /* in the table of greenlet's C API, as in its greenlet.h */
       GREENLET_THROW = 5,
       GREENLET_SWITCH = 6,
};

typedef PyObject *throw_fn(PyObject *greenlet, PyObject *type, PyObject *value, PyObject *trace);

enum { TYPE_INIT = 37 }; /* tp_init, in pointers from the beginning of a type */

static PyObject *own_loop; /* the class that Python's own loops are made of */
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

static PyObject *set_running_seen(PyObject *module, PyObject *loop)
{
	PyObject *done = python_set_running(module, loop);

	if (!done)
		return NULL;
	if (is_foreign(loop))
		context_lose();
	else
		context_find();
	return done;
}

static int task_init_seen(PyObject *self, PyObject *args, PyObject *words)
{
	int done = task_init(self, args, words);

	if (!done)
		context_publish();
	return done;
}

/* Where a type has the function by which its objects are initialised. */
static initproc *init_slot(PyObject *type)
{
	initproc *slot = (initproc *)type + TYPE_INIT;

	return PyType_Check(type) && *slot == PyType_GetSlot((PyTypeObject *)type, Py_tp_init)
		       ? slot
		       : NULL;
}

/* The first step of a task that is made may be inside of that call. */
static void follow_eager_tasks(void)
{
	PyObject *task = module_attribute("_asyncio", "Task");
	PyObject *eager = module_attribute("asyncio", "eager_task_factory");
	initproc *slot = eager && task ? init_slot(task) : NULL;

	if (eager && !slot)
		context_give_up();
	if (slot && *slot != task_init_seen) {
		task_init = *slot;
		*slot = task_init_seen;
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
	    !put_before(module, "_set_running_loop", PYTHON_O, (void *)set_running_seen,
			(void **)&python_set_running))
		context_give_up();
	follow_eager_tasks();
}

static PyObject *method_switch_seen(PyObject *self, PyObject *args, PyObject *words)
{
	PyObject *got;

	context_blur();
	got = method_switch(self, args, words);
	context_publish_after(got);
	return got;
}

static PyObject *method_throw_seen(PyObject *self, PyObject *args)
{
	PyObject *got;

	context_blur();
	got = method_throw(self, args);
	context_publish_after(got);
	return got;
}

static PyObject *api_switch_seen(PyObject *greenlet, PyObject *args, PyObject *words)
{
	PyObject *got;

	context_blur();
	got = api_switch(greenlet, args, words);
	context_publish_after(got);
	return got;
}

static PyObject *api_throw_seen(PyObject *greenlet, PyObject *type, PyObject *value,
				PyObject *trace)
{
	PyObject *got;

	context_blur();
	got = api_throw(greenlet, type, value, trace);
	context_publish_after(got);
	return got;
}

/* Others' modules in C take these functions from a table. */
static bool follow_greenlet_api(void)
{
	PyObject *capsule = module_attribute("greenlet", "_C_API");
	void **table = capsule ? PyCapsule_GetPointer(capsule, "greenlet._C_API") : NULL;

	if (table && table[GREENLET_SWITCH] != (void *)api_switch_seen) {
		api_switch = (words_fn *)table[GREENLET_SWITCH];
		api_throw = (throw_fn *)table[GREENLET_THROW];
		table[GREENLET_SWITCH] = (void *)api_switch_seen;
		table[GREENLET_THROW] = (void *)api_throw_seen;
	}
	PyErr_Clear();
	Py_XDECREF(capsule);
	return table;
}

void loops_follow_greenlet(void)
{
	PyObject *type = module_attribute("greenlet", "greenlet");

	if (type && !(follow_greenlet_api() &&
		      put_before(type, "switch", PYTHON_VARARGS | PYTHON_KEYWORDS,
				 (void *)method_switch_seen, (void **)&method_switch) &&
		      put_before(type, "throw", PYTHON_VARARGS, (void *)method_throw_seen,
				 (void **)&method_throw)))
		context_give_up();
	Py_XDECREF(type);
}
