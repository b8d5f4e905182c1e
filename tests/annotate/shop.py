#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs for live.py, run by a Python with OpenTelemetry's SDK.

usage: shop.py serve URL PROTOCOL PROCESSOR LOG [peer]    a service with faults; prints its port, and that of its peer
       shop.py peer                                       answers slowly; prints its port
       shop.py hog CPU                                    keeps a CPU busy; prints a line
       shop.py burst CPU PRIORITY                         has a CPU two thirds of the time, SCHED_FIFO; prints a line

The service handles GET /FAULT[?port=N] in a span of that name.  PROTOCOL is http or grpc, PROCESSOR simple,
batch, or late, which exports at the end, or for GET /export.  LOG receives the requests as the exporter sends them, each after a header with the time,
the duration of the export in ns, whether it succeeded, and the size.  All end with their standard input.
"""
import http.server
import os
import socket
import struct
import subprocess
import sys
import threading
import time

HEADER = struct.Struct("<QQ?Q")
WAIT = 0.060  # seconds
SHORT = 0.008  # seconds
WORK = 0.030  # seconds of CPU time
SPIN = 0.200  # seconds of CPU time of the fault 'spin'
BURST = 0.020  # seconds
LONG_SLEEP, LONG_WORK = 4, 1.5  # seconds of the fault 'long', in LONG_PARTS parts
LONG_PARTS = 19
WAKEUPS = 41  # of the fault 'wakeups'
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


def burst(cpu, priority):
    name_thread("burst")
    os.sched_setaffinity(0, {int(cpu)})
    threading.Thread(target=end_with_input, daemon=True).start()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
    print("busy", flush=True)
    while True:
        end = time.monotonic() + BURST
        while time.monotonic() < end:
            pass
        time.sleep(BURST / 2)


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


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def share_cpu():
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    work(WORK)
    os.sched_setaffinity(0, cpus)


def wake_up():
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    for _ in range(WAKEUPS):
        time.sleep(0.001)
    os.sched_setaffinity(0, cpus)


def take_long():
    work(LONG_WORK / 2)
    for _ in range(LONG_PARTS):
        time.sleep(LONG_SLEEP / LONG_PARTS)
    work(LONG_WORK / 2)


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


# Numbers of system calls, all different.
CALLS = {"before": 101, "inner": 53, "after": 7, "failed": 3, "clock": 1009}


def make_calls(tracer):
    """Also calls of the vDSO, and calls that fail.  The end of the inner span makes a getpid() of its own."""
    for _ in range(CALLS["before"]):
        os.getpid()
    with tracer.start_as_current_span("inner"):
        for _ in range(CALLS["inner"]):
            os.getpid()
        time.sleep(WAIT)
    for _ in range(CALLS["after"]):
        os.getppid()
    for _ in range(CALLS["clock"]):
        time.clock_gettime(time.CLOCK_MONOTONIC)
    for _ in range(CALLS["failed"]):
        try:
            os.rmdir("/missing")
        except FileNotFoundError:
            pass


def end_during_call(tracer):
    """A thread sleeps in a span that ends meanwhile, and in the rest of its sleep in none."""
    from opentelemetry import trace
    span = tracer.start_span("cut")

    def sleep():
        with trace.use_span(span, end_on_exit=False):
            time.sleep(2 * WAIT)
    thread = threading.Thread(target=sleep)
    thread.start()
    time.sleep(WAIT)
    span.end()
    thread.join()


def many_calls(tracer):
    """More calls in turn than child spans; the sleeps are the longest."""
    for i in range(100):
        os.getpid()
        os.getppid()
        if i % 20 == 0:
            time.sleep(WAIT / 5)


is_contended = False  # the fault 'switched', which 'switch' switches on and off


def switch():
    global is_contended
    is_contended = not is_contended


def work_or_wait():
    """The same span, with a fault that is far from slow."""
    work(0.0005)
    if is_contended:
        held(lambda: time.sleep(SHORT))


FAULTS = {
    "switch": lambda tracer, port: switch(),
    "switched": lambda tracer, port: work_or_wait(),
    "fast": lambda tracer, port: None,
    "sleep": lambda tracer, port: time.sleep(WAIT),
    "nested": lambda tracer, port: nest(tracer),
    "lock_sleep": lambda tracer, port: held(lambda: time.sleep(WAIT)),
    "lock_fsync": lambda tracer, port: held(sync_files),
    "hog": lambda tracer, port: share_cpu(),
    "peer": lambda tracer, port: call_peer(port),
    "wakeups": lambda tracer, port: wake_up(),
    "long": lambda tracer, port: take_long(),
    "spin": lambda tracer, port: work(SPIN),
    "many": lambda tracer, port: many(tracer),
    "calls": lambda tracer, port: make_calls(tracer),
    "cut": lambda tracer, port: end_during_call(tracer),
    "export": lambda tracer, port: tracer.span_processor.force_flush(),
    "many_calls": lambda tracer, port: many_calls(tracer),
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


def start_peer():
    """A child process, which ends with this one; returns its port."""
    child = subprocess.Popen([sys.executable, __file__, "peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, child.stdout.readline().strip()


def serve(url, protocol, processor, log, peer=None):
    child, peer_port = start_peer() if peer else (None, "")  # before the agent has anything to do
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
    delay = 600_000 if processor == "late" else 100
    provider.add_span_processor(SimpleSpanProcessor(exporter) if processor == "simple" else
                                BatchSpanProcessor(exporter, schedule_delay_millis=delay, max_queue_size=100_000))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             make_handler(provider.get_tracer("shop"), SpanKind.SERVER))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, peer_port, flush=True)
    sys.stdin.read()
    provider.shutdown()
    if child:
        child.communicate()


if __name__ == "__main__":
    {"serve": serve, "peer": peer, "hog": hog, "burst": burst}[sys.argv[1]](*sys.argv[2:])
