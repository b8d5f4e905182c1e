# SPDX-License-Identifier: Apache-2.0
"""A Flask application with OpenTelemetry's own instrumentation, for gunicorn.  See serve.py.

The spans of requests are noted where a processor of the program sees them, as the
instrumentation says of them that they began earlier than they did.  That they are about to,
a sampler sees.
"""
import os
import threading

import flask
from opentelemetry import trace
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider, sampling

from noted import Notes, burn, now, on_our_clock

WORK = 300_000  # ns of CPU time in each span of the program


class Sampler(sampling.ParentBased):
    """Takes all, and notes when it was asked."""

    def __init__(self):
        super().__init__(sampling.ALWAYS_ON)
        self.of_thread = threading.local()

    def should_sample(self, *args, **words):
        self.of_thread.asked = now()
        return super().should_sample(*args, **words)


class Noter(SpanProcessor):
    """Notes spans of requests."""

    def __init__(self, sampler):
        self.open = {}
        self.sampler = sampler

    def on_start(self, span, parent_context=None):
        begin = now()
        if span.kind == trace.SpanKind.SERVER:
            self.open[span.context.span_id] = NOTES.note(span, begin) | {"begin_call": self.sampler.of_thread.asked}

    def on_end(self, span):
        if span.kind == trace.SpanKind.SERVER:
            NOTES.write(self.open.pop(span.context.span_id) | {"end": on_our_clock(span.end_time), "name": span.name})


sampler = Sampler()
provider = TracerProvider(sampler=sampler, resource=Resource.create({"service.name": "shop"}))
provider.add_span_processor(Noter(sampler))
trace.set_tracer_provider(provider)
NOTES = Notes(os.environ["NOTES"], provider.get_tracer("shop"), timed=False)
app = flask.Flask("shop")
FlaskInstrumentor().instrument_app(app)


@app.route("/task/<int:number>")
def work(number):
    for i in range(2):
        with NOTES.span(f"work {i}"):
            burn(WORK)
            with NOTES.span("part"):
                burn(WORK)
    return str(number * 2)
