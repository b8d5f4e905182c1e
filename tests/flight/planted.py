#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plant slow requests at random times, and find each of them in a capture of the flight recorder.

usage: planted.py [COUNT [SECONDS]]

A service with threads handles fast requests all the time.  COUNT of them (default 100) in SECONDS (default 600)
sleep, wait for a lock or compute, for a random time of 0.3 to 1.5 s; the flight recorder runs with
--when=200ms.  Client and service measure each planted request on the same clock as the recorder, which must find a
request that begins and ends between their times.  Prints the result, and fails if a planted request is in no capture
with its whole history, or a capture contains none of them.

Requests that other load on the host makes slower than 200 ms are slow requests, too, so a capture without a planted
request is accepted only if it contains such a request.
"""
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

SONDE = os.environ.get("SONDE", "sonde")
WHEN = 0.2  # seconds
SHORTEST, LONGEST = 0.3, 1.5
LOAD = 4  # clients of fast requests
START_MAX = 60  # seconds until the recorder is attached, on a busy host


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    lock = threading.Lock()

    def do_GET(self):
        begin = time.monotonic_ns()
        _, kind, seconds = (self.path + "//").split("/")[:3]
        if kind == "sleep":
            time.sleep(float(seconds))
        elif kind == "lock":
            is_held = threading.Event()
            threading.Thread(target=self.hold, args=(float(seconds), is_held)).start()
            is_held.wait()
            with self.lock:
                pass
        elif kind == "compute":
            end = time.monotonic() + float(seconds)
            while time.monotonic() < end:
                pass
        times = f"{begin} {time.monotonic_ns()}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(times)))
        self.end_headers()
        self.wfile.write(times)

    def hold(self, seconds, is_held):
        with self.lock:
            is_held.set()
            time.sleep(seconds)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64


def serve():
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def call(connection, path):
    """Begin and end of a request, in ns, by the client and by the service."""
    begin = time.monotonic_ns()
    connection.request("GET", path)
    handled = [int(word) for word in connection.getresponse().read().split()]
    return (begin, time.monotonic_ns()), handled


def load(port, done):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while not done.wait(0.01):
        call(connection, "/fast")


def plant(port, count, seconds):
    """Returns the times of the planted requests, which can overlap."""
    planted, threads = [], []
    times = sorted(random.uniform(0, seconds) for _ in range(count))
    begin = time.monotonic()

    def one():
        length = random.uniform(SHORTEST, LONGEST)
        path = f"/{random.choice(['sleep', 'lock', 'compute'])}/{length:.3f}"
        planted.append((*call(http.client.HTTPConnection("127.0.0.1", port), path), path))

    for at in times:
        time.sleep(max(0, begin + at - time.monotonic()))
        threads.append(threading.Thread(target=one))
        threads[-1].start()
    for t in threads:
        t.join()
    return planted


class FlightRecorder:
    """sonde record --keep-last, with its messages."""

    def __init__(self, directory, *options):
        self.directory = pathlib.Path(directory)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([SONDE, "record", "--keep-last=15s", "-o", str(directory), *map(str, options)],
                                        stderr=self.log, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def wait_for(self, text, seconds=START_MAX):
        end = time.monotonic() + seconds
        while text not in self.messages():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no '{text}' in:\n{self.messages()}")
            time.sleep(0.1)

    def captures(self):
        return sorted(self.directory.glob("*.sonde"))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def slow_requests(capture):
    """The slow requests of a capture with a complete history."""
    sql = f"SELECT start, end FROM requests WHERE parent IS NULL AND duration > {int(WHEN * 1e9)} " \
          "AND NOT lost AND NOT incomplete AND NOT no_reply"
    done = subprocess.run([SONDE, "query", "--json", str(capture), sql], capture_output=True, text=True, check=True)
    return [(r["start"], r["end"]) for r in json.loads(done.stdout)]


def is_same(planted, request):
    (begin, end), (read, replied), _ = planted
    return begin <= request[0] <= read and replied <= request[1] <= end


def compare(planted, captures):
    """Returns the planted requests that are in no capture, and the captures without any slow request."""
    found, empty, others = set(), [], 0
    for capture in captures:
        requests = slow_requests(capture)
        here = {i for i, p in enumerate(planted) if any(is_same(p, r) for r in requests)}
        found |= here
        others += not here and bool(requests)
        if not requests:
            empty.append(capture.name)
    return [p for i, p in enumerate(planted) if i not in found], empty, others


def run(count, seconds, directory):
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    done = threading.Event()
    try:
        port = int(server.stdout.readline())
        with FlightRecorder(directory, f"--port={port}", f"--when={WHEN}s", "--every=3s", "--at-most=10000") as flight:
            flight.wait_for("holding the last")
            clients = [threading.Thread(target=load, args=(port, done)) for _ in range(LOAD)]
            for c in clients:
                c.start()
            try:
                planted = plant(port, count, seconds)
                time.sleep(3)
            finally:
                done.set()
                for c in clients:
                    c.join()
            code = flight.stop()
            return planted, flight.captures(), flight.messages(), code
    finally:
        server.kill()
        server.wait()


def main():
    if sys.argv[1:] == ["--serve"]:
        serve()
    count, seconds = (int(a) for a in (sys.argv[1:] + ["100", "600"][len(sys.argv) - 1:])[:2])
    with tempfile.TemporaryDirectory() as top:
        planted, captures, messages, code = run(count, seconds, pathlib.Path(top) / "captures")
        missing, empty, others = compare(planted, captures)
        size = sum(c.stat().st_size for c in captures)
    print(*re.findall(r"sonde: .*(?:slow|lost).*", messages)[-3:], sep="\n")
    print(f"{count} requests of {SHORTEST} to {LONGEST} s in {seconds} s: {count - len(missing)} in "
          f"{len(captures)} captures ({size / 2**20:.1f} MiB), {len(missing)} missing; {len(empty)} captures "
          f"without a slow request, {others} for requests that were not planted; exit code {code}")
    for (begin, end), _, path in missing:
        print(f"missing: {path}, {(end - begin) / 1e6:.0f} ms at {begin}")
    sys.exit(bool(missing or empty or code))


if __name__ == "__main__":
    main()
