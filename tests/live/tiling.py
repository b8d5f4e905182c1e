# SPDX-License-Identifier: Apache-2.0
"""Check that any recording is consistent.

The records of different threads and CPUs are redundant:

- the intervals of a thread tile its lifetime, from its task record to its exit or
  to the end of the recording, to the nanosecond;
- a CPU runs one thread at a time, including out-of-scope tasks;
- the waker and the parent of a thread have a task record;
- records are ordered by time.

check() returns a list of errors, which is empty on success.
"""
from collections import defaultdict

STATES = set("RDNTLIU?CQ")
ENOUGH = 20  # errors to report


class Life:
    """A thread from its first record to its exit. A tid can have several, one after the other."""

    def __init__(self, tid, start):
        self.tid, self.start, self.end = tid, start, None
        self.intervals = []

    def complaints(self, last):
        """last: the time at which threads without an exit must end, or None for any time."""
        at = self.start
        for i in sorted(self.intervals, key=lambda i: (i["start"], i["end"])):
            if i["start"] != at:
                word = "gap" if i["start"] > at else "overlap"
                yield (f"thread {self.tid}: {word} of {abs(i['start'] - at)} ns before its "
                       f"{i['state']} at {i['start']}")
            at = max(at, i["end"])
        if self.end is not None and at != self.end:
            yield f"thread {self.tid}: exits at {self.end}, but its last interval ends at {at}"
        if self.end is None and last is not None and at != last:
            yield f"thread {self.tid}: ends at {at}, {last - at} ns before the recording, with no exit"


class Checker:
    def __init__(self):
        self.wrong = []
        self.lives = {}  # the current one of each tid
        self.ended = []
        self.named = {0}  # the idle task needs no task record
        self.runs = defaultdict(list)
        self.wakers = {}  # tid: an interval that names it
        self.lost = 0
        self.time = 0

    def complain(self, sentence):
        self.wrong.append(sentence)

    def add(self, r):
        if r["time"] < self.time:
            self.complain(f"{r['kind']}: time {r['time']} is after {self.time}")
        self.time = max(self.time, r["time"])
        handler = getattr(self, "add_" + r["kind"], None)
        if handler:
            handler(r)

    def add_task(self, r):
        tid, event = r["tid"], r["event"]
        self.named.add(tid)
        if event == "new" and r["parent_tid"] not in self.named:
            self.complain(f"thread {tid} was made by {r['parent_tid']}, which is unknown")
        if event in ("existing", "new"):
            if tid in self.lives:
                self.complain(f"thread {tid} has a second task record at {r['time']}, without an exit")
            self.begin(r)
        elif event == "exec" and tid not in self.lives:
            self.begin(r)  # by a thread that took over the tid of its process's leader

    def begin(self, r):
        self.lives[r["tid"]] = Life(r["tid"], r["time"])

    def add_exit(self, r):
        life = self.lives.pop(r["tid"], None)
        if not life:
            return self.complain(f"thread {r['tid']} exits at {r['time']}, but has no task record")
        life.end = r["time"]
        self.ended.append(life)

    def add_interval(self, r):
        tid = r["tid"]
        if r["state"] not in STATES:
            self.complain(f"thread {tid}: no such state as {r['state']}")
        if r["start"] > r["end"]:
            self.complain(f"thread {tid}: {r['state']} from {r['start']} to {r['end']}")
        if r["state"] == "R":
            self.runs[r["cpu"]].append(r)
        if r.get("woken_by") == "task":  # for an interrupt, this is the interrupted thread
            self.wakers.setdefault(r["waker_tid"], r)
        if r.get("out_of_scope"):
            if tid not in self.named:
                self.complain(f"thread {tid} runs at {r['start']}, but was never named")
        elif tid in self.lives:
            self.lives[tid].intervals.append(r)
        else:
            self.complain(f"thread {tid}: {r['state']} at {r['start']}, but has no task record")

    def add_loss(self, r):
        self.lost += r["count"]

    def check_cpus(self):
        for cpu, runs in self.runs.items():
            runs.sort(key=lambda r: r["start"])
            for a, b in zip(runs, runs[1:]):
                if b["start"] < a["end"]:
                    self.complain(f"CPU {cpu}: threads {a['tid']} and {b['tid']} both run at {b['start']}")

    def check_wakers(self):
        for tid, i in self.wakers.items():
            if tid not in self.named:
                self.complain(f"thread {i['tid']} was woken at {i['end']} by {tid}, which is unknown")

    def finish(self, complete):
        last = max((i["end"] for life in self.lives.values() for i in life.intervals), default=0)
        for life in self.ended + list(self.lives.values()):
            self.wrong.extend(life.complaints(last if complete else None))
        self.check_cpus()
        self.check_wakers()
        if self.lost:
            self.complain(f"{self.lost} records were lost")
        return self.wrong


def check(records, complete=True):
    """complete: whether the recorder closed the capture; otherwise threads can end at any time."""
    checker = Checker()
    for r in records:
        checker.add(r)
    wrong = checker.finish(complete)
    return wrong[:ENOUGH] + ([f"and {len(wrong) - ENOUGH} more"] if len(wrong) > ENOUGH else [])
