#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optional events: system calls, block I/O, tracepoints, stacks, samples."""
import collections
import os
import pathlib

from compare import check_calls, near
from harness import (SCRATCH, Skip, each, equal, main, need_feature, need_program, record, require, run,
                     test, workload)

OWN = {"getrusage", "pread64", "clock_gettime"}  # with these a workload measures itself
ENOENT = 2


# --syscalls

def calls_within(capture, tid, call):
    return [r for r in capture.kind("syscall", tid=tid)
            if call["begin"] <= r["start"] and r["end"] <= call["end"] and r["name"] not in OWN]


@test
def system_calls_have_their_results():
    need_feature("syscalls")
    capture, truth = record(*workload("calls", "rounds", 101), options=["--syscalls"])
    track = truth.track("round")
    equal(len(track["calls"]), 101, "rounds")
    for call in track["calls"]:
        calls = calls_within(capture, track["tid"], call)
        equal([r["name"].removesuffix("at") for r in calls],
              ["getppid", "read", "write", "open", "clock_nanosleep"], "calls of a round")
        equal([r["result"] for r in calls[1:]], [13, 7, -ENOENT, 0], "their results")


@test
def the_duration_of_a_system_call_matches_the_clock():
    need_feature("syscalls")
    capture, truth = record(*workload("calls", "rounds", 101), options=["--syscalls"])
    track = truth.track("nap")
    naps = [calls_within(capture, track["tid"], call) for call in track["calls"]]
    equal([[r["name"] for r in nap] for nap in naps], [["clock_nanosleep"]] * 101, "calls in each nap")
    near(sum(r["end"] - r["start"] for nap in naps for r in nap),
         sum(c["end"] - c["begin"] for c in track["calls"]), "time in clock_nanosleep", capture)


@test
def strace_counts_the_same_system_calls():
    need_feature("syscalls")
    need_program("strace")
    log = SCRATCH / "strace"
    run("strace", "-f", "-o", log, *workload("churn", "processes", 7))
    want = collections.Counter(line.split()[1].split("(")[0] for line in log.read_text().splitlines()
                               if "(" in line and "resumed>" not in line)
    capture, _ = record(*workload("churn", "processes", 7), options=["--syscalls"])
    leader = capture.kind("task", event="exec")[0]["time"]
    got = collections.Counter(r["name"] for r in capture.kind("syscall") if r["start"] >= leader)
    got["execve"] += 1  # the first exec started before the recording
    for name in ("clone3", "clone", "wait4", "execve", "mmap", "openat", "write"):
        equal(got[name], want[name], f"calls of {name}")


@test
def only_the_chosen_system_calls_are_recorded():
    need_feature("syscalls")
    capture, truth = record(*workload("calls", "rounds", 101), options=["--syscalls=getppid,write"])
    count = collections.Counter(r["name"] for r in capture.kind("syscall"))
    equal(set(count), {"getppid", "write"}, "system calls")
    equal(count["getppid"], 101, "calls of getppid")
    equal(len([r for r in capture.kind("syscall", name="write") if r["result"] == 7]), 101, "writes")


# --block

def device_of(path):
    """The disk of a file: its device number as recorded, and the first sector of its partition."""
    number = os.stat(path).st_dev
    at = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not at.exists():
        raise Skip(f"'{path}' is not on a block device")
    start = int((at / "start").read_text()) if (at / "start").exists() else 0
    disk = at.parent if (at / "partition").exists() else at
    return disk, (disk / "dev").read_text().strip(), start


def sectors_read(disk):
    return int((disk / "stat").read_text().split()[2])


def ranges(pairs):
    """A sorted list of (begin, end), with adjacent ranges joined."""
    out = []
    for begin, end in sorted(pairs):
        if out and out[-1][1] == begin:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out


@test
def block_io_covers_all_bytes_read():
    need_feature("block")
    disk, device, start = device_of(SCRATCH)
    before = sectors_read(disk)
    capture, truth = record(*workload("disk", "direct", SCRATCH, 53, 1024), options=["--block"])
    counted = sectors_read(disk) - before
    track = truth.track("direct")
    begin, end = track["calls"][0]["begin"], track["calls"][-1]["end"]
    ours = [r for r in capture.kind("block_io", op="R", device=device, tid=track["tid"])
            if begin <= r["start"] and r["end"] <= end]
    equal(sum(r["bytes"] for r in ours), truth["read_bytes"], "bytes read, by /proc/self/io")
    equal(truth["read_bytes"], 53 << 20, "bytes read, by the workload")
    require(counted >= truth["read_bytes"] // 512, f"the disk read {counted} sectors only")
    if "extents" in truth:
        places = truth["extents"]
        want = ranges((start + a // 512, start + (a + n) // 512) for a, n in zip(places[::2], places[1::2]))
        equal(ranges((r["sector"], r["sector"] + r["bytes"] // 512) for r in ours), want, "sectors")
    for r in ours:
        require(any(c["begin"] <= r["start"] and r["end"] <= c["end"] for c in track["calls"]),
                f"{r} is in no read")
        equal(r["error"], 0, "error")


# -e

@test
def a_tracepoint_has_its_fields():
    need_feature("tracefs")
    capture, truth = record(*workload("churn", "processes", 53), options=["-e", "sched:sched_process_exec"])
    hits = capture.kind("probe_event", event="sched:sched_process_exec")
    leaves = [h for h in hits if h["fields"]["filename"] == "/proc/self/exe"]
    equal([h["tid"] for h in leaves], truth["pids"], "threads that executed the leaf program")
    for h in leaves:
        equal(h["fields"]["pid"], h["tid"], "field pid")


@test
def page_faults_have_their_addresses():
    need_feature("tracefs")
    capture, truth = record(*workload("calls", "faults", 1009), options=["-e", "exceptions:page_fault_user"])
    call = truth.track("faults")["calls"][0]
    got = [h["fields"]["address"] for h in capture.kind("probe_event", event="exceptions:page_fault_user")
           if call["begin"] <= h["time"] <= call["end"]]
    equal(sorted(set(got) & set(truth["addresses"])), truth["addresses"], "addresses")


@test
def several_tracepoints_are_recorded_at_once():
    need_feature("tracefs")
    capture, truth = record(*workload("calls", "storm", 1009),
                            options=["-e", "syscalls:sys_enter_getppid", "-e", "syscalls:sys_exit_getppid"])
    equal(len(capture.kind("probe_event", event="syscalls:sys_enter_getppid")), 1009, "enters")
    exits = capture.kind("probe_event", event="syscalls:sys_exit_getppid")
    equal(len(exits), 1009, "exits")
    equal(len({h["fields"]["ret"] for h in exits}), 1, "different results")


@test
def migrations_are_probe_events_of_the_migrating_thread():
    need_feature("tracefs")
    if os.cpu_count() < 2:
        raise Skip("there is one CPU only")
    capture, truth = record(*workload("calls", "moves", 53), options=["-a", "-e", "sched:sched_migrate_task"])
    track = truth.track("move")
    begin, end = track["calls"][0]["begin"], track["calls"][-1]["end"]
    moves = [h["fields"]["dest_cpu"] for h in capture.kind("probe_event")
             if h["fields"]["pid"] == track["tid"] and begin <= h["time"] <= end]
    equal(moves, truth["cpus"], "CPUs moved to")


@each(("unknown", "sched:no_such_event"), ("nameless", "sched"))
def recording_fails_for_a_tracepoint_that_is(_, event):
    need_feature("tracefs")
    done = run(os.environ["SONDE"], "record", "-o", SCRATCH / "x.sonde", "-e", event, "--", "true", expect=None)
    require(done.returncode in (1, 2) and event in done.stderr, f"{done.returncode}: {done.stderr}")


# --stacks, --profile

def frames(capture, stack, part):
    """The functions of a stack, innermost first."""
    found = capture.kind("stack", stack=stack)
    require(found, f"there is no stack {stack}")
    return [name for f in found[0][part + "_frames"]
            for name in [f.get("symbol", ""), *(i["symbol"] for i in f.get("inlined", []))]]


@test
def a_long_wait_has_its_stack():
    need_feature("kernel symbols")
    capture, truth = record(*workload("handoff", "pipe", 11), options=["--stacks=1ms"])
    for a in "01":
        for waits in check_calls(capture, truth.track("wait." + a), "I", 11):
            if not waits:
                continue
            i = waits[-1]
            user, kernel = frames(capture, i["stack"], "user"), frames(capture, i["stack"], "kernel")
            require("wait_for_other" in user and "main" in user, f"the user stack is {user}")
            require(any("pipe" in name for name in kernel), f"the kernel stack is {kernel}")
            waker = frames(capture, i["waker_stack"], "user")
            require("release_other" in waker, f"the waker's stack is {waker}")


@test
def a_short_wait_has_no_stack():
    capture, truth = record(*workload("sleep", "nanosleep", 11, 5), options=["--stacks=1s"])
    check_calls(capture, truth.track("sleep"), "T", 11, stack=None)


@test
def a_frame_has_its_line():
    capture, truth = record(*workload("handoff", "futex", 11), options=["--stacks=1ms"])
    named = [f for s in capture.kind("stack") for f in s["user_frames"] if f.get("symbol") == "wait_for_other"]
    require(named, "wait_for_other is in no stack")
    for f in named:
        require(f["source"].endswith("handoff.c") and f["line"] > 0, f"{f} has no line")
        require(f["module"].endswith("/handoff") and f["offset"] > 0, f"{f} has no module")


@test
def samples_are_where_the_time_is():
    need_feature("samples")
    capture, truth = record(*workload("spin", 1000), options=["--profile=997"])
    track = truth.track("spin")
    call = track["calls"][0]
    samples = [s for s in capture.kind("sample", tid=track["tid"]) if call["begin"] <= s["time"] <= call["end"]]
    want = call["cpu"] / 1e9 * 997
    require(0.8 * want <= len(samples) <= 1.05 * want, f"{len(samples)} samples, want about {want:.0f}")
    functions = collections.Counter((frames(capture, s["stack"], "user") or [""])[0] for s in samples)
    share = functions["spin_hot"] / len(samples)
    require(0.8 <= share <= 0.98, f"spin_hot has {share:.0%} of the samples: {functions.most_common(5)}")
    counters = capture.info["counters"]
    require(counters["samples_taken"] >= counters["samples_due"] / 2 > 0, f"samples of all CPUs: {counters}")
    equal(counters["samples_missing"], 0, "samples that are missing")


main()
