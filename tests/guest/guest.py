#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test sonde on another kernel: Debian's, in an emulated guest.

usage: guest.py FOLDER [PACKAGE...]

Each test is a function: a shell in the guest runs the script in its decorator, and
the function checks the output here.  Times in an emulator are not meaningful, so
the tests check states, counts and wakers, and that the recording is consistent.

Pass other packages as arguments to test other kernels.  The files in FOLDER are kept
for inspection.  The environment variables SONDE and WORKLOADS contain the paths of
the programs.
"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import context  # noqa: E402
import image  # noqa: E402
from compare import check_calls, check_releases  # noqa: E402
from harness import Capture, Failure, Skip, Truth, equal, require, run, seconds  # noqa: E402

SONDE = os.environ["SONDE"]
WORKLOADS = pathlib.Path(os.environ["WORKLOADS"])
TIMEOUT = 600  # seconds, for a guest that takes 30 on two idle CPUs
DISK = 64 << 20  # bytes
ANY_TIME = 1 << 62  # ns that a comparison of times may be wrong by

tests = {}


class Outcome:
    """The files of a test's recording."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name

    def text(self, suffix):
        return (self.folder / f"{self.name}.{suffix}").read_text()

    @functools.cached_property
    def capture(self):
        equal(self.text("code").strip(), "0", f"exit code, with '{self.text('err').strip()}'")
        capture = Capture(self.folder / f"{self.name}.sonde")
        capture.stolen = ANY_TIME
        return capture.check()

    @functools.cached_property
    def truth(self):
        return Truth(self.text("out"))

    @functools.cached_property
    def has_messages(self):
        """Whether the guest's kernel has the tracepoints for messages: since 6.3."""
        version = (self.folder / "release").read_text().split(".")
        return tuple(map(int, version[:2])) >= (6, 3)

    def waits(self, role, letter, count, **fields):
        lists = check_calls(self.capture, self.truth.track(role), letter, count, **fields)
        require(None not in lists, f"{role}: the wakers of its waits are unknown")
        return lists


def guest(script):
    def register(function):
        tests[function.__name__] = (script, function)
        return function
    return register


# Features of the kernel

@guest("")
def doctor_lists_missing_features(outcome):
    doctor = json.loads((outcome.folder / "doctor.json").read_text())
    require(doctor["can_record"], "sonde cannot record in the guest")
    missing = [f for f in doctor["features"] if not f["ok"]]
    causes = {"messages": ("sock_send_length", "6.3"), "arrivals": ("sk_data_ready", "6.3"),
              "page faults": ("mm_filemap_fault", "6.10")}
    equal([f["name"] for f in missing], list(causes)[2:] if outcome.has_messages else list(causes), "what is missing")
    for f in missing:
        tracepoint, version = causes[f["name"]]
        require(tracepoint in f["reason"] and version in f["remedy"], f"{f} does not say why")


@guest("record -- /workloads/handoff tcp 53")
def messages_are_recorded_or_reported_as_missing(outcome):
    count = {d: len(outcome.capture.kind("message", direction=d)) for d in ("send", "receive")}
    want = 106 if outcome.has_messages else 0
    equal(count, {"send": want, "receive": want}, "messages")
    said = [line for line in outcome.text("err").splitlines() if "does not support messages" in line]
    equal(len(said), 0 if outcome.has_messages else 1, "warnings about missing messages")


# States

@guest("record -- /workloads/sleep nanosleep 101 1")
def a_timer_ends_a_sleep(outcome):
    outcome.waits("sleep", "T", 101, syscall="clock_nanosleep", woken_by=("hrtimer", "softirq"))


@guest("record -- /workloads/sleep poll 53 1")
def a_timer_ends_a_poll(outcome):
    outcome.waits("sleep", "T", 53, syscall="poll", woken_by=("hrtimer", "softirq"))


@guest("record -- /workloads/lock mutex 53")
def a_lock_is_held(outcome):
    waits = outcome.waits("wait", "L", 53, syscall="futex", object_type="futex", woken_by="task")
    check_releases(waits, outcome.truth.track("release"))


def hand_off(outcome, letter, strangers=(), waits=("wait.0", "wait.1"), **fields):
    for role in waits:
        lists = outcome.waits(role, letter, 53, **fields)
        check_releases(lists, outcome.truth.track(f"release.{1 - int(role[-1])}"), strangers)


@guest("record -- /workloads/handoff pipe 53")
def another_process_fills_a_pipe(outcome):
    hand_off(outcome, "I", syscall="read", object_type="pipe", woken_by="task")


@guest("record -- /workloads/handoff unix 53")
def another_process_sends_through_a_socket(outcome):
    hand_off(outcome, "I", syscall="recvfrom", object_type="unix", woken_by="task")
    sockets = outcome.capture.kind("socket", family="unix")
    equal({s["object_id"] for s in sockets}, {s["peer_object"] for s in sockets}, "sockets and their peers")


@guest("record -- /workloads/life wait 53")
def another_process_exits(outcome):
    outcome.waits("wait", "I", 53, woken_by="task")


@guest("record -- /workloads/handoff tcp 53")
def the_network_ends_a_receive(outcome):
    hand_off(outcome, "N", ("ksoftirqd",), syscall="recvfrom", object_type="inet")
    port = f"127.0.0.1:{outcome.truth['port']}"
    for i in outcome.capture.kind("interval", object_type="inet"):
        require(port in (i["local"], i["peer"]), f"{i} is not on {port}")


@guest("record -- /workloads/handoff tcp-epoll 53")
def the_network_ends_an_epoll(outcome):
    hand_off(outcome, "N", ("ksoftirqd",), syscall=("epoll_wait", "epoll_pwait"), woken_by="softirq", vector=3)


@guest("record -- /workloads/handoff tty 53")
def a_user_types(outcome):
    hand_off(outcome, "U", ("kworker",), waits=("wait.0",), syscall="read", object_type="tty")


@guest("mkdir /disk/files; record -- /workloads/disk fsync /disk/files 23 64")
def the_disk_ends_an_fsync(outcome):
    waits = outcome.waits("fsync", "D", 23, syscall="fsync", object_type="file",
                          object_name=outcome.truth["path"].removeprefix("/disk/"))
    require(sum(map(len, waits)) >= 23, f"{waits} are too few")


@guest("record --block -- /workloads/disk direct /disk 23 64")
def the_disk_ends_a_read(outcome):
    outcome.waits("direct", "D", 23, syscall="pread64", object_type="file", iowait=True)
    track = outcome.truth.track("direct")
    begin, end = track["calls"][0]["begin"], track["calls"][-1]["end"]
    reads = [r for r in outcome.capture.kind("block_io", op="R", tid=track["tid"])
             if begin <= r["start"] and r["end"] <= end]
    equal(sum(r["bytes"] for r in reads), 23 << 16, "bytes read, by the requests")
    equal(outcome.truth["read_bytes"], 23 << 16, "bytes read, by the kernel")
    equal({r["error"] for r in reads}, {0}, "errors")


@guest("""
mkdir /sys/fs/cgroup/quota
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
echo 10000 50000 >/sys/fs/cgroup/quota/cpu.max
record -- sh -c 'echo $$ >/sys/fs/cgroup/quota/cgroup.procs && exec /workloads/spin 50'
cp /sys/fs/cgroup/quota/cpu.stat $name.stat
""")
def a_thread_without_quota_is_throttled(outcome):
    stat = dict(line.split() for line in outcome.text("stat").splitlines())
    tid = outcome.truth.track("spin")["tid"]
    waits = [i for i in outcome.capture.threads[tid] if i["state"] == "Q"]
    periods, ns = int(stat["nr_throttled"]), 1000 * int(stat["throttled_usec"])
    # quota can expire while other threads have the CPU, without an event
    preempted = sum(i["state"] == "C" and bool(i.get("preempted")) for i in outcome.capture.threads[tid])
    require(3 - preempted <= len(waits) <= periods, f"{len(waits)} waits for quota in {periods} periods without; "
            f"preempted {preempted} times")
    # the last period without quota may end after the thread
    off, untold = ns - sum(i["end"] - i["start"] for i in waits), 50e6 * (periods - len(waits))
    require(abs(off) < 60e6 + untold, f"waits for quota, off by {seconds(off)} of {seconds(ns)}")


# Scope and optional events

@guest("""
mkdir /sys/fs/cgroup/mine
recording -d 60 --cgroup /mine
/workloads/sleep nanosleep 3 1 >$name.other
sh -c 'echo $$ >/sys/fs/cgroup/mine/cgroup.procs
sleep 0.5
exec /workloads/sleep nanosleep 53 1' >$name.mine
kill -INT $(pidof sonde)
wait
mv $name.mine $name.out
""")
def a_process_that_joins_a_cgroup_is_recorded(outcome):
    outcome.waits("sleep", "T", 53, syscall="clock_nanosleep")
    other = Truth(outcome.text("other")).track("sleep")["tid"]
    require(other not in outcome.capture.threads, "an out-of-scope process is recorded")


@guest("record --syscalls -- /workloads/calls rounds 53")
def system_calls_have_their_results(outcome):
    tid = outcome.truth.track("round")["tid"]
    calls = [r for r in outcome.capture.kind("syscall", tid=tid)]
    equal(len([r for r in calls if r["name"] == "getppid"]), 53, "calls of getppid")
    equal(len([r for r in calls if r["name"] == "read" and r["result"] == 13]), 53, "reads of 13 bytes")
    equal(len([r for r in calls if r["name"] == "write" and r["result"] == 7]), 53, "writes of 7 bytes")


@guest("record -a -d 1 --syscalls --block --stacks=1ms --profile=99 -e sched:sched_migrate_task")
def everything_is_recorded_for_a_second(outcome):
    require(outcome.capture.info["duration"] >= 1e9, f"{outcome.capture.info['duration']} ns were recorded")
    require(1 in outcome.capture.threads, "the first process is not recorded")


@guest("record -a -e sched:sched_migrate_task -- /workloads/calls moves 53")
def migrations_are_probe_events_with_fields(outcome):
    track = outcome.truth.track("move")
    begin, end = track["calls"][0]["begin"], track["calls"][-1]["end"]
    moves = [h["fields"]["dest_cpu"] for h in outcome.capture.kind("probe_event", event="sched:sched_migrate_task")
             if h["fields"]["pid"] == track["tid"] and begin <= h["time"] <= end]
    equal(moves, outcome.truth["cpus"], "CPUs moved to")


@guest("record -- /workloads/ctx_pie 3 7 2000")
def published_contexts_are_recorded(outcome):
    context.check(outcome.capture, "ctx_pie", context.changes_of(outcome.folder / f"{outcome.name}.out"), 3)


def symbols(frames):
    return {frame.get("symbol") for frame in frames}


@guest("record -a --stacks=1ms -- /workloads/sleep nanosleep 53 5")
def a_long_wait_has_its_stack(outcome):
    waits = sum(outcome.waits("sleep", "T", 53), [])
    long = [i for i in waits if i["end"] - i["start"] >= 1e6]
    require(len(long) > len(waits) / 2, f"{len(long)} of {len(waits)} sleeps of 5 ms took 1 ms")
    stacks = {r["stack"]: r for r in outcome.capture.kind("stack")}
    for i in long:
        stack = stacks[i["stack"]]
        require("hrtimer_nanosleep" in symbols(stack["kernel_frames"]), f"{stack} is not in a sleep")
        require({"clock_nanosleep", "main"} <= symbols(stack["user_frames"]), f"{stack} is not called from main")


@guest("record --profile=997 -- /workloads/spin 200")
def samples_show_where_a_thread_runs(outcome):
    stacks = {r["stack"]: r for r in outcome.capture.kind("stack")}
    places = [symbols(stacks[s["stack"]]["user_frames"]) for s in outcome.capture.kind("sample")]
    hot, cold = (sum(name in p for p in places) for name in ("spin_hot", "spin_cold"))
    require(hot > cold, f"of {len(places)} samples, {hot} are in spin_hot and {cold} in spin_cold")


@guest("record -- /workloads/sleep nanosleep 3; sonde dump --json $name.sonde >$name.json")
def a_capture_reads_the_same_everywhere(outcome):
    here = run(SONDE, "dump", "--json", outcome.capture.path).stdout
    require(outcome.text("json") == here, "the guest and this host read different records")


# The guest

def make_root(path, kernel):
    root = image.Archive()
    root.add("/init", (HERE / "init").read_bytes())
    root.add_program("/bin/busybox", image.program("busybox", "busybox-static"))
    root.add_program("/bin/sonde", SONDE)
    for name in ("calls", "ctx_pie", "disk", "handoff", "life", "lock", "sleep", "spin"):
        root.add_program(f"/workloads/{name}", WORKLOADS / name)
    modules = image.modules(kernel)
    for module in modules:
        root.add(f"/modules/{module.name}", module.read_bytes())
    root.add("/modules/order", "".join(f"{module.name}\n" for module in modules).encode())
    root.add("/cases", "".join(f"name={name}\n{script}\n" for name, (script, _) in tests.items()).encode())
    root.write(path)


def run_guest(folder, packages):
    """Run the guest; returns the directory with its files."""
    folder.mkdir(exist_ok=True)
    if run(SONDE, "record", "--help", expect=None).returncode != 0:
        raise image.Missing("this sonde was built without its recorder")
    if packages:
        kernel = folder / "kernel"
        shutil.rmtree(kernel, ignore_errors=True)
        image.unpack(packages, kernel)
    else:
        kernel = image.download(folder)
    make_root(folder / "root", kernel)
    disk, left, out = folder / "disk", folder / "left", folder / "out"
    image.make_disk(disk, DISK)
    image.make_file_system(disk)
    image.make_disk(left, DISK)
    image.boot(kernel, folder / "root", [disk, left], folder / "console", TIMEOUT)
    shutil.rmtree(out, ignore_errors=True)
    with tarfile.open(left) as tar:
        tar.extractall(out)
    if not (out / "release").exists():  # an empty disk is an empty archive
        raise tarfile.ReadError("it left no results")
    return out


def comment(text):
    print("".join(f"# {line}\n" for line in text.splitlines()), end="")


def check(number, name, out):
    try:
        tests[name][1](Outcome(out, name))
    except (Failure, Skip, OSError, LookupError, ValueError) as error:  # nothing is hidden in a guest
        print(f"not ok {number} - {name}")
        comment(f"{type(error).__name__}: {error}")
        return 1
    print(f"ok {number} - {name}")
    return 0


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    try:
        out = run_guest(folder, [pathlib.Path(p).resolve() for p in sys.argv[2:]])
    except image.Missing as missing:
        print("1..0 # SKIP", *str(missing).split())
        return
    except (subprocess.SubprocessError, tarfile.TarError) as error:
        comment((folder / "console").read_text(errors="replace")[-4000:])
        print(f"Bail out! the guest did not come to its end: {error}")
        sys.exit(1)
    comment(f"Linux {(out / 'release').read_text()}")
    print(f"1..{len(tests)}")
    sys.exit(sum(check(number, name, out) for number, name in enumerate(tests, 1)) > 0)


main()
