# SPDX-License-Identifier: Apache-2.0
"""A running `sonde top --json`: its views, its three processes, and what they hold in the kernel.

    with Top("-p", pid) as top:
        view = top.wait(lambda view: view["rows"], "an operation is shown")

The reader is the process that was started; its child is the keeper, and the child of that the recorder.
"""
import contextlib
import ctypes
import errno
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from harness import SCRATCH, SONDE, Certain, require, wait_until

GONE = 60  # seconds within which all processes end and all programs are detached, even on a busy host
PATIENCE = 30  # seconds for a view
BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]  # number of the system call bpf()
GET_FD_BY_ID = {"prog": 13, "map": 14, "link": 30}  # commands of bpf()
libc = ctypes.CDLL(None, use_errno=True)


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def with_descendants(pid):
    """A process and all its descendants that run now."""
    found = [pid]
    for one in found:
        found += children(one)
    return found


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def descriptors(pid):
    """The number of open file descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    """Resident size in KiB, 0 if the process has ended."""
    try:
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
    except (OSError, TypeError):
        return 0


def cpu_seconds(pid):
    """CPU time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def held_in_kernel(pid):
    """The BPF programs, maps and links that a process holds, as (kind, id)."""
    found = set()
    with contextlib.suppress(OSError):
        for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                found |= set(re.findall(r"^(prog|map|link)_id:\s+(\d+)", path.read_text(), re.M))
    return found


def exists_in_kernel(kind, number):
    """Whether a BPF program, map or link exists."""
    attributes = (ctypes.c_uint32 * 32)(int(number))
    fd = libc.syscall(BPF, GET_FD_BY_ID[kind], attributes, 12)
    if fd >= 0:
        os.close(fd)
        return True
    if ctypes.get_errno() != errno.ENOENT:
        raise Certain(f"bpf() fails for {kind} {number}: {os.strerror(ctypes.get_errno())}")
    return False


def require_gone(pids, held, what):
    """All processes end, and the kernel frees what they held."""
    def left():
        return [pid for pid in pids if not is_gone(pid)] or [one for one in held if exists_in_kernel(*one)]
    with contextlib.suppress(Exception):
        wait_until(lambda: not left(), what, GONE)
    if rest := left():
        raise Certain(f"{what}: left after {GONE} s: {rest}")


class Top:
    def __init__(self, *options, env=None):
        self.views, self.news = [], threading.Condition()
        self.log = SCRATCH / "top.err"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([SONDE, "top", "--json", *map(str, options)], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log, text=True, env=env)
        self.pid = self.process.pid
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in filter(str.strip, self.process.stdout):
            with self.news:
                self.views.append(json.loads(line) | {"read_at": time.monotonic()})
                self.news.notify_all()
        with self.news:
            self.views.append(None)
            self.news.notify_all()

    def said(self):
        return self.log.read_text().strip()

    def wait(self, condition, what, limit=PATIENCE, after=0):
        """The first view after number `after` for which the condition holds."""
        end = time.monotonic() + limit
        with self.news:
            while True:
                for view in self.views[after:]:
                    if view is None:
                        raise Certain(f"{what}: top ended: {self.said()}")
                    if condition(view):
                        return view
                after = len(self.views)
                require(self.news.wait(end - time.monotonic()) if time.monotonic() < end else False,
                        f"{what}: not within {limit} s; last view: {self.views[-1:]}; stderr: '{self.said()}'")

    def next(self, condition, what, limit=PATIENCE):
        """The same for views from now on."""
        return self.wait(condition, what, limit, len(self.views))

    def keeper(self):
        wait_until(lambda: children(self.pid), "there is a keeper", PATIENCE)
        return children(self.pid)[0]

    def recorder(self):
        """The recorder, once its programs are attached."""
        keeper = self.keeper()
        wait_until(lambda: any(held_in_kernel(pid) for pid in children(keeper)), "the recorder is attached", PATIENCE)
        return children(keeper)[0]

    def processes(self):
        """All processes that run now."""
        return with_descendants(self.pid)

    def held(self):
        return set().union(*map(held_in_kernel, self.processes()))

    def end(self, number=signal.SIGINT):
        pids, held = self.processes(), self.held()
        self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as e:
            raise Certain(f"top does not end within {PATIENCE} s of {number!r}") from e
        self.thread.join(PATIENCE)
        require_gone(pids, held, f"after {number!r}")
        if code not in (0, -number):
            raise Certain(f"top exits with {code}: {self.said()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and kind is None:
            self.end()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
