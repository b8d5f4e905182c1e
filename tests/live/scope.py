#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scope: exactly the chosen processes and their descendants are recorded."""
import contextlib
import os
import pathlib
import socket

from compare import check_calls
from harness import (Background, Recorder, Skip, each, equal, main, need_feature, record, require, test,
                     workload)

HOLDER = "sh"  # the command of harness.Recorder is in scope, too


def in_scope(capture):
    """Processes with intervals, except the recorder's own command."""
    return {i["pid"] for i in capture.kind("interval")
            if not i.get("out_of_scope") and i["comm"] not in (HOLDER, "sonde")}


def talk(port, count):
    """A client that sends `count` messages, each after the reply to the previous one and a pause."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        for _ in range(count):
            rest(0.005)
            s.sendall(b"question")
            equal(s.recv(64), b"question", "answer")


def rest(time):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as idle:
        idle.settimeout(time)
        with contextlib.suppress(TimeoutError):
            idle.recv(1)


def check_server(capture, truth, count, first=0):
    """Check the server's receives, except the first ones; the last is the end of the stream."""
    track = truth.track("receive")
    equal(len(track["calls"]), count + 1, "receives")
    track["calls"] = track["calls"][first:]
    check_calls(capture, track, "N", syscall="recvfrom", object_type="inet")


# -p

@each("main", "thread", "child")
def a_running_process_is_recorded(worker):
    with Background(workload("serve", 0, worker), gate=False) as server:
        port = int(server.ready()[0])
        with Recorder("-p", server.pid) as recorder:
            talk(port, 53)
            truth = server.truth()
        capture = recorder.capture().check()
    check_server(capture, truth, 53)
    equal(in_scope(capture), {server.pid, truth.track("receive")["pid"]}, "processes in scope")
    equal(capture.kind("task", tid=truth.track("receive")["tid"])[0]["event"], "existing", "its first record")


@test
def later_children_are_recorded():
    with Background(workload("churn", "processes", 53)) as parent:
        parent.ready()
        with Recorder("-p", parent.pid) as recorder:
            parent.go()
            truth = parent.truth()
        capture = recorder.capture().check()
    equal(in_scope(capture), {parent.pid, *truth["pids"]}, "processes in scope")


def children_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return {int(word) for word in text.split()}


@test
def children_forked_while_the_recorder_starts_are_recorded():
    breed = ["sh", "-c", "for i in $(seq 50); do sleep 100 & sleep 0.02; done; wait"]
    with Background(breed, gate=False) as parent:
        rest(0.1)
        with Recorder("-p", parent.pid) as recorder:
            rest(0.1)
            children = children_of(parent.pid)
        capture = recorder.capture().check()
    known = {t["pid"] for t in capture.kind("task") if t["event"] in ("existing", "new")}
    equal(children - known, set(), f"missed of {len(children)} children")


@test
def two_processes_are_recorded_at_once():
    with Background(workload("sleep", "nanosleep", 53)) as a, Background(workload("sleep", "poll", 53)) as b:
        a.ready(), b.ready()
        with Recorder("-p", a.pid, "-p", b.pid) as recorder:
            a.go(), b.go()
            truths = a.truth(), b.truth()
        capture = recorder.capture().check()
    for truth in truths:
        check_calls(capture, truth.track("sleep"), "T", 53)
    equal(in_scope(capture), {a.pid, b.pid}, "processes in scope")


@test
def recording_a_process_that_does_not_exist_fails():
    with Background(["sleep", "0"], gate=False) as gone:
        gone.process.wait()
        recorder = Recorder("-p", gone.pid, held=False)
        words = recorder.end(expect=1)
    require(str(gone.pid) in words, f"'{words}' does not name process {gone.pid}")


# --port

@test
def a_process_that_listens_on_a_port_is_recorded():
    with Background(workload("serve", 0, "child"), gate=False) as server:
        port = int(server.ready()[0])
        with Recorder("--port", port) as recorder:
            talk(port, 53)
            truth = server.truth()
        capture = recorder.capture().check()
    check_server(capture, truth, 53)
    equal(in_scope(capture), {server.pid, truth.track("receive")["pid"]}, "processes in scope")


@test
def a_port_without_listener_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = Recorder("--port", port, "-d", "0.1", held=False).end()
    require(f"no process listens on port {port}" in words, f"'{words}' has no warning")


@test
def a_process_that_listens_on_a_port_later_is_recorded():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Recorder("--port", port) as recorder:
        with Background(workload("serve", port, "main"), gate=False) as server:
            server.ready()
            rest(0.3)
            talk(port, 53)
            truth = server.truth()
    capture = recorder.capture().check()
    # the recorder adds new processes every few milliseconds, so the first receives can be missing
    check_server(capture, truth, 53, first=5)
    equal(in_scope(capture), {server.pid}, "processes in scope")


# --cgroup

@contextlib.contextmanager
def control_group(kind):
    root = pathlib.Path({"unified": "/sys/fs/cgroup/unified", "cpu": "/sys/fs/cgroup/cpu"}[kind])
    if kind == "unified" and not root.exists():
        root = pathlib.Path("/sys/fs/cgroup")
    group = root / f"sonde-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise Skip(f"cannot create a control group: {error}")
    try:
        yield group
    finally:
        group.rmdir()


def join(group, pid):
    (group / "cgroup.procs").write_text(str(pid))


@each("unified", "cpu")
def the_processes_of_a_cgroup_are_recorded(kind):
    need_feature("cgroups")
    with control_group(kind) as group:
        with Background(workload("handoff", "pipe", 53)) as before, \
                Background(workload("handoff", "futex", 53)) as later, \
                Background(workload("sleep", "nanosleep", 53)) as outside:
            for b in (before, later, outside):
                b.ready()
            join(group, before.pid)
            with Recorder("--cgroup", group) as recorder:
                join(group, later.pid)
                rest(0.5)  # time for the recorder to add the process
                for b in (before, later, outside):
                    b.go()
                truths = before.truth(), later.truth()
                outside.truth()
            capture = recorder.capture().check()
    for truth, letter in zip(truths, "IL"):
        for role in ("wait.0", "wait.1"):
            check_calls(capture, truth.track(role), letter, 53)
    equal(in_scope(capture), {before.pid, truths[0].track("wait.1")["pid"], later.pid}, "processes in scope")


# -a, -- CMD

@test
def all_threads_are_recorded_with_a():
    with Background(workload("handoff", "pipe", 53)) as a, Background(workload("handoff", "tcp", 53)) as b:
        a.ready(), b.ready()
        with Recorder("-a") as recorder:
            a.go(), b.go()
            truths = a.truth(), b.truth()
        capture = recorder.capture().check()
    for truth, letter in zip(truths, "IN"):
        for role in ("wait.0", "wait.1"):
            check_calls(capture, truth.track(role), letter, 53)
    require(any(t.get("kernel") for t in capture.kind("task")), "there are kernel threads")
    require(recorder.pid not in in_scope(capture), "the recorder does not record itself")
    begun = max(t["time"] for t in capture.kind("task", event="existing"))
    strangers = {i["pid"] for i in capture.other_tasks() if i["start"] > begun}
    equal(strangers - {recorder.pid}, set(), "threads out of scope")


@test
def only_a_command_and_its_descendants_are_recorded():
    with Background(workload("handoff", "pipe", 503)) as bystander:
        bystander.ready()
        bystander.go()
        capture, truth = record("sh", "-c", '"$@"; true', "sh", *workload("handoff", "pipe", 53))
    for role in ("wait.0", "wait.1"):
        check_calls(capture, truth.track(role), "I", 53)
    pids = {i["pid"] for i in capture.kind("interval") if not i.get("out_of_scope")}
    equal(len(pids), 3, "processes in scope: the shell and the two parties")
    require(bystander.pid in {i["pid"] for i in capture.other_tasks()}, "the bystander is an out-of-scope task")


@test
def no_other_tasks_are_recorded_on_request():
    with Background(workload("handoff", "pipe", 503)) as bystander:
        bystander.ready()
        bystander.go()
        capture, truth = record(*workload("sleep", "nanosleep", 53), options=["--no-other-tasks"], check=False)
    check_calls(capture, truth.track("sleep"), "T", 53)
    equal(capture.other_tasks(), [], "out-of-scope tasks")


main()
