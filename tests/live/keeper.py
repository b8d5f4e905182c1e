# SPDX-License-Identifier: Apache-2.0
"""The three processes of a live recording: reader, keeper, recorder.

live_client.c is the reader: it starts a keeper, drops its privileges, and executes the steps
of its command line.
"""
import os
import pathlib
import signal
import time

from harness import TIMEOUT, WORKLOADS, Background, busy_process, each, equal, main, require, test, wait_until

ATTACHED = "until=run:1"  # step that waits for records
TO_THE_END = f"read={1000 * TIMEOUT}"  # step that reads until stream and recorder have ended
CLIENT = WORKLOADS / "live_client"


def client(scope, *steps):
    return Background([CLIENT, str(scope), *steps], gate=False)


def lines(reader):
    """The output of a reader, once it has ended."""
    with reader:
        text, _ = reader.process.communicate(timeout=2 * TIMEOUT)
    equal(reader.process.returncode, 0, f"exit status of the reader after '{text}'")
    require("not reached" not in text, f"records are missing: {text}")
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
    output = lines(client("all", "start", "privileges", ATTACHED, "stop", TO_THE_END))
    require("privileges: none" in output, f"the reader has privileges: {output}")
    require("stream: complete" in output, f"the stream is not complete: {output}")
    require("ended: the recorder has ended" in output, f"no end: {output}")
    require(count(output, "records run") > 0, f"no records: {output}")


@test
def records_refer_to_their_epoch_or_the_one_before():
    output = lines(client("all", "epoch=2000", "stacks=1000000", "start", "until=epoch:3", "stop", TO_THE_END))
    equal(count(output, "stale"), 0, "records that refer to older epochs")
    equal(count(output, "strings missing"), 0, "strings of older epochs")


@test
def system_calls_are_switched_on_and_off():
    with busy_process(0.01) as pid:
        output = lines(client(pid, "start", ATTACHED, f"verb=3,{pid},1", "until=syscall:20",
                              f"verb=3,{pid},0", "until=wait:20-syscall", "stop", TO_THE_END))
    require(not any("refuses" in line for line in output), f"refused: {output}")


@test
def stacks_are_switched_on():
    with busy_process(0.01) as pid:
        lines(client(pid, "start", ATTACHED, "verb=2,0,1000000", "until=stack:1", "until=symbol:1", "stop",
                     TO_THE_END))


@test
def other_tasks_are_switched_off_and_on():
    with busy_process(0.01) as pid, busy_process(0.01):
        output = lines(client(pid, "start", ATTACHED, "until=outside:20", "verb=6,0,0", "until=run:50-outside",
                              "verb=6,0,1", "until=outside:20", "stop", TO_THE_END))
    require(not any("refuses" in line for line in output), f"refused: {output}")


@test
def wrong_verbs_are_refused_and_reported():
    with busy_process(0.01) as pid:
        output = lines(client(pid, "start", ATTACHED, "verb=77,0,0", f"verb=3,{os.getpid()},1",
                              "verb=3,4194303,1", "verb=2,0,99999999999999", "garbage=16", "stop",
                              TO_THE_END))
    notes = [line for line in output if "refuses" in line]
    equal(len(notes), 5, f"refusals in {output}")
    require("stream: complete" in output, f"the recorder did not go on: {output}")
    equal(count(output, "records syscall"), 0, "system calls of processes out of scope")


@each(("killed", signal.SIGKILL), ("terminated", signal.SIGTERM))
def nothing_stays_attached_if_the_reader_is(_, number):
    with client("all", "start", TO_THE_END) as reader:
        recorder_of(reader)
        processes = descendants(reader.pid)
        reader.process.send_signal(number)
        reader.process.wait(TIMEOUT)
        wait_until(lambda: not any(alive(p) for p in processes), f"the end of {processes}")


@test
def the_reader_learns_how_its_recorder_ended_and_starts_another():
    reader = client("all", "start", TO_THE_END, "start", ATTACHED, "stop", TO_THE_END)
    os.kill(recorder_of(reader), signal.SIGKILL)
    output = lines(reader)
    require("ended with failure: the recorder was killed by signal 9" in output, f"not reported: {output}")
    require("stream: broken" in output, f"the stream is not broken: {output}")
    equal(output.count("start: done"), 2, "starts")
    require("stream: complete" in output, f"the second recorder did not work: {output}")


@test
def only_one_recorder_runs_at_a_time():
    output = lines(client("all", "start", "start", ATTACHED, "stop", TO_THE_END))
    require("start: a recorder runs already" in output, f"not refused: {output}")


@test
def a_recorder_goes_on_without_its_keeper_until_the_reader_ends():
    with client("all", "start", "stall=60000") as reader:
        recorder = recorder_of(reader)
        keeper = next(p for p in descendants(reader.pid) if p != recorder and recorder in descendants(p))
        os.kill(keeper, signal.SIGKILL)
        time.sleep(0.5)
        require(alive(recorder), "the recorder ended with its keeper")
        reader.process.kill()
        reader.process.wait(TIMEOUT)
        wait_until(lambda: not alive(recorder), "the end of the recorder")


main()
