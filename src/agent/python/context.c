/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - which span is this thread in?
 *
 * OpenTelemetry keeps its context in one ContextVar, and Python keeps the values
 * of those in a Context, of which each thread has a current one.  So the span of
 * a thread changes when that variable is set or reset, and when another Context
 * becomes the current one.  Event loops, executors and whoever else runs work for
 * somebody do the latter by Context.run().  All three are methods in C, so
 * they are followed there, and everybody who sets, resets or runs is seen,
 * by whatever name he imported it and however early.
 *
 * What changes contexts in another way is in loops.c.  Where that cannot be
 * followed, the thread's span is not known: a thread of which we lost track
 * publishes nothing until it is found again.
 *
 * A span of another process, which a request brought along, is nothing that
 * this process works in: it is the parent of a span that begins soon.
 */
#include "agent/python/binding.h"

enum thread_state {
	THREAD_NEW, /* it is not known yet what runs on it */
	THREAD_FOLLOWED,
	THREAD_LOST,
};

static PyObject *variable;  /* of OpenTelemetry; NULL: we do not follow */
static PyObject *span_key;  /* under which a context has its span */
static PyObject *of_span;   /* "_context": the SpanContext of a span of the API or the SDK */
static PyObject *by_method; /* "get_span_context": of anybody else's span */
static one_fn *python_set, *python_reset;
static fast_fn *python_run;
static some_fn *python_get; /* of a Context */
static __thread enum thread_state state;
static __thread bool is_in_span; /* so we published */

/* Of any kind of span. */
static const struct known *find_ids(PyObject *span)
{
	PyObject *context = PyObject_GetAttr(span, of_span);
	const struct known *found = NULL;

	if (!context) {
		PyErr_Clear();
		context = PyObject_CallMethodObjArgs(span, by_method, NULL);
	}
	if (context) {
		found = known_find(context);
		Py_DECREF(context);
	} else {
		PyErr_Clear();
	}
	return found;
}

/* Publish the span of a context of OpenTelemetry, which is a dict; NULL for none. */
static void publish(PyObject *context)
{
	PyObject *span = context && PyDict_Check(context)
				 ? PyDict_GetItemWithError(context, span_key)
				 : NULL;
	const struct known *ids = span ? find_ids(span) : NULL;

	if (context && !span)
		PyErr_Clear();
	if (ids && !ids->is_remote) {
		sonde_agent_set_context(ids->trace, ids->span, ids->flags);
		is_in_span = true;
	} else if (is_in_span) {
		sonde_agent_clear_context();
		is_in_span = false;
	}
}

/* Whether this thread's contexts are all seen. */
static inline bool is_followed(void)
{
	if (!variable)
		return false;
	if (state == THREAD_NEW)
		state = loop_is_foreign() ? THREAD_LOST : THREAD_FOLLOWED;
	return state == THREAD_FOLLOWED;
}

void context_publish(void)
{
	PyObject *context = NULL;

	if (!is_followed())
		return;
	if (PyContextVar_Get(variable, NULL, &context) < 0)
		PyErr_Clear();
	publish(context);
	Py_XDECREF(context);
}

void context_publish_after(PyObject *result)
{
	PyObject *type, *value, *trace;

	if (result) {
		context_publish();
		return;
	}
	PyErr_Fetch(&type, &value, &trace);
	context_publish();
	PyErr_Restore(type, value, trace);
}

static void take_back(void)
{
	is_in_span = true; /* so that what comes next is published, also if it is nothing */
	sonde_agent_set_unknown_context();
}

void context_blur(void)
{
	if (is_followed())
		take_back();
}

void context_lose(void)
{
	if (variable)
		take_back();
	state = THREAD_LOST;
}

void context_find(void)
{
	state = THREAD_FOLLOWED;
	context_publish();
}

void context_give_up(void)
{
	context_lose();
	variable = NULL;
}

static PyObject *set_seen(PyObject *self, PyObject *value)
{
	PyObject *token = python_set(self, value);

	if (self == variable && token && is_followed())
		publish(value);
	return token;
}

static PyObject *reset_seen(PyObject *self, PyObject *token)
{
	PyObject *done = python_reset(self, token);

	if (self == variable && done)
		context_publish();
	return done;
}

/* A Context is about to become the current one. */
static void publish_in(PyObject *context)
{
	PyObject *value = python_get(context, &variable, 1);

	if (!value)
		PyErr_Clear();
	publish(value);
	Py_XDECREF(value);
}

static PyObject *run_seen(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	bool followed = is_followed(), was_in_span = is_in_span;
	PyObject *result;

	if (followed)
		publish_in(self);
	result = python_run(self, args, n, kwnames);
	if (was_in_span || !followed)
		context_publish_after(result);
	else if (is_followed())
		publish(NULL); /* as before: nobody else changes the Context that was left */
	return result;
}

static bool find_variable(void)
{
	PyObject *runtime = module_attribute("opentelemetry.context", "_RUNTIME_CONTEXT");
	PyObject *found = runtime ? PyObject_GetAttrString(runtime, "_current_context") : NULL;

	PyErr_Clear();
	Py_XDECREF(runtime);
	if (found && Py_TYPE(found) == &PyContextVar_Type)
		variable = found; /* for as long as the interpreter lives */
	return variable;
}

/* Objects do not outlive the interpreter, but the methods that we are before do. */
static void forget(void)
{
	variable = NULL;
}

bool context_follow(void)
{
	PyObject *var = (PyObject *)&PyContextVar_Type, *context = (PyObject *)&PyContext_Type;

	span_key = module_attribute("opentelemetry.trace.propagation", "_SPAN_KEY");
	of_span = PyUnicode_InternFromString("_context");
	by_method = PyUnicode_InternFromString("get_span_context");
	python_get = (some_fn *)function_of(context, "get", PYTHON_FASTCALL);
	if (!span_key || !of_span || !by_method || !python_get || Py_AtExit(forget))
		return false;
	return put_before(context, "run", PYTHON_FASTCALL | PYTHON_KEYWORDS, (void *)run_seen,
			  (void **)&python_run) &&
	       put_before(var, "set", PYTHON_O, (void *)set_seen, (void **)&python_set) &&
	       put_before(var, "reset", PYTHON_O, (void *)reset_seen, (void **)&python_reset) &&
	       find_variable();
}
