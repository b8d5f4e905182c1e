#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run `sonde top` on the bank for an hour, and print each minute what it takes and what it shows.

usage: soak.py BUILD [MINUTES]

Each minute has two halves.  In the first one, the customers do not pause, faults of the bank are
switched on and off at random, and threads, processes and connections come and go by the thousand.
In the second one, the customers come at a steady rate; one fault is switched on in its middle, and
the causes of top must name it within NAMED seconds and the time until the next view.

Fails if the resident size of the reader or the recorder grows by more than GROWTH after the first
two minutes (by the median of all slopes between two minutes), if a fault is not named, if rates and
percentiles differ from those of the customers, or if anything is left at the end.
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
MINUTES = float(sys.argv[2]) if len(sys.argv) > 2 else 60
os.environ |= {"SONDE": str(BUILD / "sonde"), "WORKLOADS": str(BUILD / "tests/workloads")}
sys.path[:0] = [str(REPOSITORY / "tests" / "live"), str(REPOSITORY / "demo" / "bank")]
sys.dont_write_bytecode = True
import bank  # noqa: E402
import harness  # noqa: E402
from tops import Top, cpu_seconds, descriptors, resident  # noqa: E402

GROWTH = 0.10
WARM_UP = 2  # minutes that do not count for the growth
NAMED = 2.0  # seconds
TICK = 1.2  # seconds between two views, on a busy host
GAINED = 0.05  # by which the share of the causes that name a fault must rise
HALF = 30  # seconds
RATE = 15  # visits per second of the steady half
OPERATIONS = {"login": "POST /login", "home": "GET /home", "logout": "POST /logout"}
AGREE = 0.15  # of a rate or percentile; the customers also wait for a connection and for a CPU
NICE = "5"  # of what only makes load
MEASURED = "-10"  # of the customers: their own wait for a CPU is not part of a latency
TURNOVER = (1000, 200, 500)  # threads, processes and connections per second
# The operation that a fault slows down, and the causes that name it.
CAUSES = {
    "slow-query": ("home", r"^postgres \([^)]*\): (runs|waits for a CPU)"),
    "lock": ("home", r"auditor.*lock it holds"),
    "hog": ("home", r"waits for a CPU.*\bhog \(\d+\) ran"),
    "flush": ("home", r"^contacts.*fsync"),
    "pool": ("login", r"^users.*while users .*waits for a lock"),
    "delay": ("home", r"^relay.py"),
}


class Customers:
    """A process that sends requests; its results as they come."""

    def __init__(self, port, seconds, rate, seed):
        self.requests, self.wrong = [], []  # (end, latency, operation); messages
        self.process = subprocess.Popen(
            ["nice", "-n", MEASURED, sys.executable, HERE / "customers.py", "--seconds", str(seconds), "--rate", str(rate), "--seed", str(seed),
             str(port)], stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("wrong"):
                self.wrong.append(line.strip())
            elif line.strip():
                end, latency, name = line.split()
                self.requests.append((float(end), float(latency), name))

    def end(self):
        self.process.wait(300)
        self.thread.join()
        return self

    def between(self, begin, end, name=None):
        return sorted(latency for at, latency, operation in list(self.requests)
                      if begin <= at < end and name in (None, operation))


def percentile(values, share):
    return values[min(int(share * len(values)), len(values) - 1)]


def slope(values):
    """Growth per minute: the median of the slopes of all pairs, which no single minute can change."""
    pairs = [(b - a) / (j - i) for i, a in enumerate(values) for j, b in enumerate(values) if j > i]
    return statistics.median(pairs) if pairs else 0.0


class Soak:
    def __init__(self, the_bank, top):
        self.bank, self.top = the_bank, top
        self.random = random.Random(1)
        self.sizes = collections.defaultdict(list)  # resident size in KiB each minute, by process
        self.cpu = {}
        self.named, self.missed, self.problems, self.differ = [], [], [], []
        self.began = time.monotonic()

    def frantic_half(self, minute):
        """No pauses, and faults at random."""
        customers = Customers(self.bank.ports["frontend"], HALF, 0, minute)
        end, on = time.monotonic() + HALF, set()
        while time.monotonic() < end:
            fault = self.random.choice([*bank.FAULTS])
            self.bank.switch(fault, fault not in on)
            on ^= {fault}
            time.sleep(self.random.uniform(0.5, 3))
        for fault in on:
            self.bank.switch(fault, False)
        return customers.end()

    def steady_half(self, minute):
        """A steady rate, first without a fault, then with one; returns the customers and the fault's line."""
        fault = [*bank.FAULTS][minute % len(bank.FAULTS)]
        customers = Customers(self.bank.ports["frontend"], HALF, RATE, minute)
        time.sleep(HALF / 2)
        words = self.compare(customers)
        since = len(self.top.views)
        before = self.share(self.top.views[-1], fault)
        self.bank.switch(fault, True)
        switched = time.monotonic()
        time.sleep(HALF / 3)
        self.bank.switch(fault, False)
        took = self.when_named(fault, since, switched, before)
        named = took is not None and took <= NAMED + TICK
        (self.named if named else self.missed).append(fault)
        told = f"{fault} named after {took:.1f} s" if took is not None else f"{fault} not named: {self.causes_of(fault)}"
        return customers.end(), told, words

    def row(self, view, name):
        """The row of an operation, or None."""
        rows = [row for row in view["operations"]
                if row["service"] == "frontend" and row["operation"] == OPERATIONS[name]]
        return rows[0] if rows else None

    def causes_of(self, fault):
        """The first causes of the operation in the newest view, for the log."""
        row = self.row(self.top.views[-1], CAUSES[fault][0])
        return [f"{one['share']:.2f} {one['text'][:160]}" for one in row["causes"][:3]] if row else "no requests"

    def share(self, view, fault):
        """The share of the time of an operation that is put down to the fault."""
        name, cause = CAUSES[fault]
        row = self.row(view, name)
        return sum(one["share"] for one in row["causes"] if re.search(cause, one["text"])) if row else 0

    def when_named(self, fault, since, switched, before):
        """Seconds until the causes of the operation name the fault; None: never."""
        for view in filter(None, self.top.views[since:]):
            if self.share(view, fault) >= before + GAINED:
                return view["read_at"] - switched
        return None

    def compare(self, customers):
        """Rate and p95 of each operation in the newest view, beside those of the customers."""
        view, words = self.top.views[-1], []
        offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        end, length = (view["time"] - offset) / 1e9, view["interval"] / 1e9
        for name in OPERATIONS:
            theirs, row = customers.between(end - length, end, name), self.row(view, name)
            if not row or not theirs:
                words.append(f"{name} {row['rate'] if row else 'missing'} / {len(theirs) / length:.1f} per s")
                self.differ += words[-1:] if bool(row) != bool(theirs) else []
                continue
            rate, p95 = len(theirs) / length, percentile(theirs, 0.95)
            words.append(f"{name} {row['rate']:.1f} / {rate:.1f} per s, p95 {row['p95'] / 1e6:.0f} / {1000 * p95:.0f} ms")
            if abs(row["rate"] - rate) > max(1, AGREE * rate) or abs(row["p95"] / 1e9 - p95) > max(0.02, AGREE * p95):
                self.differ.append(words[-1])
        return "top / customers: " + ", ".join(words)

    def cpu_of(self, name, pid):
        """Cores used since the last call."""
        now, used = time.monotonic(), cpu_seconds(pid)
        then, before = self.cpu.get(name, (self.began, 0))
        self.cpu[name] = now, used
        return (used - before) / (now - then)

    def minute(self, number):
        if self.top.views[-1] is None:
            raise harness.Certain(f"top ended with {self.top.process.wait()}: {self.top.said()}")
        frantic = self.frantic_half(number)
        steady, fault, words = self.steady_half(number)
        view = self.top.views[-1]
        pids = {"reader": self.top.pid, "recorder": self.top.recorder()}
        for name, pid in pids.items():
            self.sizes[name].append(resident(pid))
        self.problems += frantic.wrong[:3] + steady.wrong[:3]
        usage = ", ".join(f"{name} {self.sizes[name][-1] / 1024:.1f} MiB {100 * self.cpu_of(name, pid):.1f} % "
                          f"{descriptors(pid)} fds" for name, pid in pids.items())
        print(f"{time.strftime('%H:%M:%S')} minute {number}: {usage}; window {view['window']['duration'] / 1e9:.1f} s, "
              f"{view['window']['memory'] / 2**20:.1f} MiB; {view['records']} records, {view['lost']} lost; "
              f"{len(frantic.requests) / HALF:.0f} and {len(steady.requests) / HALF:.0f} requests/s; {words}; {fault}",
              flush=True)

    def verdict(self):
        """The reasons why the soak fails."""
        found = [f"wrong reply: {problem}" for problem in self.problems[:5]]
        found += [f"top and customers differ: {one}" for one in self.differ[:5]]
        found += [f"not named in time: {', '.join(self.missed)}"] if self.missed else []
        for name, sizes in self.sizes.items():
            rest = sizes[WARM_UP:]
            grown = slope(rest) * max(len(rest) - 1, 0) / statistics.median(rest) if rest else 0
            print(f"{name}: {min(sizes) / 1024:.1f} to {max(sizes) / 1024:.1f} MiB; after minute {WARM_UP}, "
                  f"{100 * grown:+.1f} % in {len(rest)} minutes")
            if grown > GROWTH:
                found.append(f"the {name} grows: {100 * grown:.0f} % after minute {WARM_UP}")
        return found


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that everything ends
    harness.SCRATCH.mkdir(exist_ok=True)
    turnover = None
    try:
        with bank.Bank(BUILD, wrap=[BUILD / "sonde", "run", "--"]) as the_bank, Top("-a") as top:
            top.wait(lambda view: True, "top shows a view")
            turnover = subprocess.Popen(["nice", "-n", NICE, *harness.workload("turnover", *TURNOVER)],
                                        stdout=subprocess.PIPE, text=True)
            soak = Soak(the_bank, top)
            number = 0
            while time.monotonic() - soak.began < 60 * MINUTES:
                soak.minute(number)
                number += 1
            turnover.terminate()
            counts = json.loads(turnover.communicate()[0])
            print(", ".join(f"{count} {what}" for what, count in counts.items()) + " came and went")
            found = soak.verdict()
    finally:
        if turnover and turnover.poll() is None:
            turnover.kill()
        shutil.rmtree(harness.SCRATCH, ignore_errors=True)
    print("\n".join(f"failed: {one}" for one in found) or "passed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
