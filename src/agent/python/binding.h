/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - shared by the files of the agent's Python binding.
 *
 * All of this code runs with the GIL held, in the interpreter that the agent follows.
 * Errors never reach the program: a function that fails clears Python's error
 * indicator, and the span is not recorded.
 *
 * One binary works with every Python from 3.9 on: it uses the limited API and the few
 * names below, which all of these versions export unchanged.
 */
#ifndef SONDE_AGENT_PYTHON_BINDING_H
#define SONDE_AGENT_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/python/method.h"

PyAPI_DATA(PyTypeObject) PyContext_Type;
PyAPI_DATA(PyTypeObject) PyContextVar_Type;
PyAPI_FUNC(int) PyContextVar_Get(PyObject *var, PyObject *fallback, PyObject **ret);
/* Exported since 3.11. */
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t n,
					   PyObject *kwnames) __attribute__((weak));
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_size);

typedef PyObject *one_fn(PyObject *self, PyObject *arg);
typedef PyObject *some_fn(PyObject *self, PyObject *const *args, Py_ssize_t n);
typedef PyObject *fast_fn(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames);
typedef PyObject *words_fn(PyObject *self, PyObject *args, PyObject *words);

/* load.c: an attribute of a loaded module, as a new reference; NULL (no error set) if missing. */
PyObject *module_attribute(const char *module, const char *name);
/*
 * Replace the C function of a type's method or of a module's function, which must have these
 * flags, by `ours`.  Writes `ret_theirs` first.  False, and nothing is changed, if the method does
 * not match.
 */
bool hook_method(PyObject *owner, const char *name, int flags, void *ours, void **ret_theirs);
/* The C function of such a method, for direct calls; NULL if it does not match. */
void *function_of(PyObject *owner, const char *name, int flags);

/* context.c: follow OpenTelemetry's context variable on all threads. */
bool context_follow(void);
/* Publish the current span of the thread, after anything that may have changed it. */
void context_publish(void);
/* The same, preserving a pending Python error if `result` is NULL. */
void context_publish_after(PyObject *result);
/* The current span is unknown until the next context_publish(). */
void context_set_unknown(void);
/* Stop and resume following the calling thread. */
void context_stop(void);
void context_resume(void);
/* Publish nothing from now on: contexts can change in ways that cannot be followed. */
void context_disable(void);

/* context_cache.c: the ids in a SpanContext, and data from the begin of its span. */
struct cached_context {
	PyObject *context; /* the SpanContext; an owned reference */
	uint8_t trace[16], span[8];
	uint8_t flags;
	bool is_remote;
	/* from the BEGIN event until the END event: */
	uint8_t kind;
	uint8_t parent[8];
	uint64_t start;  /* ns on CLOCK_MONOTONIC; 0 if unknown */
	PyObject *begun; /* the span, only for comparison; NULL without BEGIN event */
};

/* NULL (no error set) for an invalid SpanContext.  Valid until the next call. */
struct cached_context *context_cache_find(PyObject *span_context);

/* span.c: report the begin and end of spans. */
bool span_follow(PyObject *span_class);

/* loops.c: follow code that changes contexts without calling Context.run(). */
bool loop_is_foreign(void); /* whether this thread runs an event loop that cannot be followed */
void loops_follow_asyncio(void);
void loops_follow_greenlet(void);

#endif
