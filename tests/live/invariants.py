# SPDX-License-Identifier: Apache-2.0
"""Check that the paths and accounts of any capture are consistent.

The output of `sonde path` and `sonde explain` is compared with itself and with the
records of `sonde dump`:

- the leaves of a path tile the time in question, to the nanosecond, and so do
  the steps under each wait tile the wait: so no step starts before the wait it
  explains, nor ends after it;
- each step matches the record of its thread at that time;
- a wait that a recorded thread ended is explained by that thread;
- in an account, the times of one level add up to the one above;
- records of unrelated threads change nothing.

The functions return a list of errors, which is empty on success.
"""
import bisect
import collections
import concurrent.futures
import json
import os
import subprocess

import schema
import tiling

TIMEOUT = 240      # seconds: a walk that does not end is wrong
THREADS = 64       # of a capture; with more, these are taken evenly from all
ENOUGH = 20        # errors to report
DEPTH = 128        # how far sonde follows a chain
OFF_CPU = "CQ"
GAP = " "


def is_blocked(step):
    return step["state"] not in "R" + OFF_CPU + GAP


class Lives:
    """The lifetimes of threads and their recorded intervals."""

    def __init__(self, records):
        checker = tiling.Checker()
        for r in records:
            checker.add(r)
        self.last = {}
        self.intervals = collections.defaultdict(list)
        for life in checker.ended + list(checker.lives.values()):
            life.intervals.sort(key=lambda i: i["start"])
            self.intervals[life.tid] += life.intervals
            if life.intervals and (life.tid not in self.last or life.start > self.last[life.tid].start):
                self.last[life.tid] = life
        for intervals in self.intervals.values():
            intervals.sort(key=lambda i: i["start"])
        self.kernel = {r["tid"] for r in records if r["kind"] == "task" and r.get("kernel")}

    def span(self, tid):
        life = self.last[tid]
        return life.start, life.intervals[-1]["end"]

    def at(self, tid, time):
        """The interval of a thread at a time, or None."""
        intervals = self.intervals.get(tid, [])
        i = bisect.bisect_right(intervals, time, key=lambda i: i["start"]) - 1
        return intervals[i] if i >= 0 and time < intervals[i]["end"] else None

    def is_followed(self, tid):
        return tid in self.last and tid not in self.kernel

    def some(self):
        """Threads to check: all, or an even sample."""
        tids = sorted(self.last)
        every = -(-len(tids) // THREADS)
        return tids[::max(every, 1)]


def tiles(steps, start, end, what):
    """Errors of steps that should tile a time range in order."""
    at = start
    for s in steps:
        if s["start"] != at:
            word = "gap" if s["start"] > at else "overlap"
            yield f"{what}: {word} of {abs(s['start'] - at)} ns before step {s['id']}"
        if s["end"] <= s["start"]:
            yield f"{what}: step {s['id']} has no length"
        at = s["end"]
    if at != end:
        yield f"{what}: ends at {at}, not at {end}"


def under(steps):
    """The steps of each wait by its number; those of the thread itself are under 0."""
    found = collections.defaultdict(list)
    for s in steps:
        found[s["parent"]].append(s)
    return found


def tree_complaints(steps, start, end):
    children = under(steps)
    yield from tiles([s for s in steps if s["leaf"]], start, end, "leaves")
    yield from tiles(children[0], start, end, "the thread's own steps")
    for number, s in enumerate(steps, 1):
        if s["id"] != number or s["parent"] >= number:
            yield f"step {s['id']} has parent {s['parent']}, at position {number}"
            return
        above = steps[s["parent"] - 1] if s["parent"] else {"depth": -1}
        if s["depth"] != above["depth"] + 1 or s["depth"] > DEPTH:
            yield f"step {number} has depth {s['depth']}, under {above['depth']}"
        if s["leaf"] != (number not in children):
            yield f"step {number}: leaf is {s['leaf']}"
        if not s["leaf"]:
            if not is_blocked(s):
                yield f"step {number} is {s['state']}, but other steps explain it"
            yield from tiles(children[number], s["start"], s["end"], f"under step {number}")


def is_unknown_or_transit(step):
    """Whether the step is an unknown cause, or a message in transit or in the send buffer."""
    return bool(step.get("in_transit") or step.get("in_send_buffer")) or (step["state"] == "?" and "woken_by" not in step)


def have_same_state(step, interval):
    """Whether a step has the state of its record.  Waits that a timer ended have that of their episode's end."""
    states = {step["state"], interval["state"]}
    return len(states) == 1 or states in ({"T", "L"}, {"T", "N"}, {"T", "I"})


def record_complaints(steps, lives):
    """Each step matches the record of its thread at that time."""
    for s in steps:
        if is_unknown_or_transit(s) or "tid" not in s:
            continue
        i = lives.at(s["tid"], s["start"])
        if i is None and s["state"] == GAP:
            continue
        if not i or i["end"] < s["end"] or not have_same_state(s, i):
            said = f"{i['state']} from {i['start']} to {i['end']}" if i else "nothing"
            yield (f"step {s['id']}: thread {s['tid']} is {s['state']} from {s['start']} to {s['end']}, "
                   f"but the records say {said}")


def waker_complaints(steps, lives):
    """A wait that a recorded thread ended leads to it."""
    children = under(steps)
    for s in steps:
        by_task = s.get("woken_by") == "task" and s["state"] != "N" and not s.get("in_transit")
        if not by_task or s["depth"]:
            continue
        i = lives.at(s["tid"], s["start"])
        waker = s.get("waker", {}).get("tid", 0)  # 0 is the idle task
        if i.get("unfinished") or i["end"] != s["end"] or waker == s["tid"] or not lives.is_followed(waker):
            continue
        last = children[s["id"]][-1] if not s["leaf"] else s
        if last["tid"] != waker and last["end"] == s["end"]:
            yield f"step {s['id']} was ended by thread {waker}, but {last['tid']} explains it"


def path_complaints(steps, lives, start, end):
    """All errors of a path."""
    tree = list(tree_complaints(steps, start, end))
    yield from tree
    if not tree:
        yield from record_complaints(steps, lives)
        yield from waker_complaints(steps, lives)


def account_complaints(account):
    """The times of one level add up to the one above."""
    nodes = {n["id"]: n for n in account["nodes"]}
    sums = collections.Counter()
    for n in nodes.values():
        sums[n["parent"]] += n["duration"]
    for number, total in sums.items():
        time = nodes[number]["duration"] if number else account["duration"]
        if total != time:
            yield f"node {number} has {time} ns, those under it {total}"
    leaves = [n["duration"] for number, n in nodes.items() if number not in sums]
    causes = [c["duration"] for c in account["causes"] if not c.get("pattern")]
    in_order = causes == sorted(causes, reverse=True) or account.get("incomplete")  # lost time comes last
    if not in_order or len(causes) > min(len(leaves), 10):
        yield f"causes of {causes} ns, but {len(leaves)} leaves"
    if sum(causes) > sum(leaves) or len(causes) < 10 and sum(causes) != sum(leaves):
        yield f"causes of {sum(causes)} ns, but leaves of {sum(leaves)}"
    if account["explained_time"] > account["duration"]:
        yield f"{account['explained_time']} ns of {account['duration']} are explained"


def ask(sonde, command, *args, codes=(0,)):
    done = subprocess.run([sonde, command, "--json", *map(str, args)], capture_output=True, text=True,
                          timeout=TIMEOUT)
    if done.returncode not in codes:
        raise RuntimeError(f"'sonde {command} {' '.join(map(str, args))}' exits with {done.returncode}: "
                           f"{done.stderr}")
    return json.loads(done.stdout)


def check_thread(sonde, capture, tid, lives, codes=(0,)):
    """Check the path and the account of a thread's lifetime."""
    start, end = lives.span(tid)
    steps = ask(sonde, "path", "--thread", tid, capture, codes=codes)
    accounts = ask(sonde, "explain", "--thread", tid, capture, codes=codes)
    yield from schema.check(steps, schema.load("path"))
    yield from schema.check(accounts, schema.load("explain"))
    yield from path_complaints(steps, lives, start, end)
    yield from account_complaints(accounts[0])


def for_each(check_one, tids):
    """The first errors of all threads; their commands run in parallel."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [w for some in pool.map(lambda tid: list(check_one(tid)), tids) for w in some][:ENOUGH]


def check(sonde, capture, records, complete=True):
    """All errors of the paths of a capture's threads. records: the output of `sonde dump`."""
    lives = Lives(records)
    codes = (0,) if complete else (0, 1)

    def check_one(tid):
        return (f"thread {tid}: {w}" for w in check_thread(sonde, capture, tid, lives, codes))
    return for_each(check_one, lives.some())


def without_interrupted_threads(steps):
    """The steps without threads that were only interrupted: the other capture can contain their names.

    And without losses: another capture of the same host can add its own.
    """
    return [{key: value for key, value in s.items()
             if key not in ("lost", "incomplete") and (key != "waker" or s["woken_by"] == "task")} for s in steps]


def check_beside(sonde, capture, others, records):
    """Check that adding another capture, which has none of these threads, does not change the paths."""
    def check_one(tid):
        alone = without_interrupted_threads(ask(sonde, "path", "--thread", tid, capture))
        for other in others:
            beside = without_interrupted_threads(ask(sonde, "path", "--thread", tid, capture, other))
            if alone != beside:
                first = next((a for a, b in zip(alone, beside) if a != b), alone[-1:])
                yield f"thread {tid}: with '{other}' its path differs, first in {first}"
    return for_each(check_one, Lives(records).some())
