/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - follow the current span of each thread.
 *
 * OpenTelemetry stores its context in one ContextVar, and Python stores the values of
 * such variables in a Context, of which each thread has a current one.  So the span of a
 * thread changes when the variable is set or reset, and when another Context becomes
 * current.  Event loops, executors and other schedulers do the latter with Context.run().
 * All three are methods written in C, so they are hooked there, and every caller is
 * followed, no matter how and when it imported them.
 *
 * loops.c handles code that changes contexts in another way.  If such code cannot be
 * followed, the thread's span is unknown until the thread can be followed again.
 *
 * A remote span, which came with a request, is not published: it is only the parent of
 * a span that begins soon.
 */
#include "agent/python/binding.h"

enum follow_state {
	THREAD_NEW, /* its event loop has not been checked */
	THREAD_FOLLOWED,
	THREAD_LOST,
};

static PyObject *variable;          /* of OpenTelemetry; NULL: nothing is followed */
static PyObject *span_key;          /* key of the span in a context */
static PyObject *context_attribute; /* "_context": attribute with the SpanContext, in spans of the
				       API and the SDK */
static PyObject *context_method;    /* "get_span_context": method of all other spans */
static one_fn *python_set, *python_reset;
static fast_fn *python_run;
static some_fn *python_get; /* Context.get() */
static __thread enum follow_state state;
static __thread bool is_in_span; /* as last published */

/* The ids of any kind of span. */
static const struct cached_context *find_ids(PyObject *span)
{
	PyObject *context = PyObject_GetAttr(span, context_attribute);
	const struct cached_context *found = NULL;

	if (!context) {
		PyErr_Clear();
		context = PyObject_CallMethodObjArgs(span, context_method, NULL);
	}
	if (context) {
		found = context_cache_find(context);
		Py_DECREF(context);
	} else {
		PyErr_Clear();
	}
	return found;
}

/* Publish the span of an OpenTelemetry context, which is a dict; NULL for none. */
static void publish(PyObject *context)
{
	PyObject *span = context && PyDict_Check(context)
				 ? PyDict_GetItemWithError(context, span_key)
				 : NULL;
	const struct cached_context *ids = span ? find_ids(span) : NULL;

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

/* Whether all context changes of this thread can be followed. */
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

static void publish_unknown(void)
{
	is_in_span = true; /* forces the next publish, even of no span */
	sonde_agent_set_unknown_context();
}

void context_set_unknown(void)
{
	if (is_followed())
		publish_unknown();
}

void context_stop(void)
{
	if (variable)
		publish_unknown();
	state = THREAD_LOST;
}

void context_resume(void)
{
	state = THREAD_FOLLOWED;
	context_publish();
}

void context_disable(void)
{
	context_stop();
	variable = NULL;
}

static PyObject *set_hook(PyObject *self, PyObject *value)
{
	PyObject *token = python_set(self, value);

	if (self == variable && token && is_followed())
		publish(value);
	return token;
}

static PyObject *reset_hook(PyObject *self, PyObject *token)
{
	PyObject *done = python_reset(self, token);

	if (self == variable && done)
		context_publish();
	return done;
}

/* Publish the span of a Context that is about to become current. */
static void publish_in(PyObject *context)
{
	PyObject *value = python_get(context, &variable, 1);

	if (!value)
		PyErr_Clear();
	publish(value);
	Py_XDECREF(value);
}

static PyObject *run_hook(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
	bool followed = is_followed(), was_in_span = is_in_span;
	PyObject *result;

	if (followed)
		publish_in(self);
	result = python_run(self, args, n, kwnames);
	if (was_in_span || !followed)
		context_publish_after(result);
	else if (is_followed())
		publish(NULL); /* as before: no one else changes a Context that is not current */
	return result;
}

static bool find_variable(void)
{
	PyObject *runtime = module_attribute("opentelemetry.context", "_RUNTIME_CONTEXT");
	PyObject *found = runtime ? PyObject_GetAttrString(runtime, "_current_context") : NULL;

	PyErr_Clear();
	Py_XDECREF(runtime);
	if (found && Py_TYPE(found) == &PyContextVar_Type)
		variable = found; /* until the interpreter ends */
	return variable;
}

/* The hooked methods outlive the interpreter; its objects do not. */
static void forget(void)
{
	variable = NULL;
}

bool context_follow(void)
{
	PyObject *var = (PyObject *)&PyContextVar_Type, *context = (PyObject *)&PyContext_Type;

	span_key = module_attribute("opentelemetry.trace.propagation", "_SPAN_KEY");
	context_attribute = PyUnicode_InternFromString("_context");
	context_method = PyUnicode_InternFromString("get_span_context");
	python_get = (some_fn *)function_of(context, "get", PYTHON_FASTCALL);
	if (!span_key || !context_attribute || !context_method || !python_get || Py_AtExit(forget))
		return false;
	return hook_method(context, "run", PYTHON_FASTCALL | PYTHON_KEYWORDS, (void *)run_hook,
			   (void **)&python_run) &&
	       hook_method(var, "set", PYTHON_O, (void *)set_hook, (void **)&python_set) &&
	       hook_method(var, "reset", PYTHON_O, (void *)reset_hook, (void **)&python_reset) &&
	       find_variable();
}
