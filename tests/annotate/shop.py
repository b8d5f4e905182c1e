#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs for live.py, run by a Python with OpenTelemetry's SDK.

usage: shop.py serve URL PROTOCOL PROCESSOR LOG    a service with faults; prints its port
       shop.py peer                                answers slowly; prints its port
       shop.py hog CPU                             keeps a CPU busy; prints a line

The service handles GET /FAULT[?port=N] in a span of that name.  PROTOCOL is http or grpc, PROCESSOR simple
or batch.  LOG receives the requests as the exporter sends them, each after a header with the time,
the duration of the export in ns, whether it succeeded, and the size.  All end with their standard input.
"""
import http.server
import os
import socket
import struct
import sys
import threading
import time

HEADER = struct.Struct("<QQ?Q")
WAIT = 0.060  # seconds
WORK = 0.030  # seconds of CPU time
THREADS = 8  # of the fault 'many', with SPANS spans each
SPANS = 125


def name_thread(name):
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write(name)


def end_with_input():
    sys.stdin.read()
    os._exit(0)


def peer():
    name_thread("peer")
    threading.Thread(target=end_with_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                while connection.recv(100):
                    time.sleep(WAIT)
                    connection.sendall(b"reply")


def hog(cpu):
    name_thread("hog")
    os.sched_setaffinity(0, {int(cpu)})
    threading.Thread(target=end_with_input, daemon=True).start()
    print("busy", flush=True)
    sys.setswitchinterval(1)
    while True:
        pass


# Faults.  A lock is held by another thread before the handler asks for it.

def held(work):
    lock, is_held = threading.Lock(), threading.Event()

    def hold():
        name_thread("holder")
        with lock:
            is_held.set()
            work()
    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    with lock:
        pass
    holder.join()


def sync_files():
    block, end = bytes(1 << 16), time.monotonic() + WAIT
    with open(f"{sys.argv[5]}.synced", "wb", buffering=0) as file:
        while time.monotonic() < end:
            os.pwrite(file.fileno(), block, 0)
            os.fsync(file.fileno())


def share_cpu():
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    end = time.thread_time() + WORK
    while time.thread_time() < end:
        pass
    os.sched_setaffinity(0, cpus)


def call_peer(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"request")
        connection.recv(100)


def nest(tracer):
    with tracer.start_as_current_span("inner"):
        time.sleep(WAIT)


def many(tracer):
    def sleep():
        for _ in range(SPANS):
            with tracer.start_as_current_span("one of many"):
                time.sleep(0.003)
    threads = [threading.Thread(target=sleep) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


FAULTS = {
    "fast": lambda tracer, port: None,
    "sleep": lambda tracer, port: time.sleep(WAIT),
    "nested": lambda tracer, port: nest(tracer),
    "lock_sleep": lambda tracer, port: held(lambda: time.sleep(WAIT)),
    "lock_fsync": lambda tracer, port: held(sync_files),
    "hog": lambda tracer, port: share_cpu(),
    "peer": lambda tracer, port: call_peer(port),
    "many": lambda tracer, port: many(tracer),
}


def make_handler(tracer, kind):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            fault, _, port = self.path[1:].partition("?port=")
            with tracer.start_as_current_span(fault, kind=kind) as span:
                FAULTS[fault](tracer, int(port or 0))
            body = f"{span.get_span_context().span_id:016x}".encode()
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n" + body)

        def log_message(self, *_):
            pass
    return Handler


def logging_exporter(exporter, path):
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Logging(SpanExporter):
        def __init__(self):
            self.lock, self.log = threading.Lock(), open(path, "wb")

        def export(self, spans):
            body, begin, start = encode_spans(spans).SerializeToString(), time.time_ns(), time.monotonic_ns()
            result = exporter.export(spans)
            with self.lock:
                self.log.write(HEADER.pack(begin, time.monotonic_ns() - start, result is SpanExportResult.SUCCESS,
                                           len(body)) + body)
                self.log.flush()
            return result

        def shutdown(self):
            exporter.shutdown()

        def force_flush(self, timeout_millis=30000):
            return exporter.force_flush(timeout_millis)
    return Logging()


def serve(url, protocol, processor, log):
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    from opentelemetry.trace import SpanKind
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        exporter = OTLPSpanExporter(endpoint=url, insecure=True)
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces")
    exporter = logging_exporter(exporter, log)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop", "process.pid": os.getpid()}))
    provider.add_span_processor(SimpleSpanProcessor(exporter) if processor == "simple" else
                                BatchSpanProcessor(exporter, schedule_delay_millis=100, max_queue_size=100_000))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             make_handler(provider.get_tracer("shop"), SpanKind.SERVER))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    provider.shutdown()


if __name__ == "__main__":
    {"serve": serve, "peer": peer, "hog": hog}[sys.argv[1]](*sys.argv[2:])
