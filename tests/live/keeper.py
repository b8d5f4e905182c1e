# SPDX-License-Identifier: Apache-2.0
"""The three processes of a live recording: reader, keeper, recorder.

live_client.c is the reader: it starts a keeper, drops its privileges, and executes the steps
of its command line.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

from harness import WORKLOADS, each, equal, main, need_recording, require, test, wait_until

CLIENT = WORKLOADS / "live_client"
BUSY = [sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)"]


def client(scope, *steps):
    need_recording()
    return subprocess.Popen([CLIENT, str(scope), *steps], stdout=subprocess.PIPE, text=True)


def lines(process):
    text, _ = process.communicate(timeout=120)
    equal(process.returncode, 0, f"exit status of the reader after '{text}'")
    return text.splitlines()


def count(output, what):
    for line in output:
        if line.startswith(f"{what}: "):
            return int(line.split(": ")[1])
    return 0


def descendants(pid):
    """All living descendants of a process."""
    found, todo = [], [pid]
    while todo:
        for task in pathlib.Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            children = [int(p) for p in task.read_text().split()]
            found += children
            todo += children
    return found


def links(pids):
    """The number of BPF links that these processes hold."""
    total = 0
    for pid in pids:
        for fd in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                total += "bpf_link" in os.readlink(fd) or "bpf-link" in os.readlink(fd)
            except OSError:
                pass
    return total


def recorder_of(reader):
    """The recorder, once it is attached."""
    def attached():
        return [p for p in descendants(reader.pid) if links([p]) > 5]
    wait_until(lambda: attached(), "an attached recorder")
    return attached()[0]


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@test
def a_reader_without_privileges_gets_a_complete_stream():
    output = lines(client("all", "start", "privileges", "read=2500", "stop", "read=3000"))
    require("privileges: none" in output, f"the reader has privileges: {output}")
    require("stream: complete" in output, f"the stream is not complete: {output}")
    require("ended: the recorder has ended" in output, f"no end: {output}")
    require(count(output, "records run") > 0, f"no records: {output}")


@test
def records_refer_to_their_epoch_or_the_one_before():
    output = lines(client("all", "epoch=2000", "stacks=1000000", "start", "read=9000", "stop", "read=4000"))
    require(count(output, "records epoch") >= 3, f"too few epochs: {output}")
    equal(count(output, "stale"), 0, "records that refer to older epochs")
    equal(count(output, "strings missing"), 0, "strings of older epochs")


@test
def system_calls_are_switched_on_and_off():
    with subprocess.Popen(BUSY) as busy:
        output = lines(client(busy.pid, "start", "read=2500", f"verb=3,{busy.pid},1", "read=1500",
                              f"verb=3,{busy.pid},0", "read=500", "stop", "read=3000"))
        busy.kill()
    require(0 < count(output, "records syscall") < 1500, f"system calls: {output}")
    require(not any("refuses" in line for line in output), f"refused: {output}")


@test
def stacks_are_switched_on():
    with subprocess.Popen(BUSY) as busy:
        output = lines(client(busy.pid, "start", "read=2500", "verb=2,0,1000000", "read=2500", "stop", "read=4000"))
        busy.kill()
    require(count(output, "records stack") > 0, f"no stacks: {output}")
    require(count(output, "records symbol") > 0, f"no names: {output}")


@test
def wrong_verbs_are_refused_and_reported():
    with subprocess.Popen(BUSY) as busy:
        output = lines(client(busy.pid, "start", "read=2500", "verb=77,0,0", f"verb=3,{os.getpid()},1",
                              "verb=3,4194303,1", "verb=2,0,99999999999999", "garbage=16", "read=500",
                              "stop", "read=3000"))
        busy.kill()
    notes = [line for line in output if "refuses" in line]
    equal(len(notes), 5, f"refusals in {output}")
    require("stream: complete" in output, f"the recorder did not go on: {output}")
    equal(count(output, "records syscall"), 0, "system calls of processes out of scope")


@each(("killed", signal.SIGKILL), ("terminated", signal.SIGTERM))
def nothing_stays_attached_if_the_reader_is(_, number):
    reader = client("all", "start", "read=60000")
    recorder_of(reader)
    processes = descendants(reader.pid)
    reader.send_signal(number)
    reader.communicate()
    wait_until(lambda: not any(alive(p) for p in processes), f"the end of {processes}", 10)


@test
def the_reader_learns_how_its_recorder_ended_and_starts_another():
    reader = client("all", "start", "read=6000", "start", "read=3000", "stop", "read=3000")
    os.kill(recorder_of(reader), signal.SIGKILL)
    output = lines(reader)
    require("ended with failure: the recorder was killed by signal 9" in output, f"not reported: {output}")
    require("stream: broken" in output, f"the stream is not broken: {output}")
    equal(output.count("start: done"), 2, "starts")
    require("stream: complete" in output, f"the second recorder did not work: {output}")


@test
def only_one_recorder_runs_at_a_time():
    output = lines(client("all", "start", "start", "read=2000", "stop", "read=3000"))
    require("start: a recorder runs already" in output, f"not refused: {output}")


@test
def a_recorder_goes_on_without_its_keeper_until_the_reader_ends():
    reader = client("all", "start", "stall=60000")
    recorder = recorder_of(reader)
    keeper = next(p for p in descendants(reader.pid) if p != recorder and recorder in descendants(p))
    os.kill(keeper, signal.SIGKILL)
    time.sleep(0.5)
    reader.kill()
    reader.communicate()
    wait_until(lambda: not alive(recorder), "the end of the recorder", 10)


main()
