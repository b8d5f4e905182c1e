# SPDX-License-Identifier: Apache-2.0
"""Common code of the bank's Python services: OpenTelemetry, faults, connections to PostgreSQL.

OpenTelemetry is set up manually, as its documentation describes, once in each worker.  Nothing
here depends on sonde.
"""
import contextlib
import logging
import os
import pathlib
import threading

import psycopg2
from flask import Flask, request
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.psycopg2 import Psycopg2Instrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import faults

CONNECTIONS = 8


def fault(name):
    """Whether a fault is injected, which is so while a file with its name exists."""
    return (faults.FAULTS / name).exists()


def create(name):
    """A Flask application with tracing."""
    app = Flask(name)
    pathlib.Path("/proc/self/comm").write_text(name)  # instead of gunicorn
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    if "OTEL_EXPORTER_OTLP_ENDPOINT" in os.environ:
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter").addFilter(log_once())
        logging.getLogger("opentelemetry.sdk._shared_internal").addFilter(log_once())
    trace.set_tracer_provider(provider)
    FlaskInstrumentor().instrument_app(app, excluded_urls="health")
    for instrumentor in (RequestsInstrumentor, Psycopg2Instrumentor, RedisInstrumentor):
        instrumentor().instrument()
    app.get("/health")(lambda: "well")
    app.before_request(lambda: inject(name))
    return app


def inject(name):
    """Faults of this request, in its span; its operation is the first part of its path."""
    operation = request.path.split("/")[1]
    if operation != "health":
        faults.inject(name, operation)


def log_once():
    """Log a missing collector once, instead of a traceback for each batch."""
    logged = False

    def is_first(record):
        nonlocal logged
        first, logged = not logged, True
        if record.exc_info:
            record.msg, record.exc_info = f"{record.msg} {record.exc_info[1]}", None
        return first
    return is_first


class Pool:
    """Connections of a service to PostgreSQL.  If all are in use, threads wait for one."""

    def __init__(self, service):
        self.service = service
        self.free, self.used, self.changed = [], 0, threading.Condition()

    def has_room(self):
        return self.used < (1 if fault("pool") or fault(f"pool@{self.service}") else CONNECTIONS)

    @contextlib.contextmanager
    def cursor(self):
        """A cursor for one transaction, which holds a connection until its end."""
        with self.changed:
            self.changed.wait_for(self.has_room)
            self.used += 1
            connection = self.free.pop() if self.free else None
        try:
            connection = connection or psycopg2.connect(os.environ["BANK_DATABASE"])
            with connection, connection.cursor() as cursor:
                yield cursor
        finally:
            with self.changed:
                self.used -= 1
                if connection:
                    self.free.append(connection)
                self.changed.notify()
