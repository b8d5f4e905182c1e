# SPDX-License-Identifier: Apache-2.0
"""A Flask application with OpenTelemetry's own instrumentation, for gunicorn.  See serve.py.

A span processor of the program notes the spans of requests, because the instrumentation
sets an earlier start time.  A sampler notes when a span is about to begin.
"""
import os
import threading

import flask
from opentelemetry import trace
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider, sampling

from truth import Truth, burn, now, on_our_clock

WORK = 300_000  # ns of CPU time in each span of the program


class Sampler(sampling.ParentBased):
    """Samples everything, and notes when it was called."""

    def __init__(self):
        super().__init__(sampling.ALWAYS_ON)
        self.of_thread = threading.local()

    def should_sample(self, *args, **words):
        self.of_thread.called = now()
        return super().should_sample(*args, **words)


class RequestNotes(SpanProcessor):
    """Writes the truth about the spans of requests."""

    def __init__(self, sampler):
        self.open = {}
        self.sampler = sampler

    def on_start(self, span, parent_context=None):
        begin = now()
        if span.kind == trace.SpanKind.SERVER:
            self.open[span.context.span_id] = TRUTH.note(span, begin) | {"begin_call": self.sampler.of_thread.called}

    def on_end(self, span):
        if span.kind == trace.SpanKind.SERVER:
            TRUTH.write(self.open.pop(span.context.span_id) | {"end": on_our_clock(span.end_time), "name": span.name})


sampler = Sampler()
provider = TracerProvider(sampler=sampler, resource=Resource.create({"service.name": "shop"}))
provider.add_span_processor(RequestNotes(sampler))
trace.set_tracer_provider(provider)
TRUTH = Truth(os.environ["TRUTH"], provider.get_tracer("shop"), timed=False)
app = flask.Flask("shop")
FlaskInstrumentor().instrument_app(app)


@app.route("/task/<int:number>")
def work(number):
    for i in range(2):
        with TRUTH.span(f"work {i}"):
            burn(WORK)
            with TRUTH.span("part"):
                burn(WORK)
    return str(number * 2)
