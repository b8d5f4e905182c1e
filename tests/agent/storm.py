#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10,000 forks and 10,000 threads a minute under the agent, while recorders come and are killed.

A machine that others keep busy may not get through with so many; then it takes longer.
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
from harness import ROOM, SONDE, equal, main, require, test, workload

PACE = 20_000 / 60   # requests per second, half of them by fork
KILLS = 10
LIFE = 1.6           # seconds that a recorder lives
LAST = 3.0           # that the last one lives, which may end


class Server:
    def __init__(self):
        self.process = subprocess.Popen([SONDE, "run", "--", *workload("agent-storm")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def ask(self, how, number):
        question = struct.pack("=cI", how, number)
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.TIMEOUT) as s:
            s.sendall(question)
            return s.recv(64) == question


class Clients:
    """Some threads that ask at an even pace, until told to stop."""

    def __init__(self, server, count=4):
        self.server, self.stop = server, threading.Event()
        self.asked, self.failed = collections.Counter(), []
        self.threads = [threading.Thread(target=self.run, args=(i, count), daemon=True) for i in range(count)]
        for t in self.threads:
            t.start()

    def run(self, first, step):
        began = time.monotonic()
        number = first
        while not self.stop.is_set():
            how = b"f" if number // step % 2 else b"t"
            try:
                if not self.server.ask(how, number):
                    self.failed.append(f"request {number}: a wrong answer")
            except OSError as e:
                self.failed.append(f"request {number}: {e}")
            self.asked[how] += 1
            number += step
            time.sleep(max(0, began + number / PACE - time.monotonic()))

    def come(self, seconds):
        """For so long, or until most of those who come in that time were answered."""
        before = self.asked.total()
        time.sleep(seconds)
        harness.wait_until(lambda: self.asked.total() > before + 0.8 * PACE * seconds, "requests are answered")

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def recorder(server, path):
    return subprocess.Popen([SONDE, "record", "-q", "-o", str(path), "-p", str(server.pid)],
                            stdin=subprocess.DEVNULL)


@test
def a_storm_is_answered_while_recorders_are_killed():
    server = Server()
    try:
        server.ask(b"t", 0)
        time.sleep(0.1)
        before, began = server.descriptors(), time.monotonic()
        clients = Clients(server)
        for _ in range(KILLS):
            one = recorder(server, ROOM / "killed.sonde")
            clients.come(LIFE * random.uniform(0.8, 1.2))
            one.kill()
            one.wait()
        last = recorder(server, ROOM / "last.sonde")
        clients.come(LAST)
        last.send_signal(signal.SIGINT)
        equal(last.wait(timeout=harness.TIMEOUT), 0, "exit code of the last recorder")
        clients.end()
        seconds = time.monotonic() - began
        print(f"{clients.asked[b'f']} forks and {clients.asked[b't']} threads in {seconds:.1f} s")
        require(not clients.failed, f"{len(clients.failed)} not answered: {clients.failed[:3]}")
        harness.wait_until(lambda: server.descriptors() == before, "descriptors as before")
        server.process.stdin.close()
        equal(server.process.wait(timeout=harness.TIMEOUT), 0, "exit code of the server")
    finally:
        server.process.kill()
        server.process.wait()
    check_last(check.Recorded(ROOM / "last.sonde"), server.pid)


def check_last(recorded, pid):
    """Whole requests of both kinds, most of what was asked for."""
    rows = recorded.spans.values()
    serve = {r["span_id"]: r for r in rows if r["operation"] == "serve"}
    children = [r for r in serve.values() if r["pid"] != pid]
    threads = [r for r in serve.values() if r["pid"] == pid]
    work = collections.Counter(r["parent_span_id"] for r in rows if r["operation"] == "work")
    whole = sum(work[span] == 3 for span in serve)
    print(f"the last capture has {len(children)} requests by children, {len(threads)} by threads, {whole} of them whole")
    wanted = PACE / 2 * LAST / 2
    require(len(children) > wanted and len(threads) > wanted, "too few of them")
    require(whole > 0.98 * len(serve), "some are not whole")


if __name__ == "__main__":
    main()
