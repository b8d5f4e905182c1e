#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Latency of requests as an unrecorded client measures it."""
import json
import os
import re
import socket
import subprocess
import threading
import time

from harness import SCRATCH, SONDE, TIMEOUT, equal, main, need_feature, require, run, test, workload

REQUEST, REPLY = 8, 16


class Client(threading.Thread):
    """Sends requests, one after the other, and measures them, without its own waits for a CPU: it is not recorded."""

    def __init__(self, port, requests, reconnects=False, pause=0.002):
        super().__init__()
        self.address = ("127.0.0.1", port)
        self.requests, self.reconnects, self.pause = requests, reconnects, pause
        self.times = []

    def waited(self):
        """Time in ns in which this thread has waited for a CPU."""
        return int(os.pread(self.stat, 100, 0).split()[1])

    def exchange(self, connection):
        begin, waited = time.monotonic_ns(), self.waited()
        connection.sendall(bytes(REQUEST))
        got = 0
        while got < REPLY:
            part = len(connection.recv(REPLY - got))
            if not part:
                return
            got += part
        self.times.append(time.monotonic_ns() - begin - (self.waited() - waited))

    def run(self):
        self.stat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        connection = socket.create_connection(self.address)
        for i in range(self.requests):
            if self.reconnects and i:
                connection.close()
                connection = socket.create_connection(self.address)
            self.exchange(connection)
            time.sleep(self.pause)
        connection.close()
        os.close(self.stat)


def serve(mode, clients, requests, **how):
    """Record a server and measure it; returns the capture, and the latencies that clients saw."""
    path = SCRATCH / "capture.sonde"
    command = [SONDE, "record", "-q", "-o", str(path), "--", *workload("late", mode, clients * requests)]
    recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(recorder.stdout.readline().split()[1])
    threads = [Client(port, requests, **how) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _, words = recorder.communicate(timeout=TIMEOUT)
    equal(recorder.returncode, 0, f"exit code of the recorder, which said '{words.strip()}'")
    return path, sorted(t for thread in threads for t in thread.times)


def agree(path, times):
    """The percentiles of `requests` are those of the client, within 10 % and half a millisecond."""
    entry = json.loads(run(SONDE, "requests", "--json", path).stdout)["entries"][0]
    equal(entry["count"], len(times), "number of requests")
    for percent in (50, 95, 99):
        ours, theirs = entry[f"p{percent}"], times[-(-len(times) * percent // 100) - 1]
        require(abs(ours - theirs) <= theirs / 10 + 500000,
                f"p{percent} is {ours / 1e6:.2f} ms, and {theirs / 1e6:.2f} ms for the client")


def first_cause(path):
    return re.search(r"^cause.*?(?=^\S)", run(SONDE, "explain", path).stdout + "x", re.M | re.S).group().replace("\n", " ")


@test
def requests_queued_by_a_sleeping_loop_have_the_latency_of_the_client():
    need_feature("arrivals")
    path, times = serve("loop", clients=4, requests=100)
    agree(path, times)
    cause = re.sub(" +", " ", first_cause(path))
    require("sleeps in" in cause and "while this request waits in its queue" in cause, f"the cause is {cause}")


@test
def requests_in_the_accept_queue_have_the_latency_of_the_client():
    need_feature("arrivals")
    path, times = serve("accept", clients=8, requests=12, reconnects=True)
    agree(path, times)
    cause = re.sub(" +", " ", first_cause(path))
    require("sleeps in" in cause and "the accept queue" in cause and "other requests" in cause,
            f"the cause is {cause}")


@test
def replies_in_the_send_buffer_have_the_latency_of_the_client():
    need_feature("arrivals")
    path, times = serve("nagle", clients=2, requests=50)
    require(times[len(times) // 2] > 20000000, "nothing delays acknowledgements here")
    agree(path, times)
    cause = re.sub(" +", " ", first_cause(path))
    require("send buffer" in cause, f"the cause is {cause}")


if __name__ == "__main__":
    main()
