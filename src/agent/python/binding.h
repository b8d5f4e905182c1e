/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - what the files of the agent's Python binding share.
 *
 * Everything here runs with Python's lock held, in the interpreter that the
 * agent follows.  No error of ours reaches the program: a function that can
 * fail clears what Python noted, and the span is then not known.
 *
 * One file serves every Python from 3.9 on: it keeps to the limited API, and to
 * the few names below, which all of these export unchanged.
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
PyAPI_FUNC(int) PyContextVar_Get(PyObject *var, PyObject *otherwise, PyObject **ret);
/* Exported since 3.11. */
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t n,
					   PyObject *kwnames) __attribute__((weak));
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_size);

typedef PyObject *one_fn(PyObject *self, PyObject *arg);
typedef PyObject *some_fn(PyObject *self, PyObject *const *args, Py_ssize_t n);
typedef PyObject *fast_fn(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames);
typedef PyObject *words_fn(PyObject *self, PyObject *args, PyObject *words);

/* load.c: an attribute of a module that is loaded, as a new reference; NULL without an error. */
PyObject *module_attribute(const char *module, const char *name);
/*
 * Put `ours` before a method of a type or a function of a module, which must have these flags.
 * `ret_theirs` is written first. False, and nothing is changed, if it is not as expected.
 */
bool put_before(PyObject *owner, const char *name, int flags, void *ours, void **ret_theirs);
/* The function behind such a method, to be called without Python's ado; NULL likewise. */
void *function_of(PyObject *owner, const char *name, int flags);

/* context.c: follow OpenTelemetry's context variable, on all threads. */
bool context_follow(void);
/* Publish which span the thread is in; after anything that may have changed it. */
void context_publish(void);
/* The same, where an error may be on its way to the program: `result` is NULL. */
void context_publish_after(PyObject *result);
/* It is not known, until it is published again. */
void context_blur(void);
/* What the thread does can be followed no more; or again. */
void context_lose(void);
void context_find(void);
/* From now on nothing is published, as contexts may be changed in ways that we do not know. */
void context_give_up(void);

/* known.c: what a SpanContext says, and what its span was when it began. */
struct known {
	PyObject *context; /* the SpanContext, which we keep */
	uint8_t trace[16], span[8];
	uint8_t flags;
	bool is_remote;
	/* Of a span that was told of, until it ends: */
	uint8_t kind;
	uint8_t parent[8];
	uint64_t start;  /* on CLOCK_MONOTONIC; 0 if not known */
	PyObject *begun; /* the span, to be compared only; NULL: it was not */
};

/* NULL for one that is not valid, without an error. Good until the next call. */
struct known *known_find(PyObject *span_context);

/* span.c: see spans begin and end. */
bool span_follow(PyObject *span_class);

/* loops.c: all that changes contexts without calling Context.run(). */
bool loop_is_foreign(void); /* the loop that runs on this thread */
void loops_follow_asyncio(void);
void loops_follow_greenlet(void);

#endif
