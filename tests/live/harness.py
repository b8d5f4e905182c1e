# SPDX-License-Identifier: Apache-2.0
"""The harness of live tests: record a workload, and read the capture.

A test is a function whose name is the sentence that it checks.  `FILE.py --list`
prints the names of a file's tests, and `FILE.py NAME` runs one of them: exit 0
on success, 1 with a reason on failure, 77 with a reason if it cannot run here.
tools/verdict.py decides which failures are retried.

The environment variables SONDE and WORKLOADS contain the paths of the programs; if
LIVE_KEEP is set, the captures are kept next to the workloads.
"""
import bisect
import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import accounted
import invariants
import tiling

SONDE = os.environ.get("SONDE", "sonde")
REPLAY_CHECK = os.environ.get("REPLAY_CHECK", "")  # compares the requests of a window with those of the file
WORKLOADS = pathlib.Path(os.environ.get("WORKLOADS", "."))
TIMEOUT = 240  # seconds for any one program, on a busy host
SCRATCH = WORKLOADS / f"live.{os.getpid()}"  # for captures and files; on a disk, as the build is

tests = {}


class Failure(Exception):
    """The test failed."""


class Certain(Failure):
    """The test failed for a reason that load cannot explain: it is not retried."""


class Skip(Exception):
    """The test cannot run here."""


class Disturbed(Skip):
    """Other load disturbed the test: it is retried."""


def test(function):
    tests[function.__name__] = function
    return function


def each(*values):
    """Register one test per value, which is passed to the function and appended to its name."""
    def register(function):
        for v in values:
            first = v[0] if isinstance(v, tuple) else v
            args = v if isinstance(v, tuple) else (v,)
            tests[f"{function.__name__}_{first}"] = functools.partial(function, *args)
        return function
    return register


def require(condition, words):
    if not condition:
        raise Failure(words)


def equal(got, want, what):
    require(got == want, f"{what}: {got!r}, want {want!r}")


def seconds(ns):
    return f"{ns / 1e6:.3f} ms"


@functools.cache
def features():
    """The features of this host, by `sonde doctor`."""
    done = run(SONDE, "doctor", "--json", expect=None)
    if not done.stdout.startswith("{"):
        raise Skip(done.stderr.strip())  # built without a recorder
    return json.loads(done.stdout)["features"]


def need_recording():
    missing = [f["reason"] for f in features() if f["required"] and not f["ok"]]
    if missing:
        raise Skip("; ".join(missing))


def need_feature(name):
    for f in features():
        if f["name"] == name and not f["ok"]:
            raise Skip(f"{name}: {f['reason']}")


def has_feature(name):
    return any(f["name"] == name and f["ok"] for f in features())


def need_program(name):
    if not shutil.which(name):
        raise Skip(f"there is no {name}")


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(tests))
        return
    shutil.rmtree(SCRATCH, ignore_errors=True)  # left by a killed test with the same pid
    SCRATCH.mkdir()
    try:
        need_recording()
        tests[sys.argv[1]]()
    except Skip as skip:
        if isinstance(skip, Disturbed):
            print(f"disturbed: {skip}")
        print(f"skipped: {skip}")
        sys.exit(77)
    except Failure as failure:
        print(f"failed{' (no retry)' if isinstance(failure, Certain) else ''}: {failure}")
        sys.exit(1)
    finally:
        if "LIVE_KEEP" not in os.environ:
            shutil.rmtree(SCRATCH, ignore_errors=True)


# Programs

def run(*command, expect=0, **how):
    """Run a program to its end; `expect` is the expected exit status, None for any."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **how)
    if expect is not None and done.returncode != expect:
        raise Failure(f"'{' '.join(command)}' exits with {done.returncode}:\n"
                      f"{done.stderr[-2000:]}{done.stdout[-500:]}")
    return done


@contextlib.contextmanager
def small_disk(size):
    """A file system that is soon full."""
    place = SCRATCH / "small"
    place.mkdir(exist_ok=True)
    need_program("mount")
    done = run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", place, expect=None)
    if done.returncode:
        raise Skip(f"no file system can be mounted: {done.stderr.strip()}")
    try:
        yield place
    finally:
        run("umount", "-l", place)


def workload(name, *args):
    return [str(WORKLOADS / name), *map(str, args)]


class Truth(dict):
    """The output of a workload about itself: its numbers by name, its tracks by role."""

    def __init__(self, text):
        super().__init__(json.loads(text[text.index("{"):]))
        self.tracks = {t["role"]: t for t in self["tracks"]}

    def track(self, role):
        return self.tracks[role]


class Background:
    """A workload that waits for go(), so that a recorder can be started first."""

    def __init__(self, command, gate=True):
        env = os.environ | ({"TRUTH_GATE": "1"} if gate else {})
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=env, start_new_session=True)
        self.pid = self.process.pid

    def ready(self):
        return self.process.stdout.readline().split()[1:]

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def truth(self):
        out, _ = self.process.communicate(timeout=TIMEOUT)
        equal(self.process.returncode, 0, "exit code of the workload")
        return Truth(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # with its children
        self.process.communicate()


@contextlib.contextmanager
def busy_process(pause=1e-4):
    """The pid of a process with thousands of context switches per second."""
    with Background([sys.executable, "-c", f"import time\nwhile True: time.sleep({pause})"], gate=False) as process:
        yield process.pid


# Captures

def overlapping(intervals, begin, end):
    """The items of a sorted list that overlap a time range."""
    i = bisect.bisect_right(intervals, begin, key=lambda i: i["end"])
    j = bisect.bisect_left(intervals, end, key=lambda i: i["start"])
    return intervals[i:j]


class Capture:
    def __init__(self, path, complete=True):
        self.path = path
        self.info = json.loads(run(SONDE, "info", "--json", path).stdout)
        self.records = [json.loads(line) for line in run(SONDE, "dump", "--json", path).stdout.splitlines()]
        self.stolen = 0  # steal time during the recording, ns
        equal(self.info["complete"], complete, f"{path}: complete")
        if complete:
            accounted.check(self.info)
        self.threads = {}
        for r in self.records:
            if r["kind"] == "interval" and not r.get("out_of_scope"):
                self.threads.setdefault(r["tid"], []).append(r)
        for intervals in self.threads.values():
            intervals.sort(key=lambda i: i["start"])

    def kind(self, kind, **fields):
        """The records of a kind that have these values."""
        return [r for r in self.records if r["kind"] == kind
                and all(r.get(key) == value for key, value in fields.items())]

    def other_tasks(self):
        return [r for r in self.records if r.get("out_of_scope")]

    def slices(self, cpu):
        """The on-CPU slices of a CPU, in order."""
        return sorted(self.kind("interval", state="R", cpu=cpu), key=lambda i: i["start"])

    def within(self, tid, begin, end):
        """The intervals of a thread that overlap a time range."""
        return overlapping(self.threads.get(tid, []), begin, end)

    def check(self, complete=True):
        wrong = tiling.check(self.records, complete)
        wrong += invariants.check(SONDE, self.path, self.records, complete)
        require(not wrong, "the recording is inconsistent:\n  " + "\n  ".join(wrong))
        if REPLAY_CHECK:
            done = subprocess.run([REPLAY_CHECK, "-v", self.path], capture_output=True, text=True, timeout=TIMEOUT)
            require(done.returncode == 0, f"the window finds other requests than the file:\n{done.stdout}{done.stderr}")
        return self


def stolen_ticks():
    with open("/proc/stat") as f:
        return int(f.readline().split()[8])


@contextlib.contextmanager
def stolen_time(captures):
    """Store in the captures made meanwhile an upper bound of the steal time."""
    before = stolen_ticks()
    yield
    ticks = stolen_ticks() - before
    for capture in captures:
        capture.stolen = (ticks + 1) * 1_000_000_000 // os.sysconf("SC_CLK_TCK") if ticks else 0


def record(*command, options=(), check=True):
    """Record a workload from its first instruction to its end; returns the capture and the truth."""
    path = SCRATCH / "capture.sonde"
    captures = []
    with stolen_time(captures):
        done = run(SONDE, "record", "-q", "-o", path, *options, "--", *command)
        captures.append(Capture(path))
    captures[0].said = done.stderr
    (SCRATCH / "truth.json").write_text(done.stdout)  # for debugging a failure
    if check:
        captures[0].check()
    return captures[0], Truth(done.stdout)


class Recorder:
    """A recorder in the background, with options for any scope.

    It runs a command that prints "ready" and then waits, so that everything is
    attached when the body of `with` starts; the command, and with it the recording,
    ends with the body.
    """

    def __init__(self, *options, held=True, name="capture.sonde", path=None):
        self.path = path or SCRATCH / name
        hold = ["--", "sh", "-c", "echo ready; read end"] if held else []
        self.process = subprocess.Popen([SONDE, "record", "-q", "-o", str(self.path), *map(str, options),
                                         *hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.captures = []
        if held and self.process.stdout.readline() != "ready\n":
            raise Failure(f"the recorder did not start: {self.process.communicate()[1]}")

    def end(self, send=None, expect=0):
        """End the recording, with the signal `send` if given, and return its stderr."""
        if send:
            self.process.send_signal(send)
        _, words = self.process.communicate(timeout=TIMEOUT)
        equal(self.process.returncode, expect, f"exit code of the recorder, which said '{words.strip()}'")
        return words

    def capture(self, complete=True):
        capture = Capture(self.path, complete)
        self.captures.append(capture)
        return capture

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.send_signal(signal.SIGKILL)
            self.process.communicate()
        elif self.process.returncode is None:
            self.end()


def wait_until(condition, what, limit=60):
    end = time.monotonic() + limit
    while not condition():
        require(time.monotonic() < end, f"{what}: not within {limit} s")
        time.sleep(0.02)
