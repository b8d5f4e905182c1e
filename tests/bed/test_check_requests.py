#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checker: two requests, each from the client to front and from front to leaf."""
import collections
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import check_requests
from truth import Handling, Truth

FRONT, LEAF = 10, 20  # processes
SERVICES = [{"name": name, "model": "thread", "pattern": "same thread", "pid": pid, "address": address}
            for name, pid, address in (("leaf", LEAF, "l:1"), ("front", FRONT, "f:1"))]


def call(local, peer, begin, end):
    return {"wire": "http", "local": local, "peer": peer, "server": 0, "sending": begin, "sent": begin + 1,
            "replied": end}


def entry(id, hop, pid, local, peer, begin, end, calls=()):
    return {"id": id, "hop": hop, "pid": pid, "local": local, "peer": peer, "read": begin, "replying": end - 1,
            "replied": end, "calls": list(calls)}


# Request r1 goes from 100 to 200, r2 from 300 to 400, over the same connections.
CLIENT = [entry(id, "", 1, "", "", t, t + 100, [call("c:9", "f:1", t, t + 100)]) for id, t in (("r1", 100), ("r2", 300))]
FRONTS = [entry(id, "0", FRONT, "f:1", "c:9", t + 10, t + 90, [call("f:9", "l:1", t + 20, t + 80)])
          for id, t in (("r1", 100), ("r2", 300))]
LEAVES = [entry(id, "0.0", LEAF, "l:1", "f:9", t + 30, t + 70) for id, t in (("r1", 100), ("r2", 300))]


def truth():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "scenario.json").write_text(json.dumps({"name": "two", "services": SERVICES}))
        for log, entries in (("client", CLIENT), ("front", FRONTS), ("leaf", LEAVES)):
            (directory / f"{log}.log").write_text("".join(json.dumps(e) + "\n" for e in entries))
        return Truth(directory)


def span(name, parent, logged, kind="network"):
    return {"span_id": name, "parent_span_id": parent, "kind": kind, "pid": logged["pid"], "tid": logged["pid"],
            "local": logged["local"], "peer": logged["peer"], "start": logged["read"] - 1,
            "end": logged["replied"] - 1, "confidence": 1}


def trace(name, *spans):
    return {"trace_id": name, "spans": list(spans)}


def verdicts(*traces):
    """Of the leaves and of the client's requests, and how many of both are in a wrong trace."""
    c = check_requests.Comparison(truth(), traces)
    return dict(c.verdicts["same thread"]), dict(c.verdicts["entry"]), c.in_wrong_trace.total()


class Checker(unittest.TestCase):
    def test_right_parents_are_right(self):
        traces = [trace(f"t{i}", span(f"f{i}", None, FRONTS[i]), span(f"l{i}", f"f{i}", LEAVES[i])) for i in (0, 1)]
        self.assertEqual(verdicts(*traces), ({"right": 2}, {"right": 2}, 0))

    def test_spans_of_forks_are_skipped(self):
        first = trace("t0", span("f0", None, FRONTS[0]), span("k0", "f0", FRONTS[0], "fork"),
                      span("l0", "k0", LEAVES[0]))
        second = trace("t1", span("f1", None, FRONTS[1]), span("l1", "f1", LEAVES[1]))
        self.assertEqual(verdicts(first, second), ({"right": 2}, {"right": 2}, 0))

    def test_exchanged_leaves_are_in_wrong_traces(self):
        traces = [trace(f"t{i}", span(f"f{i}", None, FRONTS[i]), span(f"l{i}", f"f{i}", LEAVES[1 - i])) for i in (0, 1)]
        self.assertEqual(verdicts(*traces), ({"wrong": 2}, {"right": 2}, 2))

    def test_a_separate_root_has_an_unknown_parent_and_no_span_is_missing(self):
        self.assertEqual(verdicts(trace("t0", span("f0", None, FRONTS[0])), trace("t1", span("l0", None, LEAVES[0]))),
                         ({"unknown": 1, "missing": 1}, {"right": 1, "missing": 1}, 0))

    def test_a_span_below_another_parent_of_the_same_trace_is_astray(self):
        traces = [trace("t0", span("f0", None, FRONTS[0]), span("x", "f0", LEAVES[0] | {"local": "else"}),
                        span("l0", "x", LEAVES[0])),
                  trace("t1", span("f1", None, FRONTS[1]), span("l1", "f1", LEAVES[1]))]
        self.assertEqual(verdicts(*traces), ({"astray": 1, "right": 1}, {"right": 2}, 0))

    def test_spans_below_a_wrong_parent_are_in_a_wrong_trace(self):
        traces = [trace("t0", span("f0", None, FRONTS[0]), span("l0", "f0", LEAVES[0]), span("f1", "f0", FRONTS[1]),
                        span("l1", "f1", LEAVES[1]))]
        self.assertEqual(verdicts(*traces), ({"right": 2}, {"right": 1, "wrong": 1}, 2))

    def test_a_missing_span_does_not_take_that_of_another_request(self):
        """On unix sockets, which have no addresses, at the same time."""
        early, late = (entry(id, "0", FRONT, "unix", "unix", t, t + 50) | {"reader": 7} for id, t in (("r1", 10), ("r2", 20)))
        found = span("late", None, late) | {"tid": 7}
        spans = check_requests.Spans([trace("t", found)])
        handlings = [Handling(SERVICES[1], e["id"], e["hop"], FRONT, "unix", "unix", e["read"], e["replied"], e)
                     for e in (early, late)]
        self.assertEqual([spans.take(h, True) for h in handlings], [None, found])

    def test_each_missed_aim_is_reported(self):
        def missed(*counts):
            return len(list(check_requests.missed("event loop", *counts)))

        def counts(**verdicts):
            return collections.Counter(verdicts)
        self.assertEqual(missed(counts(right=1000), 0, 0), 0)
        self.assertEqual(missed(counts(right=995, unknown=5), 0, 0), 0)
        self.assertEqual(missed(counts(right=994, unknown=6), 0, 0), 1)
        self.assertEqual(missed(counts(right=9979, wrong=21), 0, 0), 1)
        self.assertEqual(missed(counts(right=10000), 31, 0), 1)
        self.assertEqual(missed(counts(right=10000), 0, 21), 1)

    def test_one_exchange_in_a_short_run_is_no_missed_aim(self):
        def missed(wrong):
            counts = collections.Counter(right=2000 - wrong, wrong=wrong)
            return len(list(check_requests.missed("event loop", counts, wrong, 0)))
        self.assertEqual([missed(6), missed(7)], [0, 2])

    def test_an_empty_table_fails(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(check_requests.Table().end(), 1)


unittest.main()
