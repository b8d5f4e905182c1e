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
 * SDK does, and keep the first until the second.  One that began before somebody
 * recorded is told when it ends; when it began is then the wall clock's word.
 */
#include "agent/python/binding.h"

#include <time.h>

/* How OpenTelemetry calls those who have no name. */
#define NO_SERVICE "unknown_service"

enum {
	ARGS_MAX = 16,
	KINDS = 5,
};

static PyObject *python_start, *python_end; /* functions of the class */
static struct {
	PyObject *context, *parent, *name, *kind, *status, *status_code, *value, *resource,
		*attributes, *start_time, *end_time;
} key;
static PyObject *resource_seen;
static bool is_named;          /* the process, by the first resource that has a name */
static PyObject *kinds[KINDS]; /* members of SpanKind that were seen, by their numbers */
static PyObject *status_error; /* a member of StatusCode */
static PyObject *status_fine;  /* a Status that is none: the SDK has one for all spans */

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

/* 0 if it has none. */
static unsigned long long get_number(PyObject *object, PyObject *name)
{
	PyObject *value = get(object, name);
	unsigned long long n =
		value && PyLong_Check(value) ? PyLong_AsUnsignedLongLongMask(value) : 0;

	Py_XDECREF(value);
	return n;
}

/* As OTLP has it: 0 is not said, and then one more than Python's. */
static uint8_t kind_of(PyObject *span)
{
	PyObject *kind = get(span, key.kind);
	unsigned long long n = 0;

	if (!kind)
		return 0;
	while (n < KINDS && kinds[n] != kind)
		n++;
	if (n == KINDS) {
		n = get_number(kind, key.value);
		if (n < KINDS && !kinds[n]) {
			kinds[n] = kind; /* for good */
			return (uint8_t)(n + 1);
		}
	}
	Py_DECREF(kind);
	return (uint8_t)(n + 1);
}

static struct known *known_of(PyObject *span, PyObject *name)
{
	PyObject *context = get(span, name);
	struct known *found = context && context != Py_None ? known_find(context) : NULL;

	Py_XDECREF(context);
	return found;
}

/* Note what stays the same until the span ends; NULL if it is not valid. */
static struct known *learn(PyObject *span)
{
	struct known *known = known_of(span, key.parent);
	uint8_t kind = kind_of(span), parent[8] = { 0 };

	if (known)
		memcpy(parent, known->span, sizeof(parent));
	known = known_of(span, key.context);
	if (known) {
		memcpy(known->parent, parent, sizeof(parent));
		known->kind = kind;
	}
	return known;
}

/* `ret_name` is to be kept as long as the result is used. */
static struct sonde_agent_span describe(PyObject *span, const struct known *known,
					PyObject **ret_name)
{
	struct sonde_agent_span told = { .kind = known->kind };
	Py_ssize_t size = 0;
	PyObject *name;

	memcpy(told.trace, known->trace, sizeof(told.trace));
	memcpy(told.span, known->span, sizeof(told.span));
	memcpy(told.parent, known->parent, sizeof(told.parent));
	name = get(span, key.name);
	told.name = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
	if (!told.name) {
		PyErr_Clear();
		told.name = "";
	}
	told.name_size = (size_t)size;
	*ret_name = name;
	return told;
}

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
	if (text) {
		sonde_agent_set_service(text);
		is_named = strncmp(text, NO_SERVICE, strlen(NO_SERVICE)) != 0;
	}
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
	struct known *known = is_none(span, key.start_time) ? learn(span) : NULL;
	struct sonde_agent_span told;
	PyObject *name;

	if (!known)
		return;
	told = describe(span, known, &name);
	told.start = known->start = now_on(CLOCK_MONOTONIC);
	known->begun = span;
	sonde_agent_begin(&told);
	Py_XDECREF(name);
}

/* What is known of a span that is about to end; NULL if it is not about to. */
static struct known *known_at_end(PyObject *span)
{
	struct known *known = known_of(span, key.context);
	uint64_t start, age;

	if (known && known->begun == span)
		return known;
	start = get_number(span, key.start_time);
	if (!start || !is_none(span, key.end_time))
		return NULL;
	known = learn(span);
	age = now_on(CLOCK_REALTIME) - start;
	if (known)
		known->start = (int64_t)age >= 0 ? now_on(CLOCK_MONOTONIC) - age : 0;
	return known;
}

static bool is_error(PyObject *span)
{
	PyObject *status = get(span, key.status), *code;
	bool found;

	if (!status || status == status_fine) {
		Py_XDECREF(status);
		return false;
	}
	code = get(status, key.status_code);
	found = code == status_error;
	Py_XDECREF(code);
	if (found || status_fine)
		Py_DECREF(status);
	else
		status_fine = status; /* for good */
	return found;
}

static void tell_end(PyObject *span)
{
	struct known *known = known_at_end(span);
	PyObject *name;
	struct sonde_agent_span told;

	if (!known)
		return;
	told = describe(span, known, &name);
	told.start = known->start;
	known->begun = NULL;
	told.is_error = is_error(span);
	sonde_agent_end(&told);
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
	if (!is_named)
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

static PyObject *find_error(void)
{
	PyObject *codes = module_attribute("opentelemetry.trace.status", "StatusCode");
	PyObject *found = codes ? PyObject_GetAttrString(codes, "ERROR") : NULL;

	if (!found)
		PyErr_Clear();
	Py_XDECREF(codes);
	return found;
}

bool span_follow(PyObject *span_class)
{
	static PyMethodDef methods[] = {
		{ "start", (PyCFunction)(void *)start_seen, PYTHON_FASTCALL | PYTHON_KEYWORDS,
		  NULL },
		{ "end", (PyCFunction)(void *)end_seen, PYTHON_FASTCALL | PYTHON_KEYWORDS, NULL },
	};

	status_error = find_error();
	return PyType_Check(span_class) && make_keys() && status_error &&
	       replace(span_class, &methods[0], &python_start) &&
	       replace(span_class, &methods[1], &python_end);
}
