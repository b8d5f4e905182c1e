#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each state is told by its letter, as often as it came, and as long as it took."""
import contextlib
import os
import pathlib

from compare import check_calls, check_releases, near, time_in
from harness import (Background, ROOM, Recorder, Skip, Truth, each, equal, main, need_feature,
                     need_program, record, require, run, test, workload)

# T: a timer

@each(("nanosleep", "clock_nanosleep"), ("poll", "poll"), ("select", ("select", "pselect6")),
      ("epoll", ("epoll_wait", "epoll_pwait")), ("recv", "recvfrom"), ("futex", "futex"),
      ("cond", "futex"), ("timerfd", "read"))
def a_timer_ends(kind, syscall):
    capture, truth = record(*workload("sleep", kind, 101))
    lists = check_calls(capture, truth.track("sleep"), "T", 101, syscall=syscall,
                        context=("hrtimer", "softirq"))
    equal([len(waits) for waits in lists], [1] * 101, "waits in each call")


# D: a disk

def record_disk(*args):
    """On the CPU that the device interrupts, so that it is one CPU that wakes and is woken."""
    need_program("taskset")
    kind, count, *more = args
    return record("taskset", "-c", "0", *workload("disk", kind, ROOM, count, *more))


@test
def fsync_waits_for_the_disk():
    capture, truth = record_disk("fsync", 53)
    check_calls(capture, truth.track("fsync"), "D", 53, syscall="fsync", object="file",
                name=os.path.basename(truth["path"]))


@test
def a_direct_read_waits_for_the_disk():
    capture, truth = record_disk("direct", 53)
    check_calls(capture, truth.track("direct"), "D", 53, syscall="pread64", object="file", iowait=True)
    equal(truth["read_bytes"], 53 * 8192 * 1024, "bytes read, by /proc/self/io")


@test
def a_page_fault_waits_for_the_disk():
    capture, truth = record_disk("fault", 23)
    lists = check_calls(capture, truth.track("fault"), "D", 23, syscall=None, iowait=True)
    require(sum(map(len, lists)) >= 23, "a page that is not in memory takes a wait")


# N, I, U, L: another party

def hand_over(channel, letter, strangers=(), waits=("wait.0", "wait.1"), **fields):
    capture, truth = record(*workload("handover", channel, 53))
    by_task = 0
    for role in waits:
        other = truth.track("release." + str(1 - int(role[-1])))
        lists = check_calls(capture, truth.track(role), letter, 53, **fields)
        by_task += check_releases(capture, lists, other, strangers)
    for role in ("rest.0", "rest.1"):
        check_calls(capture, truth.track(role), "T", 53, context="hrtimer")
    return capture, truth, by_task


@each(("tcp", "recvfrom"), ("tcp6", "recvfrom"), ("udp", "recvfrom"), ("tcp-poll", "poll"),
      ("tcp-epoll", ("epoll_wait", "epoll_pwait")))
def the_network_ends(channel, syscall):
    capture, truth, by_task = hand_over(channel, "N", ("ksoftirqd",), syscall=syscall, context="softirq",
                                        vector=3)
    require(by_task >= 53, f"{by_task} of 106 waits were ended by the other party itself")
    if channel in ("tcp", "tcp6"):
        host = "127.0.0.1" if channel == "tcp" else "[::1]"
        ends = {frozenset((i["local"], i["peer"])) for i in capture.kind("interval", state="N")
                if "local" in i}
        equal(len(ends), 1, "connections")
        require(f"{host}:{truth['port']}" in min(ends), f"{ends} does not name port {truth['port']}")


@each(("pipe", "read", "pipe"), ("pipe-poll", "poll", None), ("unix", "recvfrom", "unix"),
      ("unix-epoll", ("epoll_wait", "epoll_pwait"), (None, "epoll")), ("eventfd", "read", "eventfd"))
def another_process_ends(channel, syscall, thing):
    hand_over(channel, "I", syscall=syscall, object=thing, context="task")


@test
def a_person_at_a_terminal_ends():
    hand_over("tty", "U", ("kworker",), waits=("wait.0",), syscall="read", object="tty")


@each("semaphore", "cond", "futex")
def a_lock_is_given_by(channel):
    hand_over(channel, "L", syscall="futex", object="futex", context="task")


@each("mutex", "pi", "rwlock")
def a_lock_is_held(kind):
    capture, truth = record(*workload("lock", kind, 53))
    lists = check_calls(capture, truth.track("wait"), "L", 53, syscall="futex", object="futex", context="task")
    check_releases(capture, lists, truth.track("release"))


@test
def a_thread_is_joined():
    capture, truth = record(*workload("lock", "join", 53))
    check_calls(capture, truth.track("wait"), "L", 53, syscall="futex", context="task")


@each("wait", "vfork", "stop")
def another_life(kind):
    capture, truth = record(*workload("life", kind, 53))
    lists = check_calls(capture, truth.track("wait"), "I", 53, context="task")
    if kind == "stop":
        check_releases(capture, lists, truth.track("release"))


# C: other threads on the CPU

@test
def a_named_competitor_has_the_cpu():
    need_program("taskset")
    rival = Background(["taskset", "-c", "1", *workload("spin", 60000, "rival")], gate=False)
    with rival:
        capture, truth = record("taskset", "-c", "1", *workload("spin", 400))
    spin = truth.track("spin")
    check_calls(capture, spin, "-", 1)
    call, tid = spin["calls"][0], spin["tid"]
    window = call["begin"], call["end"]
    near(time_in(capture, tid, "R", *window), call["cpu"], "R", capture)
    near(time_in(capture, tid, "C", *window), call["delay"], "C", capture)
    require(call["delay"] > 200e6, "the rival had its share")
    by_name = {}
    waits = [i for i in capture.within(tid, *window) if i["state"] == "C"]
    for i in waits:
        for name, ns in on_cpu(capture, 1, i["start"], i["end"]).items():
            by_name[name] = by_name.get(name, 0) + ns
    near(sum(by_name.values()), sum(i["end"] - i["start"] for i in waits), "time of those who had the CPU",
         capture)
    equal(max(by_name, key=by_name.get), "rival", "who had the CPU most of the time")


def on_cpu(capture, cpu, begin, end):
    """Who had the CPU in this time: ns by name."""
    found = {}
    for r in capture.kind("interval", state="R", cpu=cpu):
        ns = min(r["end"], end) - max(r["start"], begin)
        if ns > 0:
            found[r["comm"]] = found.get(r["comm"], 0) + ns
    return found


# Q: a quota

QUOTA, PERIOD = 10, 50  # ms


@contextlib.contextmanager
def quota_group():
    """A control group whose threads have a fifth of a CPU: its directory, and how to join it."""
    one, two = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
    name = f"sonde-test-{os.getpid()}"
    version_one = (one / "cpu.cfs_quota_us").exists()
    group = (one if version_one else two) / name
    try:
        group.mkdir()
    except OSError as error:
        raise Skip(f"no control group can be made: {error}")
    try:
        if version_one:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD * 1000))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA * 1000))
        else:
            (group / "cpu.max").write_text(f"{QUOTA * 1000} {PERIOD * 1000}")
        yield group
    except OSError as error:
        raise Skip(f"no quota can be set: {error}")
    finally:
        group.rmdir()


def throttled(group):
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    ns = int(stat["throttled_time"]) if "throttled_time" in stat else 1000 * int(stat["throttled_usec"])
    return int(stat["nr_throttled"]), ns


@test
def a_quota_is_used_up():
    need_feature("quota")
    need_program("taskset")
    with quota_group() as group:
        join = f"echo $$ > {group}/cgroup.procs; exec \"$@\""
        capture, truth = record("sh", "-c", join, "sh", "taskset", "-c", "1", *workload("spin", 300))
        count, ns = throttled(group)
    spin = truth.track("spin")
    call, tid = spin["calls"][0], spin["tid"]
    window = call["begin"], call["end"]
    near(time_in(capture, tid, "R", *window), call["cpu"], "R", capture)
    near(time_in(capture, tid, "CQ", *window), call["delay"], "C and Q", capture)
    waits = [i for i in capture.threads[tid] if i["state"] == "Q"]
    equal(len(waits), count, "waits for quota, by cpu.stat")
    near(sum(i["end"] - i["start"] for i in waits), ns, "Q, by cpu.stat", capture)


main()
