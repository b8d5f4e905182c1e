#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans together with a capture: each span is matched with its thread, and nearly all of its time is explained.

The spans are generated from the output of a workload: the starts and ends of its
calls by CLOCK_MONOTONIC, converted to the clock of a span exporter.
"""
import json
import socket
import time

import invariants
import schema
from compare import is_clear, require_clear
from harness import (Background, SCRATCH, Recorder, SONDE, each, equal, main, need_feature, record, require,
                     run, test, workload)

TYPED = 0.99  # of the wall time of spans
PARTIES = "ABCDEF"


class Spans:
    """A file of spans in Jaeger's format, each with its thread."""

    def __init__(self, capture):
        self.capture = capture
        self.offset = capture.info["start_realtime"] - capture.info["start"]
        self.spans = []

    def add(self, trace, service, operation, tid, begin, end, parent=None):
        """Returns the span id, for its children."""
        number = len(self.spans) + 1
        references = [{"refType": "CHILD_OF", "traceID": f"{trace:x}", "spanID": f"{parent:x}"}] if parent else []
        start = (begin + self.offset) // 1000  # whole microseconds, as exporters write them
        self.spans.append({
            "traceID": f"{trace:x}", "spanID": f"{number:x}", "operationName": operation, "startTime": start,
            "duration": (end + self.offset) // 1000 - start, "references": references,
            "tags": [{"key": "thread.native_id", "type": "int64", "value": tid}],
            "process": {"serviceName": service}})
        return number

    def explain(self):
        """The accounts of all traces, by trace id; not those of rebuilt requests that no span was joined with."""
        path = SCRATCH / "spans.json"
        path.write_text(json.dumps({"data": [{"spans": self.spans}]}))
        accounts = json.loads(run(SONDE, "explain", "--json", "--slowest", 10**6, self.capture.path, path).stdout)
        wrong = schema.check(accounts, schema.load("explain"))
        for account in accounts:
            wrong += invariants.account_complaints(account)
        require(not wrong, "the accounts are wrong:\n  " + "\n  ".join(wrong[:20]))
        own = {int(span["traceID"], 16) for span in self.spans}
        by_trace = {int(account["span"]["trace_id"], 16): account for account in accounts}
        return {trace: account for trace, account in by_trace.items() if trace in own}

    def path(self, trace):
        said = run(SONDE, "path", "--json", "--trace", f"{trace:032x}", self.capture.path, SCRATCH / "spans.json")
        steps = json.loads(said.stdout)
        wrong = schema.check(steps, schema.load("path"))
        require(not wrong, "the path violates its schema:\n  " + "\n  ".join(wrong))
        return steps


def spans_of_calls(capture, truth):
    """A trace for each call of each track, except for calls with hidden events."""
    spans = Spans(capture)
    calls = [(track, call) for track in truth["tracks"] for call in track["calls"]]
    for track, call in calls:
        if is_clear(capture.within(track["tid"], call["begin"], call["end"])):
            spans.add(len(spans.spans) + 1, truth["workload"], track["role"], track["tid"], call["begin"],
                      call["end"])
    require_clear(len(spans.spans), len(calls), "calls")
    return spans


def spans_of_lives(capture, truth):
    """A trace for the lifetime of each thread."""
    spans, lives = Spans(capture), invariants.Lives(capture.records)
    for tid in lives.last:
        spans.add(tid, truth["workload"], "life", tid, *lives.span(tid))
    return spans


def check_typed(spans, what):
    accounts = spans.explain()
    equal(len(accounts), len({span["traceID"] for span in spans.spans}), "traces that were explained")
    time = sum(account["duration"] for account in accounts.values())
    share = sum(account["explained_time"] for account in accounts.values()) / time
    print(f"{what}: {100 * share:.3f} % of {time / 1e6:.1f} ms typed, in {len(accounts)} spans")
    require(share >= TYPED, f"only {100 * share:.2f} % typed")


@each(("nanosleep", "sleep", 53), ("poll", "sleep", 53), ("select", "sleep", 53), ("epoll", "sleep", 53),
      ("recv", "sleep", 53), ("futex", "sleep", 53), ("cond", "sleep", 53), ("timerfd", "sleep", 53),
      ("mutex", "lock", 53), ("pi", "lock", 53), ("rwlock", "lock", 53), ("join", "lock", 53),
      ("pipe", "handoff", 53), ("unix", "handoff", 53), ("unix-epoll", "handoff", 53),
      ("eventfd", "handoff", 53), ("tty", "handoff", 53), ("tcp", "handoff", 53), ("tcp6", "handoff", 53),
      ("tcp-epoll", "handoff", 53), ("udp", "handoff", 53), ("semaphore", "handoff", 53),
      ("futex-wait", "handoff", 53))
def time_of_calls_is_typed(kind, name, count):
    capture, truth = record(*workload(name, kind.removesuffix("-wait"), count))
    check_typed(spans_of_calls(capture, truth), f"{name} {kind}")


@each("fsync", "direct", "fault")
def time_of_disk_calls_is_typed(kind):
    capture, truth = record(*workload("disk", kind, SCRATCH, 23))
    check_typed(spans_of_calls(capture, truth), f"disk {kind}")


@test
def time_of_a_stream_is_typed():
    capture, truth = record(*workload("stream", 211))
    check_typed(spans_of_lives(capture, truth), "stream")


@each("main", "thread", "child")
def time_of_a_server_is_typed(worker):
    """With a client that is not recorded."""
    with Background(workload("serve", 0, worker), gate=False) as server:
        port = int(server.ready()[0])
        with Recorder("-p", server.pid) as recorder:
            with socket.create_connection(("127.0.0.1", port)) as client:
                for _ in range(53):
                    time.sleep(0.002)
                    client.sendall(b"question")
                    equal(client.recv(64), b"question", "answer")
            truth = server.truth()
        capture = recorder.capture().check()
    check_typed(spans_of_calls(capture, truth), f"serve {worker}")


# The joined path

def spans_of_chain(capture, truth, depth):
    """A trace for each round: each party's span is a child of the previous party's span."""
    spans, calls = Spans(capture), truth.track("A.wait")["calls"]
    tids = {track["tid"] for track in truth["tracks"]}
    rounds = [r for r, call in enumerate(calls)
              if all(is_clear(capture.within(tid, call["begin"], call["end"])) for tid in tids)]
    require_clear(len(rounds), len(calls), "rounds")
    for r in rounds:
        call = calls[r]
        parent = spans.add(r + 1, "party A", "wait", truth.track("A.wait")["tid"], call["begin"], call["end"])
        for letter in PARTIES[1:depth + 1]:
            begin = truth.track(letter + ".rest")["calls"][r]["begin"]
            end = truth.track(letter + ".release")["calls"][r]["begin"]
            parent = spans.add(r + 1, "party " + letter, "serve", truth.track(letter + ".rest")["tid"], begin, end,
                               parent)
    return spans, rounds


@each(("lock_and_disk", "fsync", "mutex"), ("two_servers", "compute", "tcp", "tcp"),
      ("five", "sleep", "mutex", "tcp", "unix", "pipe", "shared"))
def the_path_of_a_trace_follows_its_spans(_, operation, *links):
    """Every stretch is of the innermost span whose party was at work, up to the operation."""
    need_feature("messages")
    capture, truth = record(*workload("chain", operation, SCRATCH, 5, 10, *links))
    spans, rounds = spans_of_chain(capture, truth, len(links))
    check_typed(spans, f"chain {operation} {' '.join(links)}")
    last = PARTIES[len(links)]
    for r in rounds:
        steps, call = spans.path(r + 1), truth.track(last + ".operation")["calls"][r]
        whole = truth.track("A.wait")["calls"][r]
        wrong = list(invariants.tree_complaints(steps, steps[0]["start"], steps[-1]["end"]))
        require(not wrong, "\n  ".join(wrong))
        require(abs(steps[0]["start"] - whole["begin"]) <= 2000, "the path begins with its trace")
        middle = (call["begin"] + call["end"]) // 2  # a step may be longer than the operation
        doing = [s for s in steps if s["leaf"] and s["start"] <= middle < s["end"]]
        require(doing, f"round {r}: no step during the operation")
        for s in doing:
            equal((s["tid"], s["span"]["service"]), (truth.track(last + ".operation")["tid"], "party " + last),
                  f"round {r}: whose step {s['id']} is")


if __name__ == "__main__":
    main()
