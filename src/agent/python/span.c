/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - report the begin and end of the SDK's spans.
 *
 * The binding wraps two methods of the SDK's Span class, so it follows the spans of
 * every provider, whenever it was created and in any thread, before the first span
 * processor runs; and no list of the SDK contains a foreign element.  What the SDK
 * exports is not affected.
 *
 * The SDK's times are on the wall clock.  The binding takes its own times right before
 * the SDK does, and stores the start until the end.  A span that began before the
 * recording is reported when it ends, with a start time converted from the wall clock.
 */
#include "agent/python/binding.h"

#include <time.h>

/* OpenTelemetry's name for a service without one. */
#define NO_SERVICE "unknown_service"

enum {
	ARGS_MAX = 16,
	KINDS = 5,
};

static PyObject *python_start, *python_end; /* methods of the SDK's class */
static struct {
	PyObject *context, *parent, *name, *kind, *status, *status_code, *value, *resource,
		*attributes, *start_time, *end_time;
} key;
static PyObject *last_resource;
static bool is_named;          /* the service name is set, from the first resource with one */
static PyObject *kinds[KINDS]; /* members of SpanKind, by value, once used */
static PyObject *status_error; /* a member of StatusCode */
static PyObject *status_fine;  /* the status object without error, which all spans share */

/* An attribute as a new reference; NULL (no error set) if missing. */
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

/* 0 if missing. */
static unsigned long long get_number(PyObject *object, PyObject *name)
{
	PyObject *value = get(object, name);
	unsigned long long n =
		value && PyLong_Check(value) ? PyLong_AsUnsignedLongLongMask(value) : 0;

	Py_XDECREF(value);
	return n;
}

/* OTLP's number of the kind: 0 is unspecified, otherwise one more than Python's. */
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
			kinds[n] = kind; /* keep the reference */
			return (uint8_t)(n + 1);
		}
	}
	Py_DECREF(kind);
	return (uint8_t)(n + 1);
}

static struct cached_context *cached_context_of(PyObject *span, PyObject *name)
{
	PyObject *context = get(span, name);
	struct cached_context *found =
		context && context != Py_None ? context_cache_find(context) : NULL;

	Py_XDECREF(context);
	return found;
}

/* Cache the data that stays the same until the span ends; NULL if the span is invalid. */
static struct cached_context *cache_span(PyObject *span)
{
	struct cached_context *cached_context = cached_context_of(span, key.parent);
	uint8_t kind = kind_of(span), parent[8] = { 0 };

	if (cached_context)
		memcpy(parent, cached_context->span, sizeof(parent));
	cached_context = cached_context_of(span, key.context);
	if (cached_context) {
		memcpy(cached_context->parent, parent, sizeof(parent));
		cached_context->kind = kind;
	}
	return cached_context;
}

/* `ret_name` owns the name in the result. */
static struct sonde_agent_span describe(PyObject *span, const struct cached_context *cached_context,
					PyObject **ret_name)
{
	struct sonde_agent_span event = { .kind = cached_context->kind };
	Py_ssize_t size = 0;
	PyObject *name;

	memcpy(event.trace, cached_context->trace, sizeof(event.trace));
	memcpy(event.span, cached_context->span, sizeof(event.span));
	memcpy(event.parent, cached_context->parent, sizeof(event.parent));
	name = get(span, key.name);
	event.name = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
	if (!event.name) {
		PyErr_Clear();
		event.name = "";
	}
	event.name_size = (size_t)size;
	*ret_name = name;
	return event;
}

static void report_service(PyObject *span)
{
	PyObject *resource = get(span, key.resource), *attributes, *name;
	const char *text;

	if (!resource || resource == last_resource) {
		Py_XDECREF(resource);
		return;
	}
	Py_XDECREF(last_resource);
	last_resource = resource;
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

static void report_begin(PyObject *span)
{
	struct cached_context *cached_context =
		is_none(span, key.start_time) ? cache_span(span) : NULL;
	struct sonde_agent_span event;
	PyObject *name;

	if (!cached_context)
		return;
	event = describe(span, cached_context, &name);
	event.start = cached_context->start = now_on(CLOCK_MONOTONIC);
	cached_context->begun = span;
	sonde_agent_begin(&event);
	Py_XDECREF(name);
}

/* The cached context of a span that is about to end; NULL if it has not begun or has ended. */
static struct cached_context *context_at_end(PyObject *span)
{
	struct cached_context *cached_context = cached_context_of(span, key.context);
	uint64_t start, age;

	if (cached_context && cached_context->begun == span)
		return cached_context;
	start = get_number(span, key.start_time);
	if (!start || !is_none(span, key.end_time))
		return NULL;
	cached_context = cache_span(span);
	age = now_on(CLOCK_REALTIME) - start;
	if (cached_context)
		cached_context->start = (int64_t)age >= 0 ? now_on(CLOCK_MONOTONIC) - age : 0;
	return cached_context;
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
		status_fine = status; /* keep the reference */
	return found;
}

static void report_end(PyObject *span)
{
	struct cached_context *cached_context = context_at_end(span);
	PyObject *name;
	struct sonde_agent_span event;

	if (!cached_context)
		return;
	event = describe(span, cached_context, &name);
	event.start = cached_context->start;
	cached_context->begun = NULL;
	event.is_error = is_error(span);
	sonde_agent_end(&event);
	Py_XDECREF(name);
}

/* A vectorcall for older versions of Python. */
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

/* Call a method of the SDK with `self` as the first argument. */
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

static PyObject *start_hook(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	if (!is_named)
		report_service(self);
	if (sonde_agent_is_recording())
		report_begin(self);
	return call(python_start, self, args, n, kwnames);
}

static PyObject *end_hook(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	if (sonde_agent_is_recording())
		report_end(self);
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

/* Replace a method written in Python; returns the original. */
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
		{ "start", (PyCFunction)(void *)start_hook, PYTHON_FASTCALL | PYTHON_KEYWORDS,
		  NULL },
		{ "end", (PyCFunction)(void *)end_hook, PYTHON_FASTCALL | PYTHON_KEYWORDS, NULL },
	};

	status_error = find_error();
	return PyType_Check(span_class) && make_keys() && status_error &&
	       replace(span_class, &methods[0], &python_start) &&
	       replace(span_class, &methods[1], &python_end);
}
