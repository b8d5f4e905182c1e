#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the result of `sonde requests` with the logs: check_requests.py [--why=N] DIRECTORY...

For each logged handling, find the span of the same process and connection that overlaps
most in time.  Then compare the parent of that span with the logs:

  right    the parent is the span of the handling that made the call
  wrong    the parent belongs to another request
  astray   the parent belongs to the same request, but did not make the call
  unknown  the span has no parent
  missing  there is no such span

The results are grouped by the pattern of the calling service.  A client's request is right if
its span is the root of a trace.  Spans of handoffs and forks in between are skipped.  A wrong
parent puts all spans below it into a wrong trace; these are counted as well ("in wrong").  So
are spans at the wrong time ("mistimed"): the start is not between the send and the end of the
read, or the end is not within the reply.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import subprocess
import sys

import scenarios
from truth import Truth

SONDE = os.environ.get("SONDE", "sonde")
ENTRY = "entry"
VERDICTS = ("right", "wrong", "astray", "unknown", "missing")

# Minimum percentage that is right; bench/RESULTS.md has the measurements: 99.84 and more.
AIMS = {ENTRY: 100, scenarios.SAME_THREAD: 100, scenarios.FORK: 100, scenarios.IDLE: 99.5,
        scenarios.SATURATED: 99.5, scenarios.LOOP: 99.5, scenarios.PROXY: 99.5}
# Maximum percentages: with a parent of another request, in a wrong trace, at the wrong time.
WRONG, IN_WRONG_TRACE, MISTIMED = 0.2, 0.3, 0.2
# Two requests that are exchanged once, with three calls each, are more than that in a short run.
EXCHANGED = 6

# Scenarios for a test of half a minute: one of each kind.
FEW = ("thread-8", "prefork-8-anew", "fork-8", "spawn-8", "pool-8", "pool-saturated-8", "pool-handback-8", "loop-8",
       "loop-64", "thread-pipeline-8", "loop-pieces-8", "thread-warm-8", "thread-unix-8", "nginx-loop-8-anew",
       "stores-thread-8", "fan-loop-send-8", "deep-8")


def find_requests(capture):
    done = subprocess.run([SONDE, "requests", "--json", capture], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"sonde requests {capture}: {done.stderr.strip()}")
    return json.loads(done.stdout)["requests"]


class Spans:
    """The spans that sonde found, with indexes."""

    def __init__(self, requests):
        self.by_id, self.by_connection = {}, collections.defaultdict(list)
        self.ids = {}  # span id -> id of the request that the span belongs to
        for request in requests:
            for span in request["spans"]:
                span["trace_id"] = request["trace_id"]
                self.by_id[span["span_id"]] = span
                if span["kind"] == "network":
                    self.by_connection[self.key(span["pid"], span.get("local"), span.get("peer"))].append(span)
        for spans in self.by_connection.values():
            spans.sort(key=lambda s: (s["end"], s["start"]))

    @staticmethod
    def key(pid, local, peer):
        return (pid, local, peer) if local and local != "unix" else (pid, "unix")

    def take(self, handling, exactly):
        """The span of a handling, each used once; exactly: it ends within the reply."""
        spans = self.by_connection[self.key(handling.pid, handling.local, handling.peer)]
        first = bisect.bisect_left(spans, handling.log["replying"] if exactly else handling.begin,
                                   key=lambda s: s["end"])
        best = None
        for span in spans[first:]:
            if exactly and span["end"] > handling.end or best and span["end"] - handling.end > best[0]:
                break
            if span["span_id"] in self.ids or span["start"] > handling.end or not self.is_candidate(span, handling):
                continue
            off = abs(span["end"] - handling.end) + abs(span["start"] - handling.begin)
            if not best or off < best[0]:
                best = (off, span)
        if best:
            self.ids[best[1]["span_id"]] = handling.id
        return best and best[1]

    @staticmethod
    def is_candidate(span, handling):
        """Unix sockets have no addresses, so the thread must match."""
        return handling.local != "unix" or span["tid"] == handling.log["reader"]

    def parent(self, span):
        return self.by_id.get(span.get("parent_span_id"))

    def caller(self, span):
        """The nearest network span above, or None."""
        above = self.parent(span)
        while above and above["kind"] != "network":
            above = self.parent(above)
        return above

    def root(self, span):
        while self.parent(span):
            span = self.parent(span)
        return span


class Comparison:
    def __init__(self, truth, requests):
        self.truth = truth
        self.spans = Spans(requests)
        self.verdicts = collections.defaultdict(collections.Counter)  # by pattern
        self.in_wrong_trace, self.mistimed = collections.Counter(), collections.Counter()
        self.trust = collections.defaultdict(collections.Counter)  # verdicts by confidence
        self.reasons = []
        handlings = sorted(self.truth.handlings, key=lambda h: (h.end, h.begin))
        self.found = {id(h): self.spans.take(h, True) for h in handlings if h.log}
        self.found |= {id(h): self.spans.take(h, False) for h in handlings if not self.found.get(id(h))}
        self.trace_ids = self.name_traces()
        self.first_sent = self.find_first_sent()
        for handling in handlings:
            self.judge(handling)

    def name_traces(self):
        """Map each trace to a request: that of its root, or else of most of its spans."""
        votes = collections.defaultdict(collections.Counter)
        for name, id in self.spans.ids.items():
            span = self.spans.by_id[name]
            votes[span["trace_id"]][id] += 1 if span.get("parent_span_id") else 1000
        return {trace: count.most_common(1)[0][0] for trace, count in votes.items()}

    def find_first_sent(self):
        """When the first request of each read was sent: only the arrival of a read's first byte is known."""
        first = {}
        for handling in self.truth.handlings:
            span = self.found[id(handling)]
            if span and handling.log:
                _, call = self.truth.calls[handling.id, handling.hop]
                key = handling.peer, span.get("read")
                first[key] = min(first.get(key, call["sending"]), call["sending"])
        return first

    def judge(self, handling):
        pattern = handling.parent.service["pattern"] if handling.parent else ENTRY
        span = self.found[id(handling)]
        verdict = self.verdict(handling, span)
        self.verdicts[pattern][verdict] += 1
        if span and self.trace_ids[span["trace_id"]] != handling.id:
            self.in_wrong_trace[pattern] += 1
        if verdict in ("right", "wrong", "astray") and handling.parent:
            self.trust[round(span["confidence"], 2)][verdict] += 1
        if span and handling.log and not self.in_time(handling, span):
            self.mistimed[pattern] += 1
        if verdict != "right":
            self.reasons.append((pattern, verdict, handling))

    def in_time(self, handling, span):
        sent = self.first_sent[handling.peer, span.get("read")]
        log = handling.log
        return sent <= span["start"] <= log["read"] and log["replying"] <= span["end"] <= log["replied"]

    def verdict(self, handling, span):
        if not span:
            return "missing"
        caller = self.spans.caller(span)
        wanted = self.found[id(handling.parent)] if handling.parent else None
        if caller is wanted:
            return "right"
        if not caller:
            return "unknown"
        return "astray" if self.id_of(caller) == handling.id else "wrong"

    def id_of(self, span):
        return self.spans.ids.get(span["span_id"]) or self.trace_ids[span["trace_id"]]

    def explain(self, pattern, verdict, handling):
        span, parent = self.found[id(handling)], handling.parent
        words = [f"    {verdict}: {handling} (pid {handling.pid}, {handling.peer} -> {handling.local}), "
                 f"called by {parent or 'the client'}"]
        if parent and parent.log:
            log = parent.log
            words.append(f", read by {log['reader']}, handled by {log['worker']}, replied to by {log['replier']}")
        caller = span and self.spans.caller(span)
        if caller:
            words.append(f"; assigned to {self.id_of(caller)} "
                         f"(pid {caller['pid']}, tid {caller['tid']}, confidence {span['confidence']})")
        return "".join(words)


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def row(name, pattern, counts, *more):
    total = counts.total()
    shares = [counts[v] for v in VERDICTS] + list(more)
    print(f"{name:31} {pattern:15} {total:6}", *(f"{percent(n, total):9.2f}" for n in shares), flush=True)


class Table:
    """Prints a line for each scenario and pattern, and at the end the sums."""

    def __init__(self, why=0):
        self.why = why
        self.sums = collections.defaultdict(collections.Counter)
        self.in_wrong_trace, self.mistimed = collections.Counter(), collections.Counter()
        self.trust = collections.defaultdict(collections.Counter)
        print(f"{'scenario':31} {'pattern':15} {'spans':>6}",
              *(f"{v + ' %':>9}" for v in (*VERDICTS, "in wrong", "mistimed")))

    def add(self, directory):
        truth = Truth(directory)
        c = Comparison(truth, find_requests(truth.directory / "capture.sonde"))
        for pattern in (ENTRY, *scenarios.PATTERNS):
            if pattern in c.verdicts:
                row(truth.name, pattern, c.verdicts[pattern], c.in_wrong_trace[pattern], c.mistimed[pattern])
                self.sums[pattern] += c.verdicts[pattern]
        self.in_wrong_trace += c.in_wrong_trace
        self.mistimed += c.mistimed
        for confidence, counts in c.trust.items():
            self.trust[confidence] += counts
        for reason in c.reasons[:self.why]:
            print(c.explain(*reason))

    def end(self):
        print()
        for pattern, counts in self.sums.items():
            row("all", pattern, counts, self.in_wrong_trace[pattern], self.mistimed[pattern])
        every = sum(self.sums.values(), collections.Counter())
        row("all", "", every, self.in_wrong_trace.total(), self.mistimed.total())
        for confidence, counts in sorted(self.trust.items(), reverse=True):
            print(f"confidence {confidence:.2f}: {counts.total():6} parents, "
                  f"{percent(counts['right'], counts.total()):.2f} % right")
        found = [words for p, counts in self.sums.items()
                 for words in missed(p, counts, self.in_wrong_trace[p], self.mistimed[p])]
        print(*found, sep="\n", end="\n" if found else "")
        return int(bool(found) or not self.sums)


def missed(pattern, counts, in_wrong_trace, mistimed):
    """Sentences about the aims that a pattern misses."""
    right = percent(counts["right"], counts.total())
    if right < AIMS[pattern]:
        yield f"{pattern}: {right:.2f} % are right, want at least {AIMS[pattern]}"
    for count, most, what in ((counts["wrong"], WRONG, "have a wrong parent"),
                              (in_wrong_trace, IN_WRONG_TRACE, "are in a wrong trace"),
                              (mistimed, MISTIMED, "are at the wrong time")):
        if count > EXCHANGED and percent(count, counts.total()) > most:
            yield f"{pattern}: {percent(count, counts.total()):.2f} % {what}, want at most {most}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--why", type=int, default=0, metavar="N", help="show N errors of each scenario")
    parser.add_argument("directories", nargs="+", type=pathlib.Path, metavar="DIRECTORY")
    args = parser.parse_args()
    table = Table(args.why)
    for directory in args.directories:
        table.add(directory)
    return table.end()


if __name__ == "__main__":
    sys.exit(main())
