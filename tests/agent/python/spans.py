#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans over threads, a pool, interleaved tasks, and many at once: spans.py FILE; run by the SDK's Python.

Each span uses a known CPU time; the truth is written to FILE, see check.py.
"""
import asyncio
import concurrent.futures
import contextvars
import sys
import threading

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind

from truth import Truth, burn

THREADS = 3
JOBS = 13
TASKS = 17
STEPS = 11
CROWD = 601
WORK = 700_000  # ns between two switches
TRUTH = Truth(sys.argv[1], TracerProvider(resource=Resource.create({"service.name": "truth"})).get_tracer("truth"))


def nest(depth, outer=None):
    """Nested spans, with work before, between and after."""
    with TRUTH.span(f"depth {depth}", outer, kind=SpanKind.SERVER if outer is None else SpanKind.INTERNAL) as note:
        burn(WORK)
        for _ in range(2 if depth else 0):
            nest(depth - 1, note)
            burn(WORK)


def thread():
    for _ in range(2):
        nest(2)


def job(number, outer):
    """A job in a copy of the context of another span."""
    TRUTH.enter(outer)
    with TRUTH.span(f"job {number}", outer) as note:
        burn(WORK)
        nest(1, note)
    TRUTH.leave(outer)


def later(seconds):
    """A future to wait for, created while CPU time still counts."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_later(seconds, future.set_result, None, context=contextvars.Context())  # not part of any span
    return future


async def wait(future, note):
    TRUTH.leave(note)
    await future
    TRUTH.enter(note)


async def task(number, outer):
    TRUTH.enter(outer)
    with TRUTH.span(f"task {number}", outer) as note:
        for step in range(STEPS):
            burn(WORK)
            await wait(later(0.001 if (step + number) % 5 == 0 else 0), note)
            with TRUTH.span(f"step {step}", note) as inner:
                burn(WORK)
                await wait(later(0), inner)
                burn(WORK)
    TRUTH.leave(outer)


async def tasks():
    with TRUTH.span("all tasks") as note:
        await wait(asyncio.gather(*(task(i, note) for i in range(TASKS))), note)
        burn(WORK)


def threads():
    all_threads = [threading.Thread(target=thread) for _ in range(THREADS)]
    for one in all_threads:
        one.start()
    for one in all_threads:
        one.join()


def pool():
    with TRUTH.span("pool") as note, concurrent.futures.ThreadPoolExecutor(THREADS) as executor:
        copies = [contextvars.copy_context() for _ in range(JOBS)]
        done = [executor.submit(copy.run, job, i, note) for i, copy in enumerate(copies)]
        for one in done:
            one.result()


def crowd():
    """More open spans than the agent caches, each the parent of the next, ended in any order."""
    all_spans, inside = [], None
    for i in range(CROWD):
        all_spans.append(TRUTH.begin(f"member {i}", context=inside))
        inside = trace.set_span_in_context(all_spans[-1][0])
    for span, note in sorted(all_spans, key=lambda one: one[1]["span"]):
        TRUTH.end(span, note)


TRUTH.enter(None)
threads()
pool()
crowd()
asyncio.run(tasks())
