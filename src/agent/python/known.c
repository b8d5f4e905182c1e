/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - SpanContexts that were seen lately.
 *
 * The same few are asked for again and again: when a span begins, when its
 * children do, with each change of context, when it ends.  To read one takes
 * arithmetic with Python's long numbers, more than all else that we do for a
 * span.  So what one said is kept, in a table in which its address decides
 * where.  There are several places for an address: that of one which has to go is
 * often given to the very next.  Those whose spans have not ended go last.
 *
 * We keep those in the table alive, so that an address means the same
 * object as long as it is there, and a SpanContext never changes.  It is small and
 * refers to no span, so no span lives longer for that.
 */
#include "agent/python/binding.h"

enum {
	SETS = 64,
	PLACES = 4, /* in each */
};

static struct known table[SETS][PLACES];

static void put_bytes(uint8_t *to, uint64_t number)
{
	number = __builtin_bswap64(number);
	memcpy(to, &number, sizeof(number));
}

/* Both halves of a number of 128 bits. */
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
static bool read_ids(PyObject *span_context, struct known *ret)
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

/* Whose place may be taken. */
static struct known *choose(struct known *set)
{
	static unsigned int turn;

	turn++;
	for (unsigned int i = 0; i < PLACES; i++)
		if (!set[(turn + i) % PLACES].begun)
			return &set[(turn + i) % PLACES];
	return &set[turn % PLACES];
}

static struct known *learn(struct known *set, PyObject *span_context)
{
	struct known new = { .context = span_context }, *place = choose(set);
	PyObject *old = place->context;

	if (!read_ids(span_context, &new)) {
		PyErr_Clear();
		return NULL;
	}
	Py_INCREF(span_context);
	*place = new;
	Py_XDECREF(old);
	/* which may have begun a span, if it has a destructor */
	return place->context == span_context ? place : NULL;
}

struct known *known_find(PyObject *span_context)
{
	struct known *set = table[(uintptr_t)span_context / 16 % SETS];

	for (unsigned int i = 0; i < PLACES; i++)
		if (set[i].context == span_context)
			return &set[i];
	return learn(set, span_context);
}
