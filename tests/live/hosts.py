#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several hosts: their clocks are aligned by their messages, and paths cross hosts.

Two network namespaces with a veth pair act as two hosts.  Each has its own
recorder, and one capture is rewritten as if its clock were wrong by a known
amount.
"""
import contextlib
import json
import os
import sys

from harness import Background, SCRATCH, SONDE, Skip, TIMEOUT, WORKLOADS, each, equal, main, need_feature
from harness import need_program, require, run, test

SHIFT = 500_000_000  # ns by which the second clock is ahead
NAP = 0.005  # seconds that each request takes

SERVER = f"""
import socket, time
listener = socket.create_server(("10.123.45.2", 7000))
print("ready", flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while connection.recv(100):
    time.sleep({NAP})
    connection.send(b"x" * 10)
"""

CLIENT = """
import socket, sys
connection = socket.create_connection(("10.123.45.2", 7000))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for i in range(int(sys.argv[1])):
    connection.send(b"x" * 100)
    connection.recv(100)
"""


# On the first host: a service that calls the other host for each request, and its client.
FRONT = """
import os, socket, sys
listener = socket.create_server(("10.123.45.1", 7001))
if os.fork() == 0:
    listener.close()
    client = socket.create_connection(("10.123.45.1", 7001))
    for i in range(int(sys.argv[1])):
        client.send(b"x" * 30)
        client.recv(100)
    os._exit(0)
back = socket.create_connection(("10.123.45.2", 7000))
for s in listener, back:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
connection, _ = listener.accept()
while connection.recv(100):
    back.send(b"x" * 100)
    back.recv(100)
    connection.send(b"x" * 20)
os.wait()
"""


@contextlib.contextmanager
def two_hosts():
    """Create two hosts and yield their names, for `ip netns exec`."""
    need_program("ip")
    names = [f"sonde{os.getpid()}{end}" for end in "ab"]
    try:
        for name in names:
            if run("ip", "netns", "add", name, expect=None).returncode:
                raise Skip("cannot make network namespaces")
        run("ip", "link", "add", "end0", "netns", names[0], "type", "veth", "peer", "name", "end0",
            "netns", names[1])
        for i, name in enumerate(names):
            run("ip", "-n", name, "addr", "add", f"10.123.45.{i + 1}/24", "dev", "end0")
            run("ip", "-n", name, "link", "set", "end0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            run("ip", "netns", "del", name, expect=None)


def record_both(requests, program=CLIENT):
    """Record both hosts; returns the captures of the first host and of the server."""
    need_feature("messages")
    paths = [SCRATCH / "client.sonde", SCRATCH / "server.sonde"]
    with two_hosts() as names:
        commands = [[SONDE, "record", "-q", "-o", str(path), "--", "ip", "netns", "exec", name,
                     sys.executable, "-c"] for path, name in zip(paths, names)]
        with Background(commands[1] + [SERVER], gate=False) as server:
            server.ready()
            run(*commands[0], program, requests)
            equal(server.process.wait(TIMEOUT), 0, "exit code of the server's recorder")
    return paths


def reclocked(path, drift, shift=SHIFT):
    other = SCRATCH / "other.sonde"
    run(WORKLOADS / "reclock", path, other, "other", shift, drift)
    return other


def clock_of(*paths):
    """The clock of the second host, by `sonde info`."""
    clocks = json.loads(run(SONDE, "info", "--json", *paths).stdout)["clocks"]
    equal(len(clocks), 2, "hosts")
    return clocks[1]


def messages(path, direction):
    lines = run(SONDE, "dump", "--json", "--kind=message", path).stdout.splitlines()
    return [m for m in map(json.loads, lines) if m["direction"] == direction and m["object_type"] == "inet"]


@each(("steady", 0), ("fast", 50), ("slow", -50))
def a_wrong_clock_is_aligned(_, drift):
    client, server = record_both(211)
    other = reclocked(server, drift)
    clock = clock_of(client, other)
    equal(clock["alignment"], "aligned", "how the clock was found")
    equal((clock["messages_from"], clock["messages_to"]), (211, 211), "messages")
    sent = [m["time"] for m in messages(server, "send")]
    start = json.loads(run(SONDE, "info", "--json", server).stdout)
    start = start.get("inputs", [start])[0]["start"]
    # the error of the clock at the first and at the last message
    truth = [-SHIFT - (t - start) * drift * 1e-6 for t in (sent[0], sent[-1])]
    low, high = min(truth) - clock["max_error"], max(truth) + clock["max_error"]
    require(low <= clock["offset"] <= high, f"{clock['offset']} is not in {low} to {high}")
    uncertain = 2e6 * clock["max_error"] / (sent[-1] - sent[0])
    require(abs(clock["drift_ppm"] + drift) <= uncertain + 0.1,
            f"drift of {clock['drift_ppm']} instead of {-drift}, which is uncertain by {uncertain}")
    require(clock["max_error"] < 1_000_000, f"an error of {clock['max_error']} ns is too large to be a useful bound")


@test
def a_path_crosses_hosts():
    client, server = record_both(53)
    other = reclocked(server, 50)
    tid = messages(client, "send")[0]["tid"]
    server_tid = messages(server, "send")[0]["tid"]
    steps = json.loads(run(SONDE, "path", "--json", "--thread", tid, client, other).stdout)
    naps = [s["end"] - s["start"] for s in steps if s["leaf"] and s["tid"] == server_tid and s["state"] == "T"]
    equal(len(naps), 53, "naps of the server on the client's path")
    # the client's wait can cut off a nap by the error of the clocks
    error = clock_of(client, other)["max_error"]
    require(min(naps) >= NAP * 1e9 - error, f"a nap of {min(naps)} ns, with clocks that agree within {error} ns")


def pairs_of(requests):
    """The front and back spans of each request, which has exactly these two."""
    for request in requests:
        equal([span.get("parent_span_id") for span in request["spans"]], [None, request["spans"][0]["span_id"]], "parents")
        yield request["spans"]


@each(("ahead", SHIFT, 0), ("behind", -SHIFT, 0), ("ahead_and_fast", SHIFT, 50), ("behind_and_slow", -SHIFT, -50))
def requests_cross_hosts(_, shift, drift):
    """Both captures are of the same host, so the captures with the correct clock yield the true times."""
    count = 211
    front, back = record_both(count, FRONT)
    done = run(SONDE, "requests", "--json", "--entry=7001", front, reclocked(back, drift, shift))
    said = json.loads(done.stdout)
    true = json.loads(run(SONDE, "requests", "--json", "--entry=7001", front, back).stdout)
    pairs, true_pairs = list(pairs_of(said["requests"])), list(pairs_of(true["requests"]))
    equal((len(pairs), len(true_pairs), said["parent_unknown"]), (count, count, 0), "pairs, true ones, unknown parents")
    for parent, child in pairs:
        require(parent["host"] != child["host"] == "other", "both are of the same host")
        # the end of a send can be late, as its thread can wait for a CPU
        require(parent["start"] <= child["start"] < parent["end"], f"{child} does not begin in {parent}")
    clock = said["clocks"][1]
    errors = [abs(got[1][end] - want[1][end]) for got, want in zip(pairs, true_pairs) for end in ("start", "end")]
    print(f"residual error at most {max(errors)} ns, bound {clock['max_error']} ns")
    require(max(errors) <= clock["max_error"] < 1_000_000, f"{max(errors)} ns of error, bound {clock['max_error']}")
    require(" ± " in done.stderr, f"no error bound in '{done.stderr}'")


@test
def hosts_with_few_messages_are_not_aligned():
    client, server = record_both(2)
    other = reclocked(server, 0)
    clock = clock_of(client, other)
    equal((clock["alignment"], clock["messages_from"], clock["messages_to"]), ("too_few_messages", 2, 2), "the clock")
    tid = messages(client, "send")[0]["tid"]
    server_tid = messages(server, "send")[0]["tid"]
    done = run(SONDE, "path", "--json", "--thread", tid, client, other)
    require("cannot align the clocks" in done.stderr, f"no warning: '{done.stderr}'")
    require(server_tid not in {s["tid"] for s in json.loads(done.stdout)}, "the path goes across")


main()
