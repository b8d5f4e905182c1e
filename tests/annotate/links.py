#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The services of a chain, for chain.py.

usage: links.py serve NAME URL [PORT]    a service with OpenTelemetry's SDK; prints its port
       links.py proxy PORT               passes requests on, without an SDK; prints its port
       links.py kv                       replies after a moment, without an SDK; prints its port

A service handles GET /FAULT in a server span of that name, with the parent that the request names.  With
PORT, it passes the request on to that port of this host, in a client span; otherwise it has the fault (see
shop.py), or, for /loop, LOOPS slow spans one after another.  All end with their standard input.
"""
import http.client
import http.server
import os
import sys
import threading
import time

import shop

PARENT = "traceparent"
LOOPS = 1103  # of the fault 'loop'


def fetch(port, path, parent):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={PARENT: parent} if parent else {})
        return connection.getresponse().read()
    finally:
        connection.close()


def serve_http(reply):
    """`reply` gets the path and the parent that a request names."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            body = reply(self.path, self.headers.get(PARENT))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


def proxy(port):
    shop.name_thread("proxy")
    serve_http(lambda path, parent: fetch(int(port), path, parent))


def kv():
    shop.name_thread("kv")
    serve_http(lambda path, parent: b"value")


def make_provider(name, url):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(resource=Resource.create({"service.name": name, "process.pid": os.getpid()}))
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=100))
    return provider


def loop(tracer, _):
    for _ in range(LOOPS):
        with tracer.start_as_current_span("one of many"):
            time.sleep(0.0012)


FAULTS = shop.FAULTS | {"loop": loop}


def serve(name, url, port=None):
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    provider, propagator = make_provider(name, url), TraceContextTextMapPropagator()
    tracer = provider.get_tracer(name)

    def call(path):
        with tracer.start_as_current_span("call", kind=SpanKind.CLIENT):
            headers = {}
            propagator.inject(headers)
            return fetch(int(port), path, headers[PARENT])

    def reply(path, parent):
        context = propagator.extract({PARENT: parent}) if parent else None
        with tracer.start_as_current_span(path[1:], context, SpanKind.SERVER) as span:
            if port:
                call(path)
            else:
                FAULTS[path[1:]](tracer, 0)
        return f"{span.get_span_context().span_id:016x}".encode()
    serve_http(reply)
    provider.shutdown()


if __name__ == "__main__":
    {"serve": serve, "proxy": proxy, "kv": kv}[sys.argv[1]](*sys.argv[2:])
