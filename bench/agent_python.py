#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of the SDK for Python with the agent: agent_python.py CPU; and the application of a service.

For each line `OPERATION COUNT` on stdin, executes it COUNT times and prints the ns per operation.
"""
import asyncio
import contextlib
import os
import sys
import time

from opentelemetry import context, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

TRACER = TracerProvider(resource=Resource.create({"service.name": "bench"})).get_tracer("bench")
INSIDE = trace.set_span_in_context(TRACER.start_span("inside"))
LOOP = asyncio.new_event_loop()


def attach(count):
    for _ in range(count // 2):
        context.detach(context.attach(INSIDE))


def span(count):
    for _ in range(count):
        TRACER.start_span("span").end()


def attributes(count):
    for i in range(count):
        TRACER.start_span("span", attributes={"text": "value", "number": i}).end()


def step(count):
    """Iterations of the event loop, in a context with a span."""
    async def steps():
        with TRACER.start_as_current_span("task"):
            for _ in range(count):
                await asyncio.sleep(0)

    LOOP.run_until_complete(steps())


OPERATIONS = {operation.__name__: operation for operation in (attach, span, attributes, step)}


def make_app():
    """A service whose requests have three spans, one of them from automatic instrumentation."""
    import flask
    from opentelemetry.instrumentation.flask import FlaskInstrumentor

    provider = TracerProvider(resource=Resource.create({"service.name": "bench"}))
    app, tracer = flask.Flask("bench"), provider.get_tracer("bench")
    FlaskInstrumentor().instrument_app(app, tracer_provider=provider)

    @app.route("/index.html")  # the path that wrk requests
    def page():
        with tracer.start_as_current_span("load") as inside:
            inside.set_attribute("items", 7)
            with tracer.start_as_current_span("sum"):
                return str(sum(i * i for i in range(2000)))

    return app


def answer():
    for line in sys.stdin:
        name, number = line.split()
        begin = time.perf_counter_ns()
        OPERATIONS[name](int(number))
        print((time.perf_counter_ns() - begin) / int(number), flush=True)


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    with contextlib.suppress(KeyboardInterrupt):  # sent by the benchmark
        answer()
