#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: it holds the last seconds, and writes captures of slow requests and on request."""
import contextlib
import http.client
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "flight"))
import planted  # noqa: E402

from harness import SCRATCH, SONDE, Certain, busy_process, equal, main, need_program, require, run, test, wait_until

planted.SONDE = SONDE
NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-([A-Za-z0-9._]+)-([A-Za-z0-9._]+)-(\d+)ms-[0-9a-f]{8}\.sonde")


@contextlib.contextmanager
def service(name=None):
    """A service that sleeps on request; its name and its port."""
    command = [sys.executable, planted.__file__]
    if name:
        path = SCRATCH / name
        path.write_text(pathlib.Path(planted.__file__).read_text())
        command = [sys.executable, str(path)]
    server = subprocess.Popen([*command, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()


def get(port, path="/fast"):
    return planted.call(http.client.HTTPConnection("127.0.0.1", port), path)


@contextlib.contextmanager
def flight(port, *options, directory=SCRATCH / "captures"):
    with planted.FlightRecorder(directory, f"--port={port}", *options) as recorder:
        recorder.wait_for("holding the last")
        for _ in range(20):
            get(port)
        yield recorder


def snap(recorder, expect=0):
    return run(SONDE, "snap", "-p", recorder.pid, expect=expect)


def explains(recorder, count=1):
    """The commands that the flight recorder suggests."""
    found = re.findall(r"sonde explain (--trace=\w+) '([^']+)'", recorder.messages())
    require(len(found) >= count, f"{len(found)} commands in:\n{recorder.messages()}")
    return found


@test
def a_slow_request_has_a_capture_that_explains_it():
    with service() as port, flight(port, "--when=200ms") as recorder:
        (begin, end), _ = get(port, "/sleep/0.4")
        wait_until(recorder.captures, "no capture was written")
        recorder.wait_for("sonde explain")
        trace, path = explains(recorder)[0]
        name = NAME.fullmatch(pathlib.Path(path).name)
        require(name, f"the name {path}")
        equal(name[2], str(port), "port in the name")
        require(400 <= int(name[3]) <= (end - begin) / 1e6, f"latency in the name: {name[3]} ms, by the client {end - begin} ns")
        equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the capture")
        require("clock_nanosleep" in run(SONDE, "explain", trace, path).stdout, "the cause is not the sleep")
        equal(recorder.stop(), 0, "exit code")
        # on a busy host, other requests can be slow, too
        explained = {pathlib.Path(p).name for _, p in explains(recorder)}
        equal({p.name for p in recorder.directory.iterdir()}, explained, "files in the directory")


@test
def each_of_ten_slow_requests_is_in_some_capture():
    requests, captures, messages, code = planted.run(10, 9, SCRATCH / "captures")
    equal(code, 0, "exit code")
    missing, empty, _ = planted.compare(requests, captures)
    equal(missing, [], f"slow requests in no capture, with these messages:\n{messages}")
    equal(empty, [], "captures without a slow request")


@test
def a_snap_and_a_signal_write_a_capture():
    with service() as port, flight(port) as recorder:
        path = snap(recorder).stdout.strip()
        equal(snap(recorder).stdout.count("\n"), 1, "paths printed")
        os.kill(recorder.pid, signal.SIGUSR1)
        wait_until(lambda: len(recorder.captures()) == 3, "no capture after SIGUSR1")
        require(str(port) in run(SONDE, "requests", path).stdout, f"no requests in {path}")
        equal(recorder.stop(), 0, "exit code")
    require("not a flight recorder" in snap(recorder, expect=1).stderr, "message without a recorder")


@test
def captures_of_slow_requests_are_limited():
    with service() as port, flight(port, "--when=200ms", "--at-most=2", "--every=2s") as recorder:
        begin = time.monotonic()
        for _ in range(60):
            if recorder.process.poll() is not None:
                break
            get(port, "/sleep/0.3")
        equal(recorder.process.wait(30), 0, "exit code")
        require(time.monotonic() - begin >= 2, "two captures in less than 2 s")
        equal(len(recorder.captures()), 2, "captures")
        require(len(explains(recorder)) > 2, "the second capture is shared")


@test
def hostile_names_of_services_stay_out_of_file_names():
    with service("a b;$(id)\033[2J.py") as port, flight(port, "--when=200ms") as recorder:
        get(port, "/sleep/0.3")
        recorder.wait_for("sonde explain")
        names = [p.name for p in recorder.captures()]
        if not all(NAME.fullmatch(n) for n in names):
            raise Certain(f"unsafe names: {names}")
        if "\033" in recorder.messages():
            raise Certain("a control character in a message")


@test
def what_is_held_is_bounded_in_time_and_bytes():
    keep, epoch, size = 2, 2, 1 << 20
    with busy_process() as pid, \
         planted.FlightRecorder(SCRATCH / "time", "-p", pid, f"--keep-last={keep}s") as timed, \
         planted.FlightRecorder(SCRATCH / "bytes", "-p", pid, "--keep-last=60s", f"--memory={size}") as sized:
        longest = keep + 2 * epoch + 1
        timed.wait_for("holding the last")
        time.sleep(longest + 1)
        seconds = duration_of(snap(timed).stdout.strip())
        require(keep <= seconds <= longest, f"the capture has {seconds:.1f} s; an epoch has {epoch} s")
        sized.wait_for("use a larger --memory")
        path = snap(sized).stdout.strip()
        require(os.stat(path).st_size <= size, f"{os.stat(path).st_size} bytes with --memory={size}")


def duration_of(path):
    sql = "SELECT (max(end) - min(start)) / 1e9 AS seconds FROM slices"
    return float(run(SONDE, "query", "--csv", path, sql).stdout.split()[1])


@test
def a_request_longer_than_the_time_held_is_captured_in_part():
    with service() as port, flight(port, "--keep-last=2s", "--when=1s", "--every=0") as recorder:
        get(port, "/sleep/8.5")
        recorder.wait_for("its start is missing", 20)
        equal(len(recorder.captures()), 1, "captures")
        require("has not ended after" in recorder.messages(), recorder.messages())


@test
def a_killed_flight_recorder_leaves_nothing():
    with service() as port, flight(port, "--when=200ms") as recorder:
        sockets = list(recorder.directory.glob(".sonde-snap-*"))
        equal(len(sockets), 1, "sockets")
        children = run("pgrep", "-P", recorder.pid).stdout.split()
        require(len(children) >= 2, f"children: {children}")
        recorder.process.kill()
        recorder.process.wait()
        wait_until(lambda: not any(os.path.exists(f"/proc/{c}") for c in children), "processes are left", 20)
        equal(list(recorder.directory.iterdir()), [], "files that are left")


@test
def other_users_cannot_ask_for_a_capture():
    need_program("setpriv")
    with service() as port, flight(port) as recorder:
        refused = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", SONDE, "snap", "-p", recorder.pid,
                      expect=None)
        if refused.returncode == 0:
            raise Certain("another user got a capture")
        equal(recorder.captures(), [], "captures")


@test
def captures_have_a_directory_by_default():
    run(SONDE, "record", "--keep-last=2s", "-p", os.getpid(), "-d", "2", cwd=SCRATCH)
    equal(os.stat(SCRATCH / "captures").st_mode & 0o777, 0o700, "mode of the directory")


@test
def unusable_directories_are_refused():
    open_to_all = SCRATCH / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for directory, reason in ((open_to_all, "every user can write to it"), ("/proc/self/x", "cannot create")):
        failed = run(SONDE, "record", "--keep-last=5s", "-a", "-o", directory, expect=1)
        require(reason in failed.stderr, failed.stderr)


if __name__ == "__main__":
    main()
