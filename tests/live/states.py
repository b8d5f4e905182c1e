#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each wait has the right state, count and duration."""
import bisect
import collections
import contextlib
import os
import pathlib

from compare import check_calls, check_releases, check_switches, check_times, is_clear, near
from harness import (Background, SCRATCH, Skip, each, equal, has_feature, main, need_feature, need_program,
                     overlapping, record, require, run, test, workload)

# T: a timer

@each(("nanosleep", "clock_nanosleep"), ("poll", "poll"), ("select", ("select", "pselect6")),
      ("epoll", ("epoll_wait", "epoll_pwait")), ("recv", "recvfrom"), ("futex", "futex"),
      ("cond", "futex"), ("timerfd", "read"))
def a_timer_ends_the_wait_of(kind, syscall):
    capture, truth = record(*workload("sleep", kind, 101))
    lists = check_calls(capture, truth.track("sleep"), "T", 101, syscall=syscall,
                        woken_by=("hrtimer", "softirq"))
    equal({len(waits) for waits in lists if waits is not None}, {1}, "waits in each call")


# D: a disk

def interrupts():
    """The number of interrupts of each device, by CPU."""
    lines = pathlib.Path("/proc/interrupts").read_text().splitlines()
    cpus = len(lines[0].split())
    rows = [line.split() for line in lines[1:]]
    return [[int(n) for n in row[1:1 + cpus]] for row in rows if row[0].rstrip(":").isdigit()]


def interrupted_cpu():
    """The CPU that handles the disk's interrupts, so that waker and woken thread share a CPU.

    A wakeup on another CPU takes time, in which the thread waits for a CPU in our records, but is
    still blocked in the kernel's accounting.
    """
    before = interrupts()
    run(*workload("disk", "direct", SCRATCH, 101, 64))
    grown = [[b - a for a, b in zip(*rows)] for rows in zip(before, interrupts())]
    busiest = max(grown, key=sum)
    return busiest.index(max(busiest))


def record_disk(kind, count):
    need_program("taskset")
    if run("stat", "-f", "-c", "%T", SCRATCH).stdout.strip() in ("tmpfs", "ramfs"):
        raise Skip(f"'{SCRATCH}' is not on a disk")
    return record("taskset", "-c", interrupted_cpu(), *workload("disk", kind, SCRATCH, count))


@test
def fsync_waits_for_the_disk():
    capture, truth = record_disk("fsync", 53)
    check_calls(capture, truth.track("fsync"), "D", 53, syscall="fsync", object_type="file",
                object_name="/".join(truth["path"].split("/")[-2:]))


@test
def a_direct_read_waits_for_the_disk():
    capture, truth = record_disk("direct", 53)
    check_calls(capture, truth.track("direct"), "D", 53, syscall="pread64", object_type="file", iowait=True)
    equal(truth["read_bytes"], 53 * 8192 * 1024, "bytes read, by /proc/self/io")


@test
def a_page_fault_waits_for_the_disk():
    capture, truth = record_disk("fault", 11)
    lists = check_calls(capture, truth.track("fault"), "D", 11, syscall=None, iowait=True)
    require(sum(bool(blocked) for blocked in lists) > 5, "most faults on pages that are not cached block")
    if has_feature("page faults"):
        waits = [wait for blocked in lists for wait in blocked or ()]
        equal({wait.get("object_name") for wait in waits}, {"/".join(truth["path"].split("/")[-2:])}, "files")


# N, I, U, L: another party

def hand_off(channel, letter, strangers=(), waits=("wait.0", "wait.1"), **fields):
    capture, truth = record(*workload("handoff", channel, 53))
    by_task = 0
    for role in waits:
        other = truth.track("release." + str(1 - int(role[-1])))
        lists = check_calls(capture, truth.track(role), letter, 53, **fields)
        by_task += check_releases(lists, other, strangers)
    for role in ("rest.0", "rest.1"):
        check_calls(capture, truth.track(role), "T", 53, woken_by="hrtimer")
    return capture, truth, by_task


@each(("tcp", "recvfrom"), ("tcp6", "recvfrom"), ("udp", "recvfrom"), ("tcp-poll", "poll"),
      ("tcp-epoll", ("epoll_wait", "epoll_pwait")))
def the_network_ends_the_wait_of(channel, syscall):
    capture, truth, by_task = hand_off(channel, "N", ("ksoftirqd",), syscall=syscall, woken_by="softirq",
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
def another_process_ends_the_wait_of(channel, syscall, thing):
    hand_off(channel, "I", syscall=syscall, object_type=thing, woken_by="task")


@test
def a_user_at_a_terminal_ends_a_read():
    hand_off("tty", "U", ("kworker",), waits=("wait.0",), syscall="read", object_type="tty")


@each("semaphore", "cond", "futex")
def a_lock_is_released_by(channel):
    hand_off(channel, "L", syscall="futex", object_type="futex", woken_by="task")


@each("mutex", "pi", "rwlock")
def a_lock_is_held(kind):
    capture, truth = record(*workload("lock", kind, 53))
    lists = check_calls(capture, truth.track("wait"), "L", 53, syscall="futex", object_type="futex", woken_by="task")
    check_releases(lists, truth.track("release"))


@test
def a_thread_is_joined():
    capture, truth = record(*workload("lock", "join", 53))
    check_calls(capture, truth.track("wait"), "L", 53, syscall="futex", woken_by="task")


@each("wait", "vfork", "stop")
def waiting_for_a_child_by(kind):
    capture, truth = record(*workload("life", kind, 53))
    lists = check_calls(capture, truth.track("wait"), "I", 53, woken_by="task")
    if kind == "stop":
        check_releases(lists, truth.track("release"))


# C: other threads on the CPU

ACCOUNT = 20_000  # ns by which the kernel's runtime accounting can differ from the switches


def compete(*how):
    """Record a thread and its rival on one CPU: the capture, and the output of the thread."""
    need_program("taskset")
    pin = [*how, "taskset", "-c", "1"]
    with Background([*pin, *workload("spin", 60000, "rival")], gate=False) as rival:
        return record(*pin, *workload("spin", 400, "spinner", rival.pid))


@test
def a_wait_for_a_cpu_names_the_running_threads():
    capture, truth = compete()
    call, tid = truth.track("spin")["calls"][0], truth.track("spin")["tid"]
    intervals = capture.within(tid, call["begin"], call["end"])
    waits = [i for i in intervals if i["state"] == "C"]
    account = ACCOUNT * len(waits)
    check_times(capture, tid, call, account, R=call["cpu"], C=call["delay"])
    if is_clear(intervals):
        equal(check_switches(intervals, call, "spinner"), [], "waits of a thread that only spins")
        check_gaps(waits, truth)
    slices = capture.slices(1)
    waited = sum(i["end"] - i["start"] for i in waits)
    others = sum(sum(time_of(slices, i["start"], i["end"]).values()) for i in waits)
    require(0.95 * waited < others <= waited, f"others had the CPU for {others} ns of {waited}")
    require(truth["rival"] > 50e6, "the rival had its share")
    near(time_of(slices, call["begin"], call["end"])["rival"], truth["rival"], "time of the rival", capture, account)


def check_gaps(waits, truth):
    """Each wait for a CPU is in a gap that the thread itself measured."""
    gaps, (first, last) = truth["gaps"], truth["looks"]
    for i in waits:
        if first <= i["start"] and i["end"] <= last:
            at = bisect.bisect_right(gaps, i["start"]) - 1
            require(at >= 0 and at % 2 == 0 and i["end"] <= gaps[at + 1], f"the spinner went on during {i}")


def time_of(slices, begin, end):
    """The CPU time of threads in a time range: ns by name."""
    found = collections.Counter()
    for r in overlapping(slices, begin, end):
        found[r["comm"]] += min(r["end"], end) - max(r["start"], begin)
    return found


@test
def two_real_time_threads_share_a_cpu():
    """They alternate in slices of 100 ms without disturbance, so all times must agree closely."""
    need_program("chrt")
    if run("chrt", "-r", "1", "true", expect=None).returncode:
        raise Skip("real-time scheduling is not permitted here")
    capture, truth = compete("chrt", "-r", "1")
    call, tid = truth.track("spin")["calls"][0], truth.track("spin")["tid"]
    check_times(capture, tid, call, R=call["cpu"], C=call["delay"])
    near(time_of(capture.slices(1), call["begin"], call["end"])["rival"], truth["rival"], "time of the rival",
         capture)


# Q: a quota

QUOTA, PERIOD = 10, 50  # ms


@contextlib.contextmanager
def quota_group():
    """A cgroup whose threads have a fifth of a CPU: its directory, and how to join it."""
    one, two = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
    name = f"sonde-test-{os.getpid()}"
    version_one = (one / "cpu.cfs_quota_us").exists()
    group = (one if version_one else two) / name
    try:
        group.mkdir()
    except OSError as error:
        raise Skip(f"cannot create a control group: {error}")
    try:
        if version_one:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD * 1000))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA * 1000))
        else:
            (group / "cpu.max").write_text(f"{QUOTA * 1000} {PERIOD * 1000}")
        yield group
    except OSError as error:
        raise Skip(f"cannot set a quota: {error}")
    finally:
        group.rmdir()


def throttled(group):
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    ns = int(stat["throttled_time"]) if "throttled_time" in stat else 1000 * int(stat["throttled_usec"])
    return int(stat["nr_throttled"]), ns


@test
def a_thread_without_quota_is_throttled():
    need_feature("quota")
    need_program("taskset")
    with quota_group() as group:
        join = f"echo $$ > {group}/cgroup.procs; exec \"$@\""
        capture, truth = record("sh", "-c", join, "sh", "taskset", "-c", "1", *workload("spin", 300))
        count, ns = throttled(group)
    spin = truth.track("spin")
    call, tid = spin["calls"][0], spin["tid"]
    check_times(capture, tid, call, ACCOUNT * call["involuntary"], R=call["cpu"], CQ=call["delay"])
    waits = [i for i in capture.threads[tid] if i["state"] == "Q"]
    # quota can expire while other threads have the CPU, without an event
    preempted = sum(i["state"] == "C" and bool(i.get("preempted")) for i in capture.threads[tid])
    untold = count - len(waits)
    require(0 <= untold <= preempted, f"{len(waits)} waits for quota, {count} by cpu.stat; preempted {preempted} times")
    # after new quota the thread can still wait for a CPU, and no event marks the start
    slices = capture.slices(1)
    others = sum(sum(time_of(slices, i["start"], i["end"]).values()) for i in waits)
    near(sum(i["end"] - i["start"] for i in waits), ns + others / 2, "Q, by cpu.stat", capture,
         others / 2 + untold * PERIOD * 1e6)


main()
