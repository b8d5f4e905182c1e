# SPDX-License-Identifier: Apache-2.0
"""Write the truth about a program's spans, for check.py.

The begin and end of a span are the SDK's times, which it takes in the middle of its
work.  The first event of a thread takes longer, because the agent acquires a ring for
it; so each thread begins with a span that is not in the truth file.

CPU time belongs to the current span of the thread, and is read at each switch that the
program makes.  So a span is begun, entered, left and ended in separate steps, and the
SDK's work to begin and end a child belongs to its parent.
"""
import contextlib
import json
import os
import threading
import time

from opentelemetry import context, trace

CLOCK = time.CLOCK_MONOTONIC
SLOWNESS = 2  # a switch takes longer after reading the clock than in a C program


def now():
    return time.clock_gettime_ns(CLOCK)


def on_our_clock(wall):
    """Convert a time of the SDK.  Uses the closest of three pairs of clock readings."""
    pairs = []
    for _ in range(3):
        before, other, after = now(), time.time_ns(), now()
        pairs.append((after - before, (before + after) // 2 - other))
    return wall + min(pairs)[1]


class Truth:
    """The truth of a program and its forked children, in one file."""

    def __init__(self, path, tracer, timed=True):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.tracer = tracer
        self.timed = timed
        self.lock = threading.Lock()
        self.of_thread = threading.local()  # `marked`: its CPU time when it last entered a span

    def write(self, note):
        os.write(self.file, (json.dumps(note) + "\n").encode())

    def enter(self, note):
        """This thread works for this span from now on; None: for no span that counts."""
        if note and self.timed:
            with self.lock:
                note["switches"] += SLOWNESS
        self.of_thread.marked = time.thread_time_ns()

    def leave(self, note):
        """This thread no longer works for this span."""
        used = time.thread_time_ns()
        if note and self.timed:
            with self.lock:  # several threads may be in one span
                note["cpu"] += used - self.of_thread.marked
                note["switches"] += SLOWNESS

    def note(self, span, begin):
        ids, parent = span.get_span_context(), span.parent
        return {"trace": f"{ids.trace_id:032x}", "span": f"{ids.span_id:016x}",
                "parent": f"{parent.span_id:016x}" if parent else "", "name": span.name, "pid": os.getpid(),
                "tid": threading.get_native_id(), "begin": begin}

    def begin(self, name, **more):
        if self.of_thread.__dict__.setdefault("pid", 0) != os.getpid():
            self.of_thread.pid = os.getpid()
            self.tracer.start_span("first").end()
        called = now()
        span = self.tracer.start_span(name, **more)
        note = self.note(span, on_our_clock(span.start_time)) | {"begin_call": called}
        return span, note | ({"cpu": 0, "switches": 0} if self.timed else {})

    def end(self, span, note):
        note["end_call"] = now()
        span.end()
        note["end"] = on_our_clock(span.end_time)
        if note["tid"] != threading.get_native_id():
            note["end_tid"] = threading.get_native_id()
        self.write(note)

    @contextlib.contextmanager
    def span(self, name, outer=None, **more):
        """outer: the note of the thread's current span, if its time counts."""
        span, note = self.begin(name, **more)
        inside = trace.set_span_in_context(span)
        self.leave(outer)
        token = context.attach(inside)
        self.enter(note)
        try:
            yield note
        finally:
            self.leave(note)
            context.detach(token)
            self.enter(outer)
            self.end(span, note)


def burn(ns):
    """Use this much CPU time."""
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass
