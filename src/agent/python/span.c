/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - see spans of the SDK begin and end.
 *
 * Two methods of the SDK's class are put behind ours, so that spans of every
 * provider are seen, whenever it was made, in whatever thread, before the
 * first of its processors; and none of its lists has a member that the program
 * did not put there.  What the SDK exports stays its own affair.
 *
 * A span has its times on the wall clock; we take our own, right before the
 * SDK does.  One that began before somebody recorded is told when it ends; when it
 * began is then the wall clock's word.
 */
#include "agent/python/binding.h"

#include <time.h>

enum { ARGS_MAX = 16 };

static PyObject *python_start, *python_end; /* functions of the class */
static struct {
	PyObject *context, *parent, *name, *kind, *status, *status_code, *value, *resource,
		*attributes, *start_time, *end_time;
} key;
static PyObject *resource_seen;

/* An attribute as a new reference, or NULL; never with an error. */
static PyObject *get(PyObject *object, PyObject *name)
{
	PyObject *value = object ? PyObject_GetAttr(object, name) : NULL;

	if (!value)
		PyErr_Clear();
	return value;
}

static bool is_none(PyObject *object, PyObject *name)
{
	PyObject *value = get(object, name);

	Py_XDECREF(value);
	return value == Py_None;
}

/* The number of an attribute that is a number or an enum; 0 if there is none. */
static unsigned long long get_number(PyObject *object, PyObject *name)
{
	PyObject *value = get(object, name), *number;
	unsigned long long n = 0;

	if (value && !PyLong_Check(value)) {
		number = get(value, key.value);
		Py_DECREF(value);
		value = number;
	}
	if (value && PyLong_Check(value))
		n = PyLong_AsUnsignedLongLongMask(value);
	Py_XDECREF(value);
	return n;
}

static bool put_ids(PyObject *span, PyObject *name, struct ids *ret)
{
	PyObject *context = get(span, name);
	bool found = context && ids_of(context, ret);

	if (!found)
		PyErr_Clear();
	Py_XDECREF(context);
	return found;
}

/* What both ends have in common. `ret_name` is to be kept as long as the result is used. */
static bool describe(PyObject *span, struct sonde_agent_span *ret, PyObject **ret_name)
{
	struct sonde_agent_span told = { 0 };
	struct ids ids, parent;
	Py_ssize_t size = 0;
	PyObject *name;

	if (!put_ids(span, key.context, &ids))
		return false;
	memcpy(told.trace, ids.trace, sizeof(told.trace));
	memcpy(told.span, ids.span, sizeof(told.span));
	if (put_ids(span, key.parent, &parent))
		memcpy(told.parent, parent.span, sizeof(told.parent));
	told.kind = (uint8_t)(get_number(span, key.kind) + 1); /* as OTLP has it: 0 is not said */
	name = get(span, key.name);
	told.name = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
	if (!told.name) {
		PyErr_Clear();
		told.name = "";
	}
	told.name_size = (size_t)size;
	*ret = told;
	*ret_name = name;
	return true;
}

/* The first that has a name gives it to the process. */
static void tell_service(PyObject *span)
{
	PyObject *resource = get(span, key.resource), *attributes, *name;
	const char *text;

	if (!resource || resource == resource_seen) {
		Py_XDECREF(resource);
		return;
	}
	Py_XDECREF(resource_seen);
	resource_seen = resource;
	attributes = get(resource, key.attributes);
	name = attributes ? PyMapping_GetItemString(attributes, "service.name") : NULL;
	text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	if (text)
		sonde_agent_set_service(text);
	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(attributes);
}

static uint64_t now_on(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void tell_begin(PyObject *span)
{
	struct sonde_agent_span told;
	PyObject *name;

	if (!is_none(span, key.start_time) || !describe(span, &told, &name))
		return;
	sonde_agent_begin(&told);
	Py_XDECREF(name);
}

static void tell_end(PyObject *span)
{
	struct sonde_agent_span told;
	PyObject *name, *status;
	uint64_t start = get_number(span, key.start_time);
	uint64_t age;

	if (!start || !is_none(span, key.end_time) || !describe(span, &told, &name))
		return;
	age = now_on(CLOCK_REALTIME) - start;
	if ((int64_t)age >= 0)
		told.start = now_on(CLOCK_MONOTONIC) - age;
	status = get(span, key.status);
	told.is_error = status && get_number(status, key.status_code) == 2;
	sonde_agent_end(&told);
	Py_XDECREF(status);
	Py_XDECREF(name);
}

/* Arguments by position, then those by name, as a call has them in older versions. */
static PyObject *call_packed(PyObject *function, PyObject *const *args, Py_ssize_t n,
			     PyObject *kwnames)
{
	PyObject *packed = PyTuple_New(n), *words = PyDict_New(), *result = NULL;
	Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0, i;

	for (i = 0; packed && i < n; i++) {
		Py_INCREF(args[i]);
		PyTuple_SetItem(packed, i, args[i]);
	}
	for (i = 0; words && i < named; i++)
		if (PyDict_SetItem(words, PyTuple_GetItem(kwnames, i), args[n + i]))
			break;
	if (packed && words && i == named)
		result = PyObject_Call(function, packed, words);
	Py_XDECREF(packed);
	Py_XDECREF(words);
	return result;
}

/* Theirs, with the span before the other arguments. */
static PyObject *call(PyObject *function, PyObject *self, PyObject *const *args, Py_ssize_t n,
		      PyObject *kwnames)
{
	Py_ssize_t all = n + (kwnames ? PyTuple_Size(kwnames) : 0);
	PyObject *with_self[ARGS_MAX];

	if (all >= ARGS_MAX) {
		PyErr_SetString(PyExc_TypeError, "too many arguments");
		return NULL;
	}
	with_self[0] = self;
	if (all)
		memcpy(with_self + 1, args, (size_t)all * sizeof(*args));
	if (!PyObject_Vectorcall)
		return call_packed(function, with_self, n + 1, kwnames);
	return PyObject_Vectorcall(function, with_self, (size_t)n + 1, kwnames);
}

static PyObject *start_seen(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	tell_service(self);
	if (sonde_agent_is_recording())
		tell_begin(self);
	return call(python_start, self, args, n, kwnames);
}

static PyObject *end_seen(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	if (sonde_agent_is_recording())
		tell_end(self);
	return call(python_end, self, args, n, kwnames);
}

static bool make_keys(void)
{
	const struct {
		PyObject **to;
		const char *text;
	} keys[] = {
		{ &key.context, "_context" },
		{ &key.parent, "_parent" },
		{ &key.name, "_name" },
		{ &key.kind, "_kind" },
		{ &key.status, "_status" },
		{ &key.status_code, "_status_code" },
		{ &key.value, "_value_" },
		{ &key.resource, "_resource" },
		{ &key.attributes, "attributes" },
		{ &key.start_time, "_start_time" },
		{ &key.end_time, "_end_time" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		*keys[i].to = PyUnicode_InternFromString(keys[i].text);
		if (!*keys[i].to)
			return false;
	}
	return true;
}

/* Put ours before a method that is written in Python; theirs is kept. */
static bool replace(PyObject *class, PyMethodDef *method, PyObject **ret_theirs)
{
	PyObject *theirs = PyObject_GetAttrString(class, method->ml_name);
	PyObject *ours = PyDescr_NewMethod((PyTypeObject *)class, method);
	bool done = false;

	if (theirs && ours) {
		*ret_theirs = theirs;
		Py_INCREF(theirs);
		done = !PyObject_SetAttrString(class, method->ml_name, ours);
	}
	if (!done)
		PyErr_Clear();
	Py_XDECREF(ours);
	Py_XDECREF(theirs);
	return done;
}

bool span_follow(PyObject *span_class)
{
	static PyMethodDef methods[] = {
		{ "start", (PyCFunction)(void *)start_seen, PYTHON_FASTCALL | PYTHON_KEYWORDS,
		  NULL },
		{ "end", (PyCFunction)(void *)end_seen, PYTHON_FASTCALL | PYTHON_KEYWORDS, NULL },
	};

	return PyType_Check(span_class) && make_keys() &&
	       replace(span_class, &methods[0], &python_start) &&
	       replace(span_class, &methods[1], &python_end);
}
