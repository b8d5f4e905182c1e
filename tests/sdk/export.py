#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An instrumented program, run by the SDK's Python; see sdk.py.

usage: export.py spans DIR             export spans; request-N.otlp and truth.json go to DIR
       export.py compare FILE FILE     exit 0 if both contain the same request
       export.py json FILE             print the request of a file as OTLP JSON

The spans go over HTTP to a server in this process, which stores the requests.
"""
import base64
import http.server
import json
import os
import pathlib
import sys
import threading

from google.protobuf import json_format
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

SPANS = 53  # in the long trace
LATER = 3_600_000  # ms: everything goes into one request at the end


class Receiver(http.server.BaseHTTPRequestHandler):
    bodies = []

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def make_spans(provider):
    """Two traces: one with everything that a span can contain, one with many spans."""
    plain = provider.get_tracer("plain")
    full = provider.get_tracer("full", "1.2.3", "https://example.com/schema", {"scope.attribute": 7})
    with full.start_as_current_span("request", kind=SpanKind.SERVER) as root:
        root.set_attribute("thread.native_id", threading.get_native_id())
        with plain.start_as_current_span("ünïcode", kind=SpanKind.CLIENT, links=[
                Link(root.get_span_context(), {"reason": "itself"})]) as child:
            child.set_attributes({"text": "", "truth": False, "number": -(2**63), "real": 0.1, "texts": ["a", ""],
                                  "numbers": [0, 1, 2**62], "long": "x" * 20000})
            child.add_event("event", {"k": 1})
            child.set_status(Status(StatusCode.OK))
        try:
            with full.start_as_current_span("failing"):
                raise ValueError("on purpose")
        except ValueError:
            pass
    with plain.start_as_current_span("many"):
        for i in range(SPANS - 1):
            plain.start_span(f"step {i % 7}").end()


def text_of(value):
    return json.dumps(value, separators=(",", ":")) if isinstance(value, tuple) else value


def truth_of(span):
    parent = span.parent.span_id if span.parent else 0
    return {"trace_id": f"{span.context.trace_id:032x}", "span_id": f"{span.context.span_id:016x}",
            "parent_span_id": f"{parent:016x}" if parent else None, "operation": span.name, "start": span.start_time,
            "end": span.end_time, "error": span.status.status_code == StatusCode.ERROR,
            "tid": span.attributes.get("thread.native_id", 0), "span_kind": span.kind.name.lower(),
            "attributes": [[key, text_of(value)] for key, value in span.attributes.items()]}


def spans(directory):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    provider = TracerProvider(resource=Resource.create({
        "service.name": "sdk test", "process.pid": os.getpid(), "host.name": "node-7"}))
    exporter = InMemorySpanExporter()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint), schedule_delay_millis=LATER))
    trace.set_tracer_provider(provider)
    make_spans(provider)
    provider.shutdown()
    server.shutdown()
    for i, body in enumerate(Receiver.bodies):
        (directory / f"request-{i}.otlp").write_bytes(body)
    (directory / "truth.json").write_text(json.dumps({
        "pid": os.getpid(), "spans": [truth_of(span) for span in exporter.get_finished_spans()]}))


def request_of(path):
    request = ExportTraceServiceRequest()
    request.ParseFromString(pathlib.Path(path).read_bytes())
    return request


def as_json(path):
    """OTLP JSON: ids in hexadecimal, unlike protobuf's own JSON, and enums as numbers."""
    request = json_format.MessageToDict(request_of(path), use_integers_for_enums=True)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return json.dumps(request)


def main():
    what, *args = sys.argv[1:]
    if what == "spans":
        spans(pathlib.Path(args[0]))
    elif what == "compare":
        sys.exit(request_of(args[0]) != request_of(args[1]))
    else:
        print(as_json(args[0]))


main()
