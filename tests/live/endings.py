#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All ways in which a recording ends: the capture is correct, and losses are reported."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from compare import check_calls
from harness import (Background, Failure, SCRATCH, Recorder, SONDE, Skip, Truth, each, equal, main, need_feature,
                     need_program, record, require, run, small_disk, test, wait_until, workload)

ROUNDS = 3  # for the comparison of two costs, as other load can disturb the caches


@contextlib.contextmanager
def sleeper(ms=5):
    """A process that outlives the recording, and sleeps repeatedly after go()."""
    with Background(workload("sleep", "nanosleep", 509, ms)) as process:
        process.ready()
        yield process


def check_sleeps(capture, process):
    """Check that the recording has the sleeps between its start and its end."""
    track = process.truth().track("sleep")
    tid = track["tid"]
    require(tid in capture.threads, "nothing of it was recorded")
    begin, end = capture.threads[tid][0]["end"], capture.threads[tid][-1]["start"]
    track["calls"] = [c for c in track["calls"] if begin <= c["begin"] and c["end"] <= end]
    require(len(track["calls"]) > 10, f"{len(track['calls'])} sleeps were recorded")
    check_calls(capture, track, "T")


def records(recorder, process, seconds=1):
    """Wait until the recorder has started, start the process, and wait some seconds."""
    wait_until(lambda: recorder.path.exists() and recorder.path.stat().st_size > 0, "a capture is there")
    process.go()
    time.sleep(seconds)


@each(("interrupt", signal.SIGINT), ("termination", signal.SIGTERM))
def the_capture_is_complete_after(_, number):
    with sleeper() as process:
        recorder = Recorder("-p", process.pid, held=False)
        records(recorder, process)
        recorder.end(send=number)
        check_sleeps(recorder.capture().check(), process)


@test
def a_hangup_does_not_end_a_recording_under_nohup():
    with sleeper() as process:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            recorder = Recorder("-p", process.pid, held=False)
        finally:
            signal.signal(signal.SIGHUP, before)
        records(recorder, process, 0)
        recorder.process.send_signal(signal.SIGHUP)
        time.sleep(1)
        require(recorder.process.poll() is None, "it has ended")
        recorder.end(send=signal.SIGTERM)
        check_sleeps(recorder.capture().check(), process)


@test
def a_recording_ends_after_its_duration():
    with sleeper() as process:
        recorder = Recorder("-p", process.pid, "-d", "1s", held=False)
        records(recorder, process, 0)
        recorder.end()
        capture = recorder.capture().check()
        check_sleeps(capture, process)
    require(1e9 <= capture.info["duration"] < 10e9, f"it took {capture.info['duration']} ns")


@test
def a_recording_ends_with_its_command():
    with sleeper() as process:
        recorder = Recorder("-p", process.pid)
        records(recorder, process, 0.5)
        recorder.end()
        check_sleeps(recorder.capture().check(), process)


@test
def a_command_that_cannot_be_executed_is_named():
    done = run(SONDE, "record", "-o", SCRATCH / "x.sonde", "--", "/no/such/program", expect=1)
    require("/no/such/program" in done.stderr, done.stderr)


@test
def a_killed_recorder_leaves_a_readable_capture():
    with sleeper(10) as process:
        recorder = Recorder("-p", process.pid, held=False)
        records(recorder, process, 2.5)  # it writes about once a second
        recorder.process.kill()
        recorder.process.communicate()
        capture = recorder.capture(complete=False).check(complete=False)
        check_sleeps(capture, process)
    require("truncated" in run(SONDE, "info", recorder.path).stdout, "info does not report that it is truncated")
    require(0 < capture.info["truncated_at"] <= recorder.path.stat().st_size, "info does not report the offset")


@test
def a_full_disk_leaves_a_readable_capture():
    with small_disk("1m") as place:
        with Background(workload("calls", "storm", 20000003)) as storm:
            storm.ready()
            recorder = Recorder("-p", storm.pid, "--syscalls", held=False, path=place / "full.sonde")
            records(recorder, storm, 0)
            words = recorder.end(expect=1)
        require("No space left on device" in words and "full.sonde" in words, f"it said '{words}'")
        capture = recorder.capture(complete=False)
        require(len(capture.kind("syscall", name="getppid")) > 1000, "there is something in it")


@test
def a_saturated_host_loses_nothing():
    """Many threads compete for each CPU; a recorder without priority would wait for all of them."""
    with contextlib.ExitStack() as stack:
        for _ in range(4 * os.cpu_count()):
            spinner = subprocess.Popen(["sh", "-c", "while :; do :; done"])
            stack.callback(spinner.wait)
            stack.callback(spinner.kill)
        with Recorder("-a", "--buffer=256K") as recorder:
            if not os.sched_getscheduler(recorder.pid) & os.SCHED_RR:
                raise Skip("this system grants no real-time priority")
            run(*workload("handoff", "unix", 211))
    equal(sum(r["count"] for r in recorder.capture().kind("loss")), 0, "lost records")


@test
def lost_records_are_counted():
    """More events than a small buffer can hold: written plus lost is the total."""
    need_feature("syscalls")
    count = 300007
    capture, truth = record(*workload("calls", "storm", count), check=False,
                            options=["--syscalls=getppid", "--buffer=64k", "--no-other-tasks"])
    written = len(capture.kind("syscall", name="getppid"))
    lost = sum(r["count"] for r in capture.kind("loss"))
    require(lost > 0, "the buffer held it all")
    equal(capture.info["lost"], lost, "lost, by info")
    require("records lost" in capture.said, f"with -q, stderr is '{capture.said.strip()}'")
    # besides the calls, only records of context switches can be lost
    call = truth.track("storm")["calls"][0]
    switches = call["voluntary"] + call["involuntary"]
    extra = written + lost - count
    require(0 <= extra <= 2 * switches + 100,
            f"{written} written and {lost} lost are {extra} more than {count}, at {switches} switches")
    for r in capture.kind("loss"):
        require(r["start"] <= r["end"] <= r["time"] and r["count"] > 0, f"{r}")


@test
def a_full_buffer_does_not_slow_the_target():
    need_feature("syscalls")
    costs = {"64k": [], "16m": []}
    for _ in range(ROUNDS):
        for size, cost in costs.items():
            done = run(SONDE, "record", "-q", "-o", SCRATCH / "capture.sonde", "--syscalls=getppid",
                       f"--buffer={size}", "--no-other-tasks", "--", *workload("calls", "storm", 150001))
            cost.append(Truth(done.stdout)["cpu_per_call"])
    # other load can only increase the cost
    require(min(costs["64k"]) <= 1.5 * min(costs["16m"]), f"ns of CPU per call: {costs}")


@contextlib.contextmanager
def public_copy():
    """A copy of sonde that every user may execute."""
    with tempfile.TemporaryDirectory(prefix="sonde-test-", dir="/tmp") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        shutil.copy(SONDE, place / "sonde")
        (place / "sonde").chmod(0o755)
        yield place


@test
def without_privileges_record_and_doctor_give_the_same_remedy():
    need_program("setpriv")
    if os.geteuid() != 0:
        raise Skip("only root can become nobody")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with public_copy() as place:
        done = run(*nobody, place / "sonde", "record", "-o", "/dev/null", "--", "true", expect=1)
        doctor = json.loads(run(*nobody, place / "sonde", "doctor", "--json").stdout)
    missing = [f for f in doctor["features"] if f["name"] == "privileges"]
    require(missing and not missing[0]["ok"], f"doctor finds nothing missing: {doctor}")
    require(missing[0]["remedy"] in done.stderr, f"'{done.stderr}' does not say '{missing[0]['remedy']}'")


main()
