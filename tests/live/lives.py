#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes and threads that start and exit: all are recorded, and nothing leaks."""
import collections
import pathlib
import re
import shutil
import threading

from harness import Background, Recorder, equal, main, record, require, run, test, wait_until, workload

RSS_MAX = 64 << 10  # KiB
RSS_GROWTH = 1 << 10  # in the second half


@test
def every_child_has_its_fork_exec_and_exit():
    capture, truth = record(*workload("churn", "processes", 53, 3))
    parent = truth["pid"]
    born = [t["tid"] for t in capture.kind("task", event="new", parent_tid=parent)]
    equal(born, truth["pids"], "children")
    equal([t["tid"] for t in capture.kind("task", event="exec") if t["tid"] in truth["pids"]], truth["pids"],
          "who executed a program")
    codes = {e["tid"]: e["wait_status"] for e in capture.kind("exit")}
    equal([codes.get(pid) for pid in truth["pids"]], truth["codes"], "exit codes")
    threads = [t["tid"] for t in capture.kind("task", event="new") if t["pid"] in truth["pids"]
               and t["tid"] != t["pid"]]
    equal(threads, truth["tids"], "threads of the children")
    equal({capture.kind("task", event="new", tid=tid)[0]["parent_tid"] for tid in truth["tids"]},
          set(truth["pids"]), "parents")
    comms = {t["comm"] for t in capture.kind("task", event="exec") if t["tid"] in truth["pids"]}
    equal(len(comms), 1, "names of the program executed")


def bpf_ids(pid):
    """The BPF programs and maps that a process holds."""
    ids = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            ids |= set(re.findall(r"^(prog|map)_id:\s+(\d+)", path.read_text(), re.M))
        except OSError:
            pass
    return ids


def is_left(kind, number):
    return run("bpftool", kind, "show", "id", number, expect=None).returncode == 0


class MemoryWatch(threading.Thread):
    """Samples of a process's resident memory, in KiB."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.samples, self.done = pid, [], threading.Event()

    def run(self):
        while not self.done.wait(0.1):
            text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
            found = re.search(r"VmRSS:\s+(\d+)", text)
            if found:
                self.samples.append(int(found[1]))

    def end(self):
        self.done.set()
        self.join()
        return self.samples


@test
def a_thousand_threads_per_second_are_recorded():
    with Background(workload("churn", "threads", 5003, 1000)) as churn:
        churn.ready()
        with Recorder("-p", churn.pid, "--no-other-tasks") as recorder:
            ids = bpf_ids(recorder.pid)
            watch = MemoryWatch(recorder.pid)
            watch.start()
            churn.go()
            truth = churn.truth()
            samples = watch.end()
        capture = recorder.capture().check()
    born = [t["tid"] for t in capture.kind("task", event="new", pid=churn.pid)]
    equal(born, truth["tids"], "threads born")
    exits = collections.Counter(e["tid"] for e in capture.kind("exit", pid=churn.pid))
    equal(exits, collections.Counter([*truth["tids"], churn.pid]), "threads that exit")
    half = len(samples) // 2
    growth = max(samples[half:]) - max(samples[:half])
    require(growth <= RSS_GROWTH, f"the recorder grew by {growth} KiB in the second half")
    require(max(samples) <= RSS_MAX, f"the recorder had {max(samples)} KiB")
    if shutil.which("bpftool"):
        require(ids, "the recorder held no programs")
        wait_until(lambda: not any(is_left(*i) for i in ids), "programs and maps are gone")


@test
def a_thread_other_than_the_leader_calls_exec():
    capture, truth = record(*workload("churn", "takeover", 53))
    equal([e["tid"] for e in capture.kind("task", event="exec") if e["tid"] in truth["pids"]], truth["pids"],
          "processes that execute a program")
    codes = [e["wait_status"] for pid in truth["pids"] for e in capture.kind("exit", tid=pid)][1::2]
    equal(codes, truth["codes"], "exit codes")


main()
