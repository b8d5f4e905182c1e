#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reader, keeper and recorder are killed or stopped, and disks are full: nothing is left behind.

Each round ends one of the processes at a random time, also while it starts.  After it, all
processes of the round have ended, and the kernel has freed all their programs, maps and links.
Lost records are counted: those that were read plus those that were lost are all.

ROBUST_FACTOR multiplies the number of rounds: `make robust` runs a thousand, and a hundred stalls.
"""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time
import uuid

from harness import (Certain, SCRATCH, SONDE, Truth, busy_process, equal, main, need_feature, require, run, small_disk, test,
                     wait_until, workload)
from tops import GONE, Top, children, descriptors, held_in_kernel, is_gone, require_gone

FACTOR = int(os.environ.get("ROBUST_FACTOR", "1"))
LIFE = 1.2  # longest life of a process that is killed, in seconds; it attaches within half of that
STALL = 2  # seconds
SETTLED = 10  # seconds within which a view is current again


class Marked:
    """All processes that inherit an environment variable, even those that have lost their parents."""

    def __init__(self):
        self.mark = f"SONDE_TEST_MARK={uuid.uuid4()}"
        self.env = os.environ | dict([self.mark.split("=")])

    def pids(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes() and not is_gone(path.parent.name):
                    found.append(int(path.parent.name))
        return found

    def require_gone(self, held, what):
        with contextlib.suppress(Exception):
            wait_until(lambda: not self.pids(), what, GONE)
        if left := self.pids():
            raise Certain(f"{what}: processes {left} are left")
        require_gone([], held, what)


def rounds(count):
    for number in range(count * FACTOR):
        yield number, random.Random(number).uniform(0, LIFE)


def kill_process_of_top(choose, count):
    """Kill a process of top at a random time; returns what top said last."""
    with busy_process() as pid:
        for number, life in rounds(count):
            marked = Marked()
            with Top("-p", pid, env=marked.env) as top:
                time.sleep(life)
                held = top.held()
                victim = choose(top)
                if victim:
                    os.kill(victim, signal.SIGKILL)
                if victim != top.pid:
                    top.process.terminate()  # SIGINT is ignored until it is handled, if this runs in the background
                with contextlib.suppress(subprocess.TimeoutExpired):
                    top.process.wait(15)
                marked.require_gone(held, f"round {number}, killed after {life:.3f} s")


@test
def a_killed_reader_leaves_nothing_behind():
    kill_process_of_top(lambda top: top.pid, 4)


@test
def a_killed_keeper_leaves_nothing_behind():
    kill_process_of_top(lambda top: next(iter(children(top.pid)), None), 2)


def are_read(view):
    return view["records"] > 1000 and not view.get("problem")


def new_recorder(top, old):
    """Wait until top has started another recorder; returns its pid."""
    keeper = top.keeper()
    wait_until(lambda: [pid for pid in children(keeper) if pid != old and held_in_kernel(pid)],
               "another recorder is started", 60)
    return next(pid for pid in children(keeper) if pid != old)


@test
def a_killed_recorder_is_reported_and_replaced():
    with busy_process() as pid:
        for _ in range(FACTOR):
            with Top("-p", pid) as top:
                before = None
                for number in range(2):
                    recorder = top.recorder()
                    held = held_in_kernel(recorder)
                    top.next(are_read, "records are read")
                    before = before or (descriptors(top.pid), descriptors(top.keeper()))
                    os.kill(recorder, signal.SIGKILL)
                    view = top.next(lambda view: view.get("problem"), "the end of the recorder is reported")
                    require("signal 9" in view["problem"] or "kill" in view["problem"], f"problem: {view['problem']}")
                    require_gone([recorder], held, f"after kill {number}")
                    new_recorder(top, recorder)
                    top.next(are_read, "records are read again")
                after = descriptors(top.pid), descriptors(top.keeper())
                equal(after, before, "descriptors of reader and keeper")


@test
def a_reader_without_keeper_goes_on_and_reports_the_end():
    with busy_process() as pid:
        for _ in range(FACTOR):
            marked = Marked()
            with Top("-p", pid, env=marked.env) as top:
                recorder, keeper = top.recorder(), top.keeper()
                held = held_in_kernel(recorder)
                top.next(are_read, "records are read")
                os.kill(keeper, signal.SIGKILL)
                time.sleep(0.5)
                os.kill(recorder, signal.SIGKILL)
                top.next(lambda view: view.get("problem"), "the end of the recorder is reported")
                top.next(lambda view: True, "views go on")
                top.process.send_signal(signal.SIGINT)
                require(top.process.wait(15) in (0, -signal.SIGINT), f"exit code {top.process.returncode} of top")
                marked.require_gone(held, "after keeper and recorder")


@test
def a_reader_that_stalls_recovers():
    """The recorder does not wait; the reader reads on from the present."""
    with busy_process() as pid, Top("-p", pid) as top:
        recorder = top.recorder()
        for number in range(2 * FACTOR):
            top.next(lambda view: view["records"] > 0, "records are read")
            os.kill(top.pid, signal.SIGSTOP)
            time.sleep(STALL)
            os.kill(top.pid, signal.SIGCONT)
            began = time.monotonic()
            top.next(lambda view: view.get("lag", 0) < 1_500_000_000 and not view.get("problem"),
                     f"the view is current again after stall {number}", SETTLED)
            print(f"stall {number}: current after {time.monotonic() - began:.1f} s, lost {top.views[-1]['lost']}")
        equal(top.recorder(), recorder, "the recorder")


class SlowReader:
    """Reads the stream of a recorder into a file, with pauses."""

    def __init__(self, options, command, stalls):
        self.path = SCRATCH / "stream.sonde"
        self.process = subprocess.Popen([SONDE, "record", "-q", "-o", "-", *options, "--", "sh", "-c",
                                         f"{' '.join(command)} >{SCRATCH}/truth"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(self.path, "wb") as out:
            while data := self.process.stdout.read1(1 << 16):
                out.write(data)
                if stalls and out.tell() > 1 << 20:
                    stalls -= 1
                    time.sleep(STALL)
        self.said = self.process.communicate()[1].decode()
        equal(self.process.returncode, 0, f"exit code of the recorder: {self.said}")
        self.truth = Truth((SCRATCH / "truth").read_text())


@test
def records_dropped_by_a_stalled_stream_are_counted():
    """Every system call is either in the stream or in its losses."""
    need_feature("syscalls")
    for _ in range(FACTOR):
        count = 1_000_003
        stream = SlowReader(["--syscalls=getppid", "--no-other-tasks"], workload("calls", "storm", count), 1)
        info = json.loads(run(SONDE, "info", "--json", stream.path).stdout)
        rows = run(SONDE, "query", "--json", stream.path, "SELECT count(*) AS n FROM syscalls WHERE name = 'getppid'")
        written, lost = json.loads(rows.stdout)[0]["n"], info["lost"]
        call = stream.truth.track("storm")["calls"][0]
        switches = call["voluntary"] + call["involuntary"]
        extra = written + lost - count
        print(f"{written} written, {lost} lost, {extra} more than the calls, at {switches} switches")
        require(0 <= extra <= 3 * switches + 1000, f"{written} written and {lost} lost are {extra} more than {count}")


@test
def a_full_disk_ends_the_recording():
    with small_disk("512k") as disk, busy_process() as pid:
        for number in range(2 * FACTOR):
            path, marked = disk / "x.sonde", Marked()
            recorder = subprocess.Popen([SONDE, "record", "-q", "-o", path, "-p", str(pid)], env=marked.env,
                                        stderr=subprocess.PIPE, text=True)
            wait_until(lambda: held_in_kernel(recorder.pid) or recorder.poll() is not None, "the recorder is attached")
            held = held_in_kernel(recorder.pid)
            _, said = recorder.communicate(timeout=60)
            equal(recorder.returncode, 1, f"exit code; stderr '{said}'")
            require("No space left" in said, f"stderr: '{said}'")
            marked.require_gone(held, f"round {number}")
            info = json.loads(run(SONDE, "info", "--json", path).stdout)
            require(not info["complete"] and sum(info["records"].values()) > 100, f"records: {info['records']}")
            path.unlink()


class Flight:
    """A flight recorder that writes to a directory."""

    def __init__(self, pid, directory):
        self.marked = Marked()
        self.process = subprocess.Popen([SONDE, "record", "-q", "--keep-last=2s", "-o", directory, "-p", str(pid)],
                                        env=self.marked.env, stderr=subprocess.PIPE, text=True)
        wait_until(self.held, "the recorder is attached")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def held(self):
        return set().union(*map(held_in_kernel, self.marked.pids()))

    def snap(self, expect):
        return run(SONDE, "snap", "-p", self.process.pid, expect=expect)

    def end(self, number):
        held = self.held()
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        self.marked.require_gone(held, f"the flight recorder after {number!r}")
        return said


def fill(directory):
    """Write a file until the disk is full; returns its path."""
    path = directory / "filler"
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return path


@test
def a_full_disk_does_not_end_the_flight_recorder():
    with small_disk("64m") as disk, busy_process() as pid, Flight(pid, disk / "captures") as flight:
        time.sleep(1)
        for number in range(2 * FACTOR):
            filler = fill(disk)
            said = flight.snap(1).stderr
            require("No space left" in said, f"round {number}: '{said}'")
            filler.unlink()
            path = pathlib.Path(flight.snap(0).stdout.strip())
            info = json.loads(run(SONDE, "info", "--json", path).stdout)
            require(info["complete"] and sum(info["records"].values()) > 100, f"round {number}: {info['records']}")
            equal([*path.parent.glob("*.sonde")], [path], f"round {number}: captures")
            path.unlink()
        said = flight.end(signal.SIGINT)
        equal(flight.process.returncode, 0, f"exit code; stderr '{said}'")
        require("No space left on device" in said, f"stderr '{said}'")


@test
def a_killed_flight_recorder_leaves_nothing_behind():
    with busy_process() as pid:
        for number, life in rounds(2):
            with Flight(pid, SCRATCH / "captures") as flight:
                time.sleep(life)
                others = [one for one in flight.marked.pids() if one != flight.process.pid]
                if number % 2 and others:
                    os.kill(random.Random(number).choice(others), signal.SIGKILL)
                    time.sleep(life / 2)
                flight.end(signal.SIGKILL)


@test
def a_closed_pipe_ends_top():
    with busy_process() as pid:
        for _ in range(2 * FACTOR):
            marked = Marked()
            run("sh", "-c", f"'{SONDE}' top --json -p {pid} | head -n 1 | grep -q '^{{'", env=marked.env)
            marked.require_gone([], "after its output was closed")


main()
