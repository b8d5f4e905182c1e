#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes with the agent and recorders that start and end at any time: no span is lost or invented."""
import collections
import json
import os
import pathlib
import re
import select
import signal
import time

import accounted
from harness import (Background, Certain, Failure, SCRATCH, Recorder, SONDE, Skip, each, equal, main, need_program, require,
                     run, test, wait_until, workload)

KILL, PTRACE, ADMIN, BPF, CHECKPOINT_RESTORE = 5, 19, 21, 39, 40  # capabilities
SPAN_RECORDING = 1  # as in event/span_wire.h
MOST_SAID = 25000  # lines that pipe and reader can buffer


def spans_in(path):
    accounted.check(json.loads(run(SONDE, "info", "--json", path).stdout))
    return json.loads(run(SONDE, "query", "--json", path, "SELECT * FROM spans ORDER BY start").stdout)


def spans_so_far(path):
    """The spans in a capture that is still being written."""
    done = run(SONDE, "query", "--json", path, "SELECT * FROM spans", expect=None)
    return json.loads(done.stdout) if done.returncode == 0 else []


def lost(path):
    info = json.loads(run(SONDE, "info", "--json", path).stdout)
    return info["lost"] + info["lost_by_agents"]


def record_command(*command, options=()):
    """Record a command; returns the capture and the tids that the command printed."""
    path = SCRATCH / "capture.sonde"
    done = run(SONDE, "record", "-q", "-o", path, *options, "--", *command)
    return path, [int(line) for line in done.stdout.split()]


def check_spans(path, tids, mode):
    spans = spans_in(path)
    equal(lost(path), 0, "lost records")
    missing = collections.Counter(tids) - collections.Counter(s["tid"] for s in spans)
    if missing:  # without a reported loss: never due to load
        raise Certain(f"{missing.total()} of {len(tids)} spans are missing, and no loss is reported")
    equal(collections.Counter(s["tid"] for s in spans), collections.Counter(tids), "threads of the spans")
    equal({(s["operation"], s["service"]) for s in spans}, {(mode, "agents")}, "names")


@each("loop", "fork", "threads", "exec")
def all_spans_are_recorded_in_mode(mode):
    """Most programs exit before a recorder could scan them."""
    path, tids = record_command(*workload("agents", mode, 211))
    equal(len(tids), 211, "spans that were made")
    check_spans(path, tids, mode)


@test
def spans_of_many_short_programs_are_recorded():
    program = " ".join(workload("agents", "loop", 3))
    path, tids = record_command("sh", "-c", f"for i in $(seq 53); do {program}; done")
    equal(len(tids), 53 * 3, "spans that were made")
    check_spans(path, tids, "loop")


@test
def threads_in_a_pid_namespace_have_host_tids():
    need_program("unshare")
    path, tids = record_command("unshare", "--pid", "--fork", *workload("agents", "fork", 53))
    inside = spans_in(path)
    equal(len(inside), 53, "spans")
    require(max(tids) < 100, "the workload was not in its own namespace")
    records = [json.loads(line) for line in run(SONDE, "dump", "--json", path).stdout.splitlines()]
    born = {r["tid"] for r in records if r["kind"] == "task"}
    require({s["tid"] for s in inside} <= born, "a span is of an unknown thread")
    equal(len({s["tid"] for s in inside}), 53, "threads")


def clock_shift(direction):
    """Seconds to shift a namespace's monotonic clock by. The kernel refuses a clock before zero, and this one counts
    from boot, so on a machine that booted a moment ago the shift back is short."""
    return 1000 if direction == "ahead" else -min(1000, int(time.monotonic()) // 2)


@each("ahead", "behind")
def spans_in_a_time_namespace_have_host_times(direction):
    need_program("unshare")
    if not os.path.exists("/proc/self/ns/time"):
        raise Skip("this kernel has no time namespaces")
    seconds = clock_shift(direction)
    path, tids = record_command("unshare", "--time", "--fork", "--monotonic", seconds,
                                *workload("agents", "loop", 53, 5000))
    equal(len(tids), 53, "spans that were made")
    check_spans(path, tids, "loop")
    life = json.loads(run(SONDE, "query", "--json", path, "SELECT min(start) AS begin, max(end) AS end FROM intervals "
                          f"WHERE tid = {tids[0]}").stdout)[0]
    inside = [s for s in spans_in(path) if life["begin"] <= s["start"] <= s["end"] <= life["end"]]
    equal(len(inside), 53, "spans within the life of their thread")


class Loop(Background):
    """A service that creates a number of spans."""

    def __init__(self, count=20000, pause=2000):
        super().__init__(workload("agents", "loop", count, pause), gate=False)
        self.process.stdout.readline()  # it has started

    def wait_for(self, count):
        """Wait until it has created `count` more spans."""
        said = self.process.stdout.fileno()
        while select.select([said], [], [], 0)[0]:
            os.read(said, 1 << 16)  # skip the spans created before
        while count > 0:
            lines = os.read(said, 1 << 16)
            require(lines, "the service has ended")
            count -= lines.count(b"\n")


@test
def a_recorder_that_attaches_late_records_new_spans():
    with Loop() as loop:
        with Recorder("-p", loop.pid) as recorder:
            wait_until(lambda: is_taken(loop.pid), "the recorder has the arena")
            loop.wait_for(53)
        spans = spans_in(recorder.path)
        info = json.loads(run(SONDE, "info", "--json", recorder.path).stdout)
    require(len(spans) > 20, f"only {len(spans)} spans")
    equal({s["tid"] for s in spans}, {loop.pid}, "threads")
    require(all(s["end"] >= info["start"] for s in spans), "a span ended before the recording began")


@test
def no_span_is_missed_once_the_command_runs():
    """The agents of all processes in scope are attached before the command starts."""
    path = SCRATCH / "capture.sonde"
    with Background(workload("agents", "gated", 211), gate=False) as service:
        service.process.stdout.readline()
        proc = f"/proc/{service.pid}"
        run(SONDE, "record", "-q", "-o", path, "-p", service.pid, "--", "sh", "-c",
            f"echo > {proc}/fd/0; until grep -q 'State:.Z' {proc}/status; do sleep 0.01; done")
    check_spans(path, [service.pid] * 211, "gated")


@test
def after_a_killed_recorder_others_can_record():
    """The service continues, and each recorder has only the spans of its own time."""
    with Loop() as loop:
        before = []
        for i in range(3):
            recorder = Recorder("-p", loop.pid, name=f"{i}.sonde")
            wait_until(lambda: len(spans_so_far(recorder.path)) > 40, "spans are written")
            recorder.end(send=signal.SIGKILL, expect=-signal.SIGKILL)
            before += [s["span_id"] for s in spans_in(recorder.path)]
        with Recorder("-p", loop.pid) as recorder:
            wait_until(lambda: len(spans_so_far(recorder.path)) > 20, "spans are written")
        spans = spans_in(recorder.path)
        require(loop.process.poll() is None, "the service has ended")
    require(len(before) > 100 and len(spans) > 20, f"only {len(before)} and {len(spans)} spans")
    equal(len(before), len(set(before)), "spans that were recorded once")
    equal(set(before) & {s["span_id"] for s in spans}, set(), "spans that were recorded twice")


@test
def two_recorders_do_not_share_an_agent():
    with Loop() as loop:
        with Recorder("-p", loop.pid, name="first.sonde") as first:
            wait_until(lambda: is_taken(loop.pid), "the first recorder has the arena")
            second = Recorder("-p", loop.pid, name="second.sonde")
            time.sleep(0.5)
            loop.wait_for(53)
            words = second.end(send=signal.SIGINT)
        require(len(spans_in(first.path)) > 20, "the first one has no spans")
        equal(spans_in(second.path), [], "spans of the second one")
        require("another recorder" in words, f"the second one said '{words}'")


def recording_of(pid):
    """Whether an agent writes events: a recorder is attached, or its registration is pending."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("/memfd:sonde-agent (deleted)"):
            with open(f"/proc/{pid}/map_files/{line.split()[0]}", "rb") as f:
                return int.from_bytes(f.read(28)[24:], "little")
    raise Failure("there is no arena")


def is_taken(pid):
    return bool(recording_of(pid) & SPAN_RECORDING)


@test
def agents_write_no_events_without_a_recorder():
    with Loop() as loop:
        wait_until(lambda: not recording_of(loop.pid), "no other recorder reads it")
        with Recorder("-p", loop.pid):
            wait_until(lambda: is_taken(loop.pid), "the recorder has the arena")
        equal(recording_of(loop.pid), 0, "afterwards")


@test
def an_arena_out_of_scope_is_refused():
    with Recorder() as recorder, Loop() as loop:
        wait_until(lambda: not recording_of(loop.pid), "it is refused")
    equal(spans_in(recorder.path), [], "spans")


@test
def open_spans_end_with_their_process():
    with Recorder("-a") as recorder:
        done = run(*workload("agents", "abandon", 7), expect=-signal.SIGKILL)
        time.sleep(0.2)
    equal(done.stdout, "", "spans that ended")
    spans = [s for s in spans_in(recorder.path) if s["operation"] == "abandon"]
    records = [json.loads(line) for line in run(SONDE, "dump", "--json", recorder.path).stdout.splitlines()]
    equal(len(spans), 7, "spans")
    last = max(r["time"] for r in records if r["kind"] == "exit" and r["pid"] == spans[0]["pid"])
    equal({s["end"] for s in spans}, {last}, "ends of spans, which are that of the last thread")


@test
def events_lost_in_full_rings_are_counted():
    with Loop(count=200003, pause=0) as loop:
        with Recorder("-p", loop.pid) as recorder:
            wait_until(lambda: is_taken(loop.pid), "the recorder has the arena")
            os.kill(recorder.pid, signal.SIGSTOP)  # it cannot drain the rings
            for _ in range(5003 + MOST_SAID):
                loop.process.stdout.readline()
            os.kill(recorder.pid, signal.SIGCONT)
            for _ in range(53):
                loop.process.stdout.readline()
    spans, missing = spans_in(recorder.path), lost(recorder.path)
    require(missing > 5003, f"only {missing} records were lost, beside {len(spans)} spans")
    equal({s["tid"] for s in spans}, {loop.pid}, "threads")


def effective_capabilities(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    bits = int(re.search(r"CapPrm:\s+(\w+)", text)[1], 16)
    return {bit for bit in range(64) if bits >> bit & 1}


@test
def privileges_are_kept_only_for_spans():
    with Recorder() as recorder:
        require({PTRACE, CHECKPOINT_RESTORE, BPF} <= effective_capabilities(recorder.pid), "what spans need")
        require(ADMIN not in effective_capabilities(recorder.pid), "CAP_SYS_ADMIN is kept")
    with Recorder("--no-spans") as recorder:
        equal(effective_capabilities(recorder.pid), {KILL}, "capabilities without spans")  # to terminate its command


@test
def without_spans_no_process_is_inspected():
    path, tids = record_command(*workload("agents", "loop", 11), options=["--no-spans"])
    equal(len(tids), 11, "spans that were made")
    equal(spans_in(path), [], "spans")


main()
