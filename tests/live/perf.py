#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde and perf script read the same events with the same fields from perf.data.

perf's Python interface provides every field of a tracepoint.  It prints some records
in the wrong order, with a warning ("out of order"); so its events are sorted by
time first, and then must be equal one by one.
"""
import json
import pathlib
import re
import subprocess

from harness import SCRATCH, SONDE, TIMEOUT, Skip, each, equal, main, need_program, require, run, test, workload

KEPT = pathlib.Path(__file__).resolve().parent.parent / "data/good/perf-calls.data"

PRINTER = '''
import json

def plain(value):
    return list(value) if isinstance(value, (bytes, bytearray)) else value

def show(name, fields, sample):
    fields = {k: plain(v) for k, v in fields.items() if k not in
              ("common_cpu", "common_s", "common_ns", "common_comm", "common_callchain")}
    print(json.dumps([sample["time"], sample["cpu"], sample["tid"], name, fields]))

def trace_unhandled(name, context, fields, sample):
    show(name.replace("__", ":", 1), fields, sample["sample"])

def process_event(event):
    show(event["ev_name"], {}, event["sample"])
'''


def need_perf():
    need_program("perf")
    done = run("perf", "version", "--build-options", expect=None)
    for part in ("libpython", "zstd"):
        if not re.search(rf"\b{part}: \[ on", done.stdout):
            raise Skip(f"perf was built without {part}")


def recorded(name, command, *options, load=("rounds", 101)):
    """Record a workload with perf, into a file or, depending on the options, a pipe."""
    path = SCRATCH / f"{name}.data"
    subject = ["sh", "-c", " ".join(workload("calls", *load)) + " > /dev/null"]
    words = ["perf", *command, *options]
    if "-" in options:
        with open(path, "wb") as out:
            subprocess.run([*words, "--", *subject], stdout=out, stderr=subprocess.DEVNULL, timeout=TIMEOUT,
                           check=True)
    else:
        run(*words, "-o", path, "--", *subject)
    return path


def perfs(path):
    script = SCRATCH / "printer.py"
    script.write_text(PRINTER)
    lines = run("perf", "script", "-i", path, "-s", script).stdout.splitlines()
    events = [json.loads(line) for line in lines if line.startswith("[")]
    return sorted(events, key=lambda e: e[0])


def ours(path):
    for line in run(SONDE, "dump", "--events", "--json", path).stdout.splitlines():
        e = json.loads(line)
        if not e["name"].startswith("perf:"):
            yield [e["time"], e["cpu"], e.get("tid"), e["name"], e.get("fields", {})]


def text_of(array, size):
    """The bytes of an array up to the first that is 0; size: of an element."""
    return b"".join((n % 256 ** size).to_bytes(size, "little") for n in array).split(b"\0")[0]


def same(mine, theirs):
    """Compare values: perf does not sign-extend, and shows arrays as bytes, or, if they are printable, as text."""
    if isinstance(mine, list) and isinstance(theirs, str):
        return any(text_of(mine, size) == theirs.encode() for size in (1, 2, 4, 8))
    if isinstance(theirs, list) and isinstance(mine, str):
        return bytes(theirs).split(b"\0")[0].decode(errors="replace") == mine
    if isinstance(theirs, list) and mine:
        size = len(theirs) // len(mine)
        theirs = [int.from_bytes(bytes(theirs[i:i + size]), "little") for i in range(0, len(theirs), size)]
        return [n % 256 ** size for n in mine] == theirs
    if isinstance(theirs, int) and isinstance(mine, int):
        return mine == theirs or (mine < 0 and any(mine % 2 ** bits == theirs for bits in (8, 16, 32, 64)))
    return mine == theirs or (mine in ("", []) and theirs in ("", []))


def check_event(n, mine, theirs):
    equal(mine[:2], theirs[:2], f"time and CPU of event {n}")
    equal(mine[3], theirs[3], f"name of event {n}")
    # an exiting thread has no tid in perf
    require(mine[2] == theirs[2] or theirs[2] == 2**32 - 1, f"thread of event {n}: {mine}, {theirs}")
    for name, value in theirs[4].items():
        require(name in mine[4] and same(mine[4][name], value), f"field {name} of event {n}: {mine}, {theirs}")
    extra = {f for f in mine[4] if not f.startswith("common_")} - set(theirs[4])
    require(not extra, f"fields of event {n} that perf does not show: {extra}")


def check(path):
    want = perfs(path)
    got = list(ours(path))
    require(all(a[0] <= b[0] for a, b in zip(got, got[1:])), "events are in the order of time")
    if path.is_dir():  # the order of files at equal times is undefined
        want.sort(key=lambda e: e[:2])
        got.sort(key=lambda e: e[:2])
    equal(len(got), len(want), "number of events")
    require(len(got) > 30, f"there are only {len(got)} events")
    for n, (mine, theirs) in enumerate(zip(got, want)):
        check_event(n, mine, theirs)
    info = json.loads(run(SONDE, "info", "--json", path).stdout)
    equal(info["events"], len(want), "events that info counts")


USUAL = ["-e", "sched:*,raw_syscalls:*"]
MANY = ["-e", "sched:*,irq:*,timer:*,block:*,sock:*,tcp:*,task:*,syscalls:sys_*_read,syscalls:sys_*_write,"
        "syscalls:sys_*_openat,syscalls:sys_*_futex,syscalls:sys_*_connect,syscalls:sys_*_execve"]
ALL = ["--exclude-perf", "-a"]  # all CPUs, without perf itself


@each(("sched", ["sched", "record"]),
      ("trace", ["trace", "record"]),
      ("of_one_process", ["record"], *USUAL),
      ("of_all", ["record"], *USUAL, *ALL, "-k", "CLOCK_MONOTONIC"),
      ("of_many_kinds", ["record"], *MANY, *ALL, "-k", "CLOCK_MONOTONIC"),
      ("with_stacks", ["record"], *USUAL, *ALL, "-g"),
      ("with_samples", ["record"], "-a", "-e", "cpu-clock,sched:*"),
      ("compressed", ["record"], *USUAL, *ALL, "-z"),
      ("in_a_directory", ["record"], *USUAL, *ALL, "--threads", "-z"),
      ("from_a_pipe", ["record"], *USUAL, *ALL, "-o", "-"),
      ("compressed_from_a_pipe", ["record"], *USUAL, *ALL, "-z", "-o", "-"))
def perf_script_agrees_on(name, command, *options):
    need_perf()
    check(recorded(name, command, *options))


@test
def perf_script_agrees_on_the_stored_file():
    need_perf()
    check(KEPT)


@test
def events_lost_by_perf_are_counted_once():
    need_perf()
    for calls in (10_000, 100_000, 1_000_000):  # until its buffer of a page is too small
        path = recorded("lost", ["record"], *USUAL, "-a", "-m", "1", load=("storm", calls))
        dump = run("perf", "script", "-D", "-i", path).stdout
        rings = sum(map(int, re.findall(r"PERF_RECORD_LOST: .*lost:(\d+)", dump)))
        events = sum(map(int, re.findall(r"PERF_RECORD_LOST_SAMPLES: .*lost samples :(\d+)", dump)))
        if rings:
            break
    require(rings, "perf lost nothing")
    info = json.loads(run(SONDE, "info", "--json", path).stdout)
    equal(info["lost"], max(rings, events), "lost events")


main()
