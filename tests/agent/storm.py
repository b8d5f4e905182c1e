#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10,000 forks and 10,000 threads a minute under the agent, while recorders start and are killed.

On a busy host the rate can be lower; then the test takes longer.
"""
import collections
import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time

import check
import harness
from harness import SCRATCH, SONDE, equal, main, require, test, workload

PACE = 20_000 / 60   # requests per second, half of them by fork
KILLS = 7
LIFE = 1.2           # lifetime of a recorder, in seconds
LAST = 1.5           # time that the last one records, which ends normally


class Server:
    def __init__(self):
        self.process = subprocess.Popen([SONDE, "run", "--", *workload("agent-storm")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def call(self, how, number, until_closed=False):
        request = struct.pack("=cI", how, number)
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.TIMEOUT) as s:
            s.sendall(request)
            return s.recv(64) == request and not (until_closed and s.recv(1))


class Clients:
    """Threads that send requests at a steady pace, until stopped."""

    def __init__(self, server, count=4):
        self.server, self.stop = server, threading.Event()
        self.sent, self.failed = collections.Counter(), []
        self.threads = [threading.Thread(target=self.run, args=(i, count), daemon=True) for i in range(count)]
        for t in self.threads:
            t.start()

    def run(self, first, step):
        began = time.monotonic()
        number = first
        while not self.stop.is_set():
            how = b"f" if number // step % 2 else b"t"
            try:
                if not self.server.call(how, number):
                    self.failed.append(f"request {number}: a wrong reply")
            except OSError as e:
                self.failed.append(f"request {number}: {e}")
            self.sent[how] += 1
            number += step
            time.sleep(max(0, began + number / PACE - time.monotonic()))

    def wait(self, seconds):
        """Wait this long, and until most requests of that time have a reply; returns their number by kind."""
        before = self.sent.copy()
        time.sleep(seconds)
        harness.wait_until(lambda: self.sent.total() > before.total() + 0.8 * PACE * seconds, "requests get replies")
        return self.sent - before

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def recorder(server, path):
    return subprocess.Popen([SONDE, "record", "-q", "-o", str(path), "-p", str(server.pid)],
                            stdin=subprocess.DEVNULL)


@test
def a_fork_storm_survives_killed_recorders():
    server = Server()
    try:
        require(server.call(b"t", 0, until_closed=True), "the first request has a reply")
        before, began = server.descriptors(), time.monotonic()
        clients = Clients(server)
        for _ in range(KILLS):
            one = recorder(server, SCRATCH / "killed.sonde")
            clients.wait(LIFE * random.uniform(0.8, 1.2))
            one.kill()
            one.wait()
        path = SCRATCH / "last.sonde"
        last = recorder(server, path)
        harness.wait_until(lambda: path.exists() and path.stat().st_size, "the last recorder starts")
        sent = clients.wait(LAST)
        last.send_signal(signal.SIGINT)
        equal(last.wait(timeout=harness.TIMEOUT), 0, "exit code of the last recorder")
        clients.end()
        seconds = time.monotonic() - began
        print(f"{clients.sent[b'f']} forks and {clients.sent[b't']} threads in {seconds:.1f} s")
        require(not clients.failed, f"{len(clients.failed)} without reply: {clients.failed[:3]}")
        harness.wait_until(lambda: server.descriptors() == before, "descriptors as before")
        server.process.stdin.close()
        equal(server.process.wait(timeout=harness.TIMEOUT), 0, "exit code of the server")
    finally:
        server.process.kill()
        server.process.wait()
    check_last(check.Recorded(path), server.pid, sent)


def check_last(recorded, pid, sent):
    """Most requests of both kinds are recorded completely."""
    rows = recorded.spans.values()
    serve = {r["span_id"]: r for r in rows if r["operation"] == "serve"}
    children = [r for r in serve.values() if r["pid"] != pid]
    threads = [r for r in serve.values() if r["pid"] == pid]
    work = collections.Counter(r["parent_span_id"] for r in rows if r["operation"] == "work")
    whole = sum(work[span] == 3 for span in serve)
    print(f"the last capture has {len(children)} requests by children, {len(threads)} by threads, {whole} of them complete")
    require(len(children) > sent[b"f"] / 2 and len(threads) > sent[b"t"] / 2, f"too few requests of {sent}")
    require(whole > 0.98 * len(serve), "some are incomplete")


if __name__ == "__main__":
    main()
