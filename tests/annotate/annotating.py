# SPDX-License-Identifier: Apache-2.0
"""A running `sonde annotate`, the programs of shop.py, and what they exported.

The relay is the process that was started; its children are the worker and the keeper, and the child
of the keeper is the recorder, which exists while something is attached.
"""
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "sdk")]
import harness  # noqa: E402
import pypi  # noqa: E402
import shop  # noqa: E402
import sink  # noqa: E402
from harness import SCRATCH, SONDE, WORKLOADS, Certain, Skip, require, wait_until  # noqa: E402
from tops import children, held_in_kernel, is_gone, require_gone, with_descendants  # noqa: E402

PACKAGES = [*pypi.OPENTELEMETRY, "opentelemetry-exporter-otlp-proto-grpc==1.39.1"]
PATIENCE = 30  # seconds
PRIORITY = -10  # of all processes of a test: other load disturbs less
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {
    "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1"}
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def use_sdk():
    """Goes on in a Python with the packages."""
    try:
        python = pypi.install(WORKLOADS / "sdk", PACKAGES)
    except pypi.Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    if pathlib.Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execve(python, [python, *sys.argv], ENV)


def free_ports(count):
    """All sockets are open at once, so that the ports differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Annotate:
    """options: further ones; to: URL of the collector; http_port: if it matters."""

    numbers = itertools.count()  # of instances

    def __init__(self, *options, to, env=None, http_port=0):
        self.log = SCRATCH / f"annotate.{next(self.numbers)}.err"
        command = [SONDE, "annotate", "--grpc=127.0.0.1:0", f"--http=127.0.0.1:{http_port}", f"--to={to}", *map(str, options)]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=env or ENV)
        self.pid = self.process.pid
        try:
            self.wait(self.ports, "sonde annotate starts")
            self.grpc_port, self.http_port = self.ports()
            self.wait_recording()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def said(self):
        return self.log.read_text()

    def ports(self):
        """Those of gRPC and HTTP, once it listens."""
        found = re.search(r"listening for OTLP on port (\d+) \(gRPC\) and (\d+) \(HTTP\)", self.said())
        return found and tuple(map(int, found.groups()))

    def wait(self, condition, what, limit=PATIENCE):
        def ended_or_holds():
            if self.process.poll() is not None:
                if "not permitted" in self.said():
                    raise Skip(self.said().strip())
                raise Certain(f"{what}: sonde annotate exits with {self.process.returncode}: {self.said()}")
            return condition()
        wait_until(ended_or_holds, what, limit)

    def wait_recording(self):
        """Returns once records come: the worker reports that every second."""
        before = self.status()["records"]
        self.wait(lambda: self.recorder() and self.status()["records"] > before, "records come")

    def url(self, protocol="http"):
        return f"http://127.0.0.1:{self.http_port if protocol == 'http' else self.grpc_port}"

    def status(self):
        with DIRECTLY.open(f"{self.url()}/status", timeout=PATIENCE) as reply:
            return json.load(reply)

    def settled(self, key, value, limit=PATIENCE):
        """Waits until a counter has at least this value."""
        self.wait(lambda: self.status()[key] >= value, f"{key} reaches {value}", limit)
        return self.status()

    def post(self, signal_name, body, kind="application/x-protobuf", **headers):
        """Sends a request as a service; returns the status and the body of the reply, and the seconds it took."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=PATIENCE)
        start = time.monotonic()
        connection.request("POST", f"/v1/{signal_name}", body, {"Content-Type": kind, **headers})
        reply = connection.getresponse()
        answer = reply.read()
        connection.close()
        return reply.status, answer, time.monotonic() - start

    # Processes

    def keeper(self):
        """The child that has privileges; or None."""
        return next((pid for pid in children(self.pid) if has_privileges(pid)), None)

    def worker(self):
        return next((pid for pid in children(self.pid) if not has_privileges(pid) and not is_gone(pid)), None)

    def recorder(self):
        """The process that has programs attached; or None."""
        return next((pid for pid in with_descendants(self.pid)[1:] if any(kind == "link" for kind, _ in held_in_kernel(pid))),
                    None)

    def held(self):
        return set().union(*map(held_in_kernel, with_descendants(self.pid)))

    def end(self, number=signal.SIGINT):
        """Ends it; nothing may be left."""
        pids, held = with_descendants(self.pid), self.held()
        self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as e:
            raise Certain(f"sonde annotate does not end within {PATIENCE} s of {number!r}") from e
        require_gone(pids, held, f"after {number!r}")
        if code != 0:
            raise Certain(f"sonde annotate exits with {code}: {self.said()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and kind is None:
            self.end()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def has_privileges(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return int(re.search(r"CapPrm:\s+(\w+)", status)[1], 16) != 0


# Programs

@contextlib.contextmanager
def program(*arguments, before=(), script="shop.py"):
    """A program of a script; the first line that it prints."""
    command = [*before, sys.executable, HERE / script, *arguments]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=ENV)
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise Certain(f"'{' '.join(map(str, arguments))}' did not start")
        yield line, process
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class Export:
    def __init__(self, time, duration, succeeded, body):
        self.time, self.duration, self.succeeded, self.body = time, duration, succeeded, body


class Service:
    """An instrumented service; with_agent: started by `sonde run`; with_peer: it starts a peer."""

    def __init__(self, url, protocol="http", processor="simple", with_agent=True, name="shop", with_peer=False):
        self.log = SCRATCH / f"{name}.exports"
        before = [SONDE, "run", "--"] if with_agent else []
        self.stack = contextlib.ExitStack()
        peer = ["peer"] if with_peer else []
        ports, self.process = self.stack.enter_context(
            program("serve", url, protocol, processor, self.log, *peer, before=before))
        self.port, self.peer_port, *_ = *map(int, ports.split()), None
        self.local = threading.local()

    def call(self, fault, port=None):
        """Sends a request; returns the id of its span."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", f"/{fault}" + (f"?port={port}" if port else ""))
            return bytes.fromhex(connection.getresponse().read().decode())
        finally:
            connection.close()

    def exports(self):
        """What the exporter has sent so far."""
        data, at, found = self.log.read_bytes(), 0, []
        while at + shop.HEADER.size <= len(data):
            begin, duration, succeeded, size = shop.HEADER.unpack_from(data, at)
            at += shop.HEADER.size + size
            if at <= len(data):
                found.append(Export(begin, duration, succeeded, data[at - size:at]))
        return found

    def spans(self):
        """The exported spans, by id."""
        return {span.id: span for export in self.exports() for span in sink.spans_of(export.body)}

    def end(self):
        """Exports the rest, and ends."""
        self.stack.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def own_spans(the_sink):
    """The spans at the sink that a service exported, by id."""
    return {span.id: span for span in the_sink.spans() if span.scope != "sonde"}


def added_spans(the_sink):
    return [span for span in the_sink.spans() if span.scope == "sonde"]


def unchanged(spans, exported):
    """Whether spans have the bytes with which they were exported."""
    wrong = [span for span in spans if span.raw != exported[span.id].raw]
    require(not wrong, f"{len(wrong)} of {len(spans)} spans were changed, such as {wrong[:1]}")


def in_time(function):
    """A test whose spans do not arrive fails, instead of raising."""
    def run():
        try:
            function()
        except TimeoutError as late:
            raise harness.Failure(str(late)) from late
    return run


def main():
    if sys.argv[1:] != ["--list"]:
        use_sdk()
        with contextlib.suppress(PermissionError):
            os.nice(PRIORITY)
        harness.tests = {name: in_time(function) for name, function in harness.tests.items()}
    harness.main()
