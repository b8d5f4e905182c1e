# SPDX-License-Identifier: Apache-2.0
"""What a program notes of its own spans, for check.py.

When a span began and ended is what the SDK says, which looks at the clock in the
midst of its work.  A thread's first event takes longer, as the agent then gets
it a ring; so that is one of a span that is not noted.

CPU time is charged to the span that the thread is in, at each switch that the
program makes.  So a span is begun, entered, left and ended in separate steps,
and what the SDK does to begin and end a child is its parent's time.
"""
import contextlib
import json
import os
import threading
import time

from opentelemetry import context, trace

CLOCK = time.CLOCK_MONOTONIC
SLOWNESS = 2  # between a look at the clock and the switch itself lies more than in a program in C


def now():
    return time.clock_gettime_ns(CLOCK)


def on_our_clock(wall):
    """A time of the SDK.  Nothing must come between the looks at both clocks, so the closest of three counts."""
    looks = []
    for _ in range(3):
        before, other, after = now(), time.time_ns(), now()
        looks.append((after - before, (before + after) // 2 - other))
    return wall + min(looks)[1]


class Notes:
    """Of a program, which may fork; all go to one file."""

    def __init__(self, path, tracer, timed=True):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.tracer = tracer
        self.timed = timed
        self.lock = threading.Lock()
        self.of_thread = threading.local()  # `marked`: its CPU time, when it last entered a span

    def write(self, note):
        os.write(self.file, (json.dumps(note) + "\n").encode())

    def enter(self, note):
        """This thread works for this span from now on; None: for nobody that counts."""
        if note and self.timed:
            with self.lock:
                note["switches"] += SLOWNESS
        self.of_thread.marked = time.thread_time_ns()

    def leave(self, note):
        """Until now it did."""
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
        """outer: the note of the span that the thread is in, if its time is of interest."""
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
    """Have this much CPU time."""
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass
