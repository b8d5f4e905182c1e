#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record the same threads at once with sonde and with another tracer, and compare.

Both use the same tracepoints, so both must yield the same states of each thread,
with starts and ends within 20 us of each other, and the same critical path.
"""
import contextlib
import json
import os
import signal
import subprocess

import tracefs
from compare import is_clear
from harness import (SCRATCH, SONDE, TIMEOUT, Disturbed, Failure, Skip, each, main, need_program, overlapping, record, require, run,
                     wait_until, workload)

EVENTS = ("sched:sched_switch", "sched:sched_waking", "sched:sched_process_fork", "sched:sched_process_exec",
          "sched:sched_process_exit", "task:task_newtask", "task:task_rename", "irq:irq_handler_entry",
          "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit", "timer:hrtimer_expire_entry",
          "timer:hrtimer_expire_exit", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "block:block_rq_issue",
          "block:block_rq_complete", "sock:sock_send_length", "sock:sock_recv_length", "sock:inet_sock_set_state")
APART = 20_000  # ns between the clock readings of two programs at one tracepoint
DISTURBED = 500_000  # ns, if an interrupt or the hypervisor takes the CPU in between
LOOSE = 0.4  # share of rounds that can be disturbed
ROUNDS, SPAN = 7, 10
LINKS = ("mutex", "pipe", "tcp", "unix")


class NoFile(Failure):
    """The other tracer failed to write a file, due to load."""


@contextlib.contextmanager
def no_idle_cpu():
    """On some virtual machines, these tracers miss switches from an idle CPU: keep all CPUs busy with threads of
    lowest priority."""
    spinners = [subprocess.Popen(["chrt", "--idle", "0", "sh", "-c", "while :; do :; done"])
                for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@contextlib.contextmanager
def trace_cmd(path):
    need_program("trace-cmd")
    chosen = [word for event in EVENTS for word in ("-e", event)]
    with tracefs.as_it_was():
        process = subprocess.Popen(["trace-cmd", "record", "-d", "-k", "--no-filter", "-C", "mono", "-b", "16384", "-o", str(path), *chosen],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        last = tracefs.ROOT / "events" / EVENTS[-1].replace(":", "/") / "enable"
        try:
            wait_until(lambda: process.poll() is not None or last.read_text().strip() == "1"
                       and (tracefs.ROOT / "tracing_on").read_text().strip() == "1", "trace-cmd to begin")
            yield
        finally:
            process.send_signal(signal.SIGINT)
            words = process.communicate(timeout=TIMEOUT)[1]
    if process.returncode != 0:
        kind = NoFile if tracefs.is_disturbed(words) else Failure
        raise kind(f"trace-cmd exits with {process.returncode}: {words}")


@contextlib.contextmanager
def perf(path):
    need_program("perf")
    # too many calls of perf itself would make the kernel throttle the events
    calls = [e for e in EVENTS if e.startswith("raw_syscalls")]
    process = subprocess.Popen(["perf", "record", "-q", "-a", "-m", "4096", "-k", "CLOCK_MONOTONIC", "-o", str(path),
                                "-e", ",".join(e for e in EVENTS if e not in calls),
                                "-e", ",".join(calls), "--exclude-perf", "--", "sh", "-c", "echo ready; read end"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        raise Skip(f"perf does not record here: {process.communicate()[1].strip()}")
    try:
        yield
    finally:
        words = process.communicate("\n", timeout=TIMEOUT)[1]
    if process.returncode != 0:
        raise Failure(f"perf exits with {process.returncode}: {words}")


def text_of(path):
    """Convert the trace to text, with nanoseconds."""
    text = path.with_suffix(".txt")
    with open(text, "w") as out:
        subprocess.run(["trace-cmd", "report", "-t", "-i", str(path)], stdout=out, stderr=subprocess.DEVNULL, check=True)
    return text


def intervals_of(path):
    threads = {}
    for line in run(SONDE, "dump", "--json", "--kind=interval", path).stdout.splitlines():
        i = json.loads(line)
        threads.setdefault(i["tid"], []).append(i)
    for intervals in threads.values():
        intervals.sort(key=lambda i: i["start"])
    return threads


def clipped(intervals, begin, end):
    """Clip intervals to a time range, as (state, begin, end), and join adjacent ones of the same state."""
    parts = []
    for i in intervals:
        part = [i["state"], max(i["start"], begin), min(i["end"], end)]
        if part[1] >= part[2]:
            continue
        if parts and parts[-1][0] == part[0]:
            parts[-1][2] = part[2]
        else:
            parts.append(part)
    return parts


def compare(got, want, where, slack):
    """Require the same state at all times, except for `slack` ns around each change."""
    i = j = 0
    shown = f"{where}:\n  here {got}\n  want {want}"
    require(got and want and abs(got[0][1] - want[0][1]) <= slack and abs(got[-1][2] - want[-1][2]) <= slack,
            f"different time range: {shown}")
    apart = 0  # ns since they differ
    while i < len(got) and j < len(want):
        begin, end = max(got[i][1], want[j][1]), min(got[i][2], want[j][2])
        apart = 0 if got[i][0] == want[j][0] else apart + max(end - begin, 0)
        require(apart <= slack, f"{got[i]} is not {want[j]} in {shown}")
        if got[i][2] < want[j][2]:
            i += 1
        else:
            j += 1


def path_of(path, tid, begin, end):
    start = json.loads(run(SONDE, "info", "--json", path).stdout)["start"]
    steps = json.loads(run(SONDE, "path", "--json", "--thread", tid, "--from", f"{begin - start}ns", "--to",
                           f"{end - start}ns", path).stdout)
    return [[(s["tid"], s["state"]), s["start"], s["end"]] for s in steps if s["leaf"] and s["end"] > s["start"]]


def compare_round(capture, other, path, parties, window, with_path, slack):
    for p in parties:
        compare(clipped(other.get(p["tid"], []), *window), clipped(capture.threads[p["tid"]], *window),
                f"thread {p['tid']} ({p['role']})", slack)
    if with_path:
        tid = parties[0]["tid"]
        compare(path_of(path, tid, *window), path_of(capture.path, tid, *window), "the path", slack)


def check_same(capture, truth, path, with_path=True):
    other = intervals_of(path)
    parties = [truth.track(f"{'ABCDE'[k]}.{'operation' if k == len(LINKS) else 'wait'}") for k in range(len(LINKS) + 1)]
    compared = loose = 0
    for call in parties[0]["calls"]:
        round_ = capture, other, path, parties, (call["begin"], call["end"]), with_path
        if not all(is_clear(capture.within(p["tid"], call["begin"], call["end"])) and
                   is_clear(overlapping(other.get(p["tid"], []), call["begin"], call["end"])) for p in parties):
            continue  # some virtual machines hide switches
        compared += 1
        try:
            compare_round(*round_, APART)
        except Failure as failure:  # retry with more slack, for an interrupt between the two
            compare_round(*round_, DISTURBED)
            loose, last = loose + 1, failure
    if not compared:
        raise Disturbed(f"this kernel hides switches in all {ROUNDS} rounds")
    require(loose <= LOOSE * compared, f"{loose} of {compared} rounds are too far apart" + (f": {last}" if loose else ""))


def chain(operation, tracer, path):
    for left in reversed(range(tracefs.TRIES)):
        try:
            with no_idle_cpu(), tracer(path):
                made = record(*workload("chain", operation, SCRATCH, ROUNDS, SPAN, *LINKS))
            return made
        except NoFile:
            if not left:
                raise


@each("sleep", "compute", "direct", "fsync")
def trace_cmd_and_the_recorder_agree_on(operation):
    path = SCRATCH / "trace.dat"
    capture, truth = chain(operation, trace_cmd, path)
    check_same(capture, truth, path)
    # text traces contain the socket of a message, but not its peer
    check_same(capture, truth, text_of(path), with_path=False)


@each("sleep", "fsync")
def perf_and_the_recorder_agree_on(operation):
    path = SCRATCH / "perf.data"
    capture, truth = chain(operation, perf, path)
    check_same(capture, truth, path)


main()
