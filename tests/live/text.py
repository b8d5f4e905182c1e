#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ftrace's text format, with thread names that are hard to parse.

Each thread sleeps a prime number of times.  The trace file comes from a private
tracefs instance.
"""
import contextlib
import ctypes
import json
import os
import threading
import time

import tracefs
from harness import SCRATCH, SONDE, Skip, each, equal, main, require, run

EVENTS = ["sched", "raw_syscalls", "irq", "task"]
NAMES = ["a-b c=d", "x [001] 1.5: y", "p pid=7 prio=1", "a:1 [120] S", "#hash", "b prev_pid=3 c",
         "(12) ", "\u65e5\u672c", "-"]
SLEEPS = 31
PR_SET_NAME = 15
NANOSLEEP = 230


@contextlib.contextmanager
def tracing(**options):
    """Create a tracefs instance that traces, yield its directory, and remove it."""
    tracefs.is_mounted()
    here = tracefs.ROOT / "instances" / f"sonde-test-{os.getpid()}"
    try:
        here.mkdir()
    except OSError as why:
        raise Skip(f"tracefs has no instances for us: {why}") from None
    try:
        (here / "buffer_size_kb").write_text("16384")
        for name, value in options.items():
            (here / "options" / name.replace("_", "-")).write_text(value)
        for event in EVENTS:
            (here / "events" / event / "enable").write_text("1")
        yield here
    finally:
        (here / "tracing_on").write_text("0")
        time.sleep(0.1)
        here.rmdir()


def sleeper(name, tids):
    """Set the thread name and sleep."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NAME, name.encode() + b"\0", 0, 0, 0)
    tids[name] = threading.get_native_id()
    for _ in range(SLEEPS):
        time.sleep(0.001)


def sleep_all():
    tids = {}
    threads = [threading.Thread(target=sleeper, args=(name, tids)) for name in NAMES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tids


def events_of(path):
    lines = run(SONDE, "dump", "--events", "--json", path).stdout.splitlines()
    return [json.loads(line) for line in lines]


def check_thread(events, name, tid):
    """Check that all events since the renaming have the new name."""
    renamed = [i for i, e in enumerate(events) if e["name"] == "task_rename"
               and e["tid"] == tid and e["fields"]["newcomm"] == name]
    equal(len(renamed), 1, f"times that a thread is named '{name}'")
    since = events[renamed[0] + 1:]
    calls = [e for e in since if e["tid"] == tid and e["name"] == "sys_enter"
             and e["fields"]["id"] == str(NANOSLEEP)]
    equal(len(calls), SLEEPS, f"calls of '{name}' to clock_nanosleep")
    gone = fields_of(since, "sched_switch", "prev_pid", tid)
    came = fields_of(since, "sched_switch", "next_pid", tid)
    woken = fields_of(since, "sched_waking", "pid", tid)
    require(sum(f["prev_state"] == "S" for f in gone) >= SLEEPS, f"'{name}' does not sleep")
    require(len(woken) >= SLEEPS, f"'{name}' is not woken")
    for fields, key in (gone, "prev_comm"), (came, "next_comm"), (woken, "comm"):
        others = {f[key] for f in fields} - {name}
        require(not others, f"'{name}' is called {others} in {key}")


def fields_of(events, event, key, tid):
    """The fields of all events of a type that refer to the thread."""
    return [e["fields"] for e in events if e["name"] == event and e["fields"][key] == str(tid)]


def check_heads(events, name, tid):
    """The start of a line has the last name that the kernel saved for a thread."""
    names = {e["comm"] for e in events if e["tid"] == tid and "comm" in e}
    require(names <= {name}, f"'{name}' is called {names}")


@each("plain", "record_tgid", "latency_format")
def misleading_thread_names_are_parsed(option):
    SCRATCH.mkdir(exist_ok=True)
    with tracing(**({} if option == "plain" else {option: "1"})) as instance:
        tids = sleep_all()
        (instance / "tracing_on").write_text("0")
        text = (instance / "trace").read_bytes()
    path = SCRATCH / "trace.txt"
    path.write_bytes(text)
    events = events_of(path)
    lines = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    equal(len(events), len(lines) - sum(line.startswith(b"CPU:") for line in lines), "events")
    for name, tid in tids.items():
        check_thread(events, name, tid)
        if option != "latency_format":  # which truncates names at the start of lines
            check_heads(events, name, tid)


if __name__ == "__main__":
    main()
