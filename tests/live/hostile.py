#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile process in scope can only lose its own spans; other users can do no harm."""
import json
import os
import signal
import subprocess
import time

from harness import Background, SCRATCH, Recorder, SONDE, each, equal, main, require, run, test, workload

NOBODY = 65534
END_MAX = 20  # seconds from the signal to the exit of a recorder, on a busy host


class Hostile(Background):
    """In scope, or out of it as another user."""

    def __init__(self, mode, user=None):
        command = workload("hostile", mode)
        super().__init__(["setpriv", f"--reuid={user}", "--clear-groups", *command] if user else command, gate=False)
        self.process.stdout.readline()


def spans_in(path):
    return json.loads(run(SONDE, "query", "--json", path, "SELECT pid, operation FROM spans").stdout)


def end_quickly(recorder):
    began = time.monotonic()
    words = recorder.end(send=signal.SIGINT)
    took = time.monotonic() - began
    require(took < END_MAX, f"the recorder took {took:.1f} s to end")
    return words


def honest_count(path, pid):
    return sum(span["pid"] == pid for span in spans_in(path))


@each("shrink", "names", "backwards", "flood", "claims", "arenas")
def a_hostile_process_does_not_stop_the_recorder(mode):
    """A signal ends the recording at once, the capture is complete, and the other process has its spans."""
    with Hostile(mode) as hostile, Background(workload("agents", "loop", 100000, 2000), gate=False) as honest:
        honest.process.stdout.readline()
        recorder = Recorder("-p", f"{hostile.pid},{honest.pid}", held=False)
        time.sleep(2.5)
        words = end_quickly(recorder)
    info = json.loads(run(SONDE, "info", "--json", recorder.path).stdout)
    require(info["complete"], "the capture is not complete")
    require(honest_count(recorder.path, honest.pid) > 100, "the other process has lost its spans")
    equal(info["lost"], 0, "records that the recorder lost")
    honest_losses = [loss for loss in info["losses"] if loss.get("tid") == honest.pid]
    equal(honest_losses, [], "losses of the other process")
    if mode == "flood":
        require(f"process {hostile.pid} writes spans faster" in words, f"no warning about the flood: '{words}'")
        require(info["lost_by_agents"] > 0, "no loss of the process is counted")
    if mode == "claims":
        require(info["lost_by_agents"] > 10**9, "the loss claimed by the process is not shown")


def record_short_programs(count=101):
    """Record programs that exit before a recorder could scan them; returns their spans and the recorder's stderr."""
    path = SCRATCH / "short.sonde"
    program = " ".join(workload("agents", "loop", 1))
    done = subprocess.run([SONDE, "record", "-q", "-o", path, "--", "sh", "-c",
                           f"for i in $(seq {count}); do {program}; done"], capture_output=True, text=True, check=True)
    return len(spans_in(path)), done.stderr


@test
def another_user_cannot_block_registrations_by_occupying_the_names():
    with Hostile("occupy", NOBODY):
        spans, words = record_short_programs()
    equal(spans, 101, f"spans of short programs; the recorder said '{words}'")
    require(f"of user {NOBODY} occupies" in words, f"no warning: '{words}'")


@test
def out_of_scope_connections_are_harmless_or_reported():
    with Hostile("connect", NOBODY):
        spans, words = record_short_programs()
    require(spans == 101 or "can be missing" in words, f"{spans} of 101 spans, and no warning: '{words}'")
    require(f"of user {NOBODY}" in words, f"no warning: '{words}'")


@test
def the_next_recorder_reuses_the_name_of_a_killed_one():
    recorder = Recorder("-p", os.getpid())
    recorder.end(send=signal.SIGKILL, expect=-signal.SIGKILL)
    spans, words = record_short_programs(11)
    equal(spans, 11, f"spans; the recorder said '{words}'")


main()
