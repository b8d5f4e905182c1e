/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context_cache - the ids of recently used SpanContexts.
 *
 * A few SpanContexts are needed again and again: when a span begins, when its children
 * begin, at each change of context, and when it ends.  Reading one takes arithmetic
 * with Python's long integers, more work than everything else per span.  So the result is
 * cached in a set-associative table indexed by the object's address: the address of an
 * evicted SpanContext is often reused for the next one.  Entries of unfinished spans are
 * evicted last.
 *
 * The cache holds references, so that an address identifies the same object while it is
 * in the table; a SpanContext never changes.  It is small and does not refer to its span,
 * so the cache keeps no span alive.
 */
#include "agent/python/binding.h"

enum {
	SETS = 64,
	WAYS = 4, /* entries per set */
};

static struct cached_context table[SETS][WAYS];

static void put_bytes(uint8_t *to, uint64_t number)
{
	number = __builtin_bswap64(number);
	memcpy(to, &number, sizeof(number));
}

/* Convert a 128-bit integer. */
static bool put_trace(uint8_t to[16], PyObject *number)
{
	static PyObject *sixty_four;
	PyObject *high;

	if (!sixty_four)
		sixty_four = PyLong_FromLong(64);
	high = sixty_four ? PyNumber_Rshift(number, sixty_four) : NULL;
	if (!high)
		return false;
	put_bytes(to, PyLong_AsUnsignedLongLongMask(high));
	put_bytes(to + 8, PyLong_AsUnsignedLongLongMask(number));
	Py_DECREF(high);
	return true;
}

/* A SpanContext is a tuple: trace, span, is_remote, flags, state, is_valid. */
static bool read_ids(PyObject *span_context, struct cached_context *ret)
{
	PyObject *trace, *span, *flags;

	if (!PyTuple_Check(span_context) || PyTuple_Size(span_context) < 6 ||
	    PyTuple_GetItem(span_context, 5) != Py_True)
		return false;
	trace = PyTuple_GetItem(span_context, 0);
	span = PyTuple_GetItem(span_context, 1);
	flags = PyTuple_GetItem(span_context, 3);
	if (!PyLong_Check(trace) || !PyLong_Check(span) || !PyLong_Check(flags) ||
	    !put_trace(ret->trace, trace))
		return false;
	put_bytes(ret->span, PyLong_AsUnsignedLongLongMask(span));
	ret->flags = (uint8_t)PyLong_AsUnsignedLongLongMask(flags);
	ret->is_remote = PyTuple_GetItem(span_context, 2) == Py_True;
	return true;
}

/* Choose the entry to evict. */
static struct cached_context *choose_victim(struct cached_context *set)
{
	static unsigned int next;

	next++;
	for (unsigned int i = 0; i < WAYS; i++)
		if (!set[(next + i) % WAYS].begun)
			return &set[(next + i) % WAYS];
	return &set[next % WAYS];
}

static struct cached_context *add(struct cached_context *set, PyObject *span_context)
{
	struct cached_context new = { .context = span_context }, *entry = choose_victim(set);
	PyObject *old = entry->context;

	if (!read_ids(span_context, &new)) {
		PyErr_Clear();
		return NULL;
	}
	Py_INCREF(span_context);
	*entry = new;
	Py_XDECREF(old);
	/* a destructor may have run that began a span and evicted the entry */
	return entry->context == span_context ? entry : NULL;
}

struct cached_context *context_cache_find(PyObject *span_context)
{
	struct cached_context *set = table[(uintptr_t)span_context / 16 % SETS];

	for (unsigned int i = 0; i < WAYS; i++)
		if (set[i].context == span_context)
			return &set[i];
	return add(set, span_context);
}
