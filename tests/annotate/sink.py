# SPDX-License-Identifier: Apache-2.0
"""An OTLP collector that keeps what it accepts, and fails in the ways of real ones.

    with Sink() as sink:
        ...                                        # OTLP/HTTP on sink.http_port, OTLP/gRPC on sink.grpc_port
        sink.wait(lambda: len(sink.spans()) == 7, "all spans arrive")
        sink.fail(status=503, retry_after=1)       # from now on; sink.work() ends that
        sink.leave(), sink.come_back()             # refuses connections, and closes those it has

It keeps the bytes of each request as they were sent, without their compression, and decodes spans
by itself, so that each span has the bytes that it consists of.  Only gRPC needs a package of PyPI.
"""
import contextlib
import gzip
import http.server
import socket
import struct
import threading
import time

SIGNALS = {"traces": "trace", "metrics": "metrics", "logs": "logs"}
SERVICE = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
PATIENCE = 30  # seconds


# Protobuf

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def pieces(data):
    """The fields of a message: (number, value, bytes with the tag); a value is a number or bytes."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
            if len(value) < size:
                raise ValueError("a field is cut off")
        yield key >> 3, value, data[begin:at]


def fields(data):
    return ((number, value) for number, value, _ in pieces(data))


def value_of(data):
    """An AnyValue; lists and maps stay bytes."""
    for number, value in fields(data):
        if number == 1:
            return value.decode()
        if number == 2:
            return bool(value)
        if number == 3:
            return value - (1 << 64) if value >> 63 else value
        if number == 4:
            return struct.unpack("<d", value)[0]
        return value
    return None


def put_attribute(data, attributes):
    entry = dict(fields(data))
    attributes[entry[1].decode()] = value_of(entry.get(2, b""))


class Span:
    """A span; `raw` are its bytes, without its tag and length."""

    def __init__(self, raw, resource, scope):
        self.raw, self.resource, self.scope = raw, resource, scope
        self.trace = self.id = self.parent = b""
        self.name, self.kind, self.start, self.end, self.attributes = "", 0, 0, 0, {}
        for number, value in fields(raw):
            if number == 1:
                self.trace = value
            elif number == 2:
                self.id = value
            elif number == 4:
                self.parent = value
            elif number == 5:
                self.name = value.decode()
            elif number == 6:
                self.kind = value
            elif number == 7:
                self.start, = struct.unpack("<Q", value)
            elif number == 8:
                self.end, = struct.unpack("<Q", value)
            elif number == 9:
                put_attribute(value, self.attributes)

    def without(self, is_added):
        """The bytes of the span without the attributes whose keys were added."""
        return b"".join(piece for number, value, piece in pieces(self.raw)
                        if number != 9 or not is_added(dict(fields(value))[1].decode()))

    @property
    def duration(self):
        return self.end - self.start

    def __repr__(self):
        return f"{self.name} {self.id.hex()} {self.duration / 1e6:.1f} ms {self.attributes}"


def spans_of_resource(data):
    resource, scopes = {}, []
    for number, value in fields(data):
        if number == 1:
            for inner, attribute in fields(value):
                if inner == 1:
                    put_attribute(attribute, resource)
        elif number == 2:
            scopes.append(value)
    for scope in scopes:
        name = ""
        for number, value in fields(scope):
            if number == 1:
                name = next((inner.decode() for n, inner in fields(value) if n == 1), "")
            elif number == 2:
                yield Span(value, resource, name)


def spans_of(body):
    """The spans of an ExportTraceServiceRequest."""
    return [span for number, value in fields(body) if number == 1 for span in spans_of_resource(value)]


# The collector

class Request:
    def __init__(self, signal, body, transport, headers):
        self.signal, self.body, self.transport, self.headers = signal, body, transport, headers
        self.time = time.time_ns()
        self.decoded = None

    def spans(self):
        if self.decoded is None:
            self.decoded = spans_of(self.body)
        return self.decoded


class HttpServer(http.server.ThreadingHTTPServer):
    """Can close its connections, too."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address, sink):
        self.sink, self.connections = sink, set()
        super().__init__(address, Handler)

    def get_request(self):
        connection, address = super().get_request()
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        pass  # the other side has gone

    def close(self):
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        sink = self.server.sink
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = Request(self.path.removeprefix("/v1/"), body, "http", dict(self.headers.items()))
        status = sink.judge(request)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        if status != 200 and sink.retry_after is not None:
            self.send_header("Retry-After", str(sink.retry_after))
        self.end_headers()

    def log_message(self, *_):
        pass


def retry_info(seconds):
    """A google.rpc.Status with a RetryInfo, for grpc-status-details-bin."""
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data
    info = field(1, b"\x08" + bytes([seconds]))
    return field(3, field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, info))


def grpc_server(sink, port):
    import grpc  # only some tests need it
    from concurrent import futures
    codes = {400: grpc.StatusCode.INVALID_ARGUMENT, 429: grpc.StatusCode.RESOURCE_EXHAUSTED,
             503: grpc.StatusCode.UNAVAILABLE}

    def export(signal, body, context):
        status = sink.judge(Request(signal, body, "grpc", dict(context.invocation_metadata())))
        if status == 200:
            return b""
        if sink.retry_after is not None:
            context.set_trailing_metadata((("grpc-status-details-bin", retry_info(sink.retry_after)),))
        return context.abort(codes.get(status, grpc.StatusCode.UNAVAILABLE), f"as HTTP {status}")

    class Methods(grpc.GenericRpcHandler):
        def service(self, details):
            for signal, name in SIGNALS.items():
                if details.method == SERVICE.format(name, name.capitalize()):
                    return grpc.unary_unary_rpc_method_handler(
                        lambda body, context, signal=signal: export(signal, body, context))
            return None

    server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[Methods()],
                         options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)])
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound


class Sink:
    def __init__(self, http=True, grpc=False):
        self.requests, self.refused = [], []  # accepted ones, and others
        self.news = threading.Condition()
        self.uses = (http, grpc)
        self.http_port = self.grpc_port = 0
        self.http = self.grpc = None
        self.work()
        self.come_back()

    def come_back(self):
        """Listens, on the same ports as before."""
        if self.uses[0]:
            self.http = HttpServer(("127.0.0.1", self.http_port), self)
            self.http_port = self.http.server_port
            threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        if self.uses[1]:
            self.grpc, self.grpc_port = grpc_server(self, self.grpc_port)

    def leave(self):
        """Closes all connections, and refuses new ones."""
        if self.http:
            self.http.close()
        if self.grpc:
            self.grpc.stop(None).wait(PATIENCE)
        self.http = self.grpc = None

    def is_there(self):
        return self.http or self.grpc

    def fail(self, status=200, delay=0.0, retry_after=None, closes=False, times=None):
        """Answers `times` requests, or all, like this: late, with an error, or never."""
        self.status, self.delay, self.retry_after, self.closes, self.times = status, delay, retry_after, closes, times

    def work(self):
        self.fail()

    def judge(self, request):
        """The HTTP status of the reply; None: close the connection instead."""
        with self.news:
            if self.times is not None:
                self.times -= 1
                if self.times < 0:
                    self.work()
            status = None if self.closes else self.status
            delay = self.delay
        if delay:
            time.sleep(delay)
        with self.news:
            (self.requests if status == 200 else self.refused).append(request)
            self.news.notify_all()
        return status

    def wait(self, condition, what, limit=PATIENCE):
        """Waits until the condition holds, which is checked after each request."""
        end = time.monotonic() + limit
        with self.news:
            while not condition():
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{what}: not within {limit} s")
                self.news.wait(min(left, 1))

    def arrivals(self):
        """All spans with the time at which they arrived, in order."""
        return [(request.time, span) for request in list(self.requests) if request.signal == "traces"
                for span in request.spans()]

    def spans(self):
        return [span for _, span in self.arrivals()]

    def bodies(self, signal):
        return [request.body for request in list(self.requests) if request.signal == signal]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()
