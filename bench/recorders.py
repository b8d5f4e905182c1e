# SPDX-License-Identifier: Apache-2.0
"""The recorders to compare: how to start, stop and query each one.

The other tools record the events closest to those of sonde: by default the scheduler, interrupts
and messages; in the variants with system calls, also those of the server process.  `perf sched
record` records neither interrupts nor messages; it is included because it is widely used.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import machine

HERE = pathlib.Path(__file__).parent
EVENTS = ["sched:sched_switch", "sched:sched_waking", "irq:irq_handler_entry",
          "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit",
          "timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit",
          "sock:sock_send_length", "sock:sock_recv_length", "sock:inet_sock_set_state"]


def threads(pids):
    return [int(t) for p in pids for t in os.listdir(f"/proc/{p}/task")]


def size_of(directory):
    return sum(f.stat().st_size for f in directory.iterdir())


class Recorder:
    """name: in tables. needs: a program. command(pids, out): its command line. size(out): bytes written."""

    def __init__(self, name, needs, command, context=contextlib.nullcontext, stats=False, size=None):
        self.name, self.needs, self.command = name, needs, command
        self.context, self.stats, self.size = context, stats, size or size_of

    def __str__(self):
        return self.name

    def missing(self):
        """The reason why it cannot run, or None."""
        if self.needs and not machine.available(self.needs):
            return f"{self.needs} is not installed"
        return None

    @contextlib.contextmanager
    def running(self, pids, out):
        """Record the processes; yields a Run, which is complete after the context."""
        run = Run()
        if not self.command:
            time.sleep(0.5)
            yield run
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.context())
            if self.stats:
                stack.enter_context(machine.bpf_stats())
            command = [str(c) for c in self.command(pids, out)]
            words = stack.enter_context(tempfile.TemporaryFile("w+"))
            run.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=words,
                                           stderr=words)
            try:
                run.settle(command)
                yield run
                run.memory = machine.memory(run.process.pid)
            finally:
                machine.stop(run.process)
                words.seek(0)
                run.words = words.read()
            run.bytes = self.size(pathlib.Path(out))
            run.check(command)


class Run:
    """A recording and its results."""

    process, words, bytes = None, "", 0
    memory = dict.fromkeys(("VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem"), 0)

    def settle(self, command, patience=20):
        """Wait until the recorder has opened all its event sources."""
        before, since = 0, time.monotonic()
        end = since + patience
        while time.monotonic() < end:
            time.sleep(0.05)
            if self.process.poll() is not None:
                return  # check() reports the reason
            now = sum(map(sources, machine.tree(self.process.pid)))
            if now != before:
                before, since = now, time.monotonic()
            elif now and time.monotonic() - since > 0.4:
                return
        raise RuntimeError(f"'{' '.join(command)}' does not record after {patience} s")

    def check(self, command):
        """Fail with the output of the recorder if it recorded nothing."""
        code = self.process.returncode
        if code not in (0, -signal.SIGINT, 128 + signal.SIGINT) or not self.bytes:
            raise RuntimeError(f"'{' '.join(command)}' exits with {code} and {self.bytes} bytes: "
                               f"{self.words.strip()}")

    def cpu_time(self):
        return sum(map(machine.cpu_time, machine.tree(self.process.pid))) if self.process else 0

    def programs(self):
        """{name: (runs, ns)} of the BPF programs of the recorder."""
        if not self.process:
            return {}
        ids = set()
        for pid in machine.tree(self.process.pid):
            for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
                with contextlib.suppress(OSError):
                    ids |= set(map(int, re.findall(r"prog_id:\s*(\d+)", info.read_text())))
        shown = json.loads(subprocess.check_output(["bpftool", "prog", "show", "-j"]))
        return {p["name"]: (p.get("run_cnt", 0), p.get("run_time_ns", 0))
                for p in shown if p["id"] in ids}

    def lost(self):
        """The number of events that it reports as lost."""
        found = re.findall(r"(\d[\d,]*) lost|[Ll]ost (\d+)|overrun: (\d+)", self.words)
        return sum(int("".join(f).replace(",", "")) for f in found)


def sources(pid):
    """The number of perf events, BPF programs and trace buffers that a process has open."""
    count = 0
    with contextlib.suppress(OSError):
        for fd in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                count += bool(re.search(r"perf_event|bpf|trace_pipe_raw", os.readlink(fd.path)))
    return count


def none():
    return Recorder("none", None, None)


def sonde(path, name, *options, stats=False):
    def command(pids, out):
        scope = [] if "-a" in options else [f"-p{p}" for p in pids]
        return [path, "record", "-o", out / "capture.sonde", *scope, *options]

    return Recorder(name, None, command, stats=stats)


def sonde_stream(path, name):
    """A stream to a program that counts its bytes and discards them."""
    def command(pids, out):
        scope = " ".join(f"-p{p}" for p in pids)
        return ["bash", "-c", f"exec '{path}' record -o - {scope} > >(wc -c >{out}/bytes)"]

    return Recorder(name, None, command, size=counted)


def counted(out, patience=5):
    """The bytes that `wc` has counted; it ends shortly after the recorder."""
    end = time.monotonic() + patience
    while not (text := (out / "bytes").read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    return int(text or 0)


def sonde_top(path, name):
    def command(pids, out):
        return ["sh", "-c", f"exec '{path}' top --json {' '.join(f'-p{p}' for p in pids)} >{out}/views"]

    return Recorder(name, None, command)


def perf(name, *arguments, scope=False):
    def command(pids, out):
        only = ["-p", ",".join(map(str, pids))] if scope else []
        return ["perf", *arguments, "-o", out / "perf.data", *only]

    return Recorder(name, "perf", command, context=machine.tracefs)


def trace_cmd(name, calls=False):
    def command(pids, out):
        events = sum((["-e", e] for e in EVENTS), [])
        only = " || ".join(f"common_pid == {t}" for t in threads(pids))
        more = sum((["-e", f"raw_syscalls:{e}", "-f", only] for e in ("sys_enter", "sys_exit")), [])
        return ["trace-cmd", "record", "-d", "-k", "-o", out / "trace.dat", *events,
                *(more if calls else [])]

    return Recorder(name, "trace-cmd", command, context=machine.tracefs)


def bpftrace(name, script, stats=False):
    def command(pids, out):
        return ["bpftrace", "-o", out / "out.txt", HERE / script, pids[-1]]

    return Recorder(name, "bpftrace", command, context=machine.tracefs, stats=stats)


def empty():
    """An empty BPF program at every system call."""
    def command(pids, out):
        return ["bpftrace", "-o", out / "out.txt", "-e", "tracepoint:raw_syscalls:sys_enter { }"]

    return Recorder("empty program", "bpftrace", command, context=machine.tracefs, stats=True)


def peers(path):
    """All recorders, those of sonde first."""
    return [
        none(),
        sonde(path, "sonde record"),
        sonde(path, "sonde record -a", "-a"),
        bpftrace("bpftrace, sums in maps", "offcpu.bt"),
        trace_cmd("trace-cmd, the same events"),
        perf("perf record, the same events", "record", "-a", "-e", ",".join(EVENTS)),
        perf("perf sched record", "sched", "record", "-a"),
        bpftrace("bpftrace, printing", "print.bt"),
        sonde(path, "sonde record --syscalls", "--syscalls"),
        trace_cmd("trace-cmd, and system calls", calls=True),
        perf("perf trace -s", "trace", "-s", scope=True),
        perf("perf trace record", "trace", "record", scope=True),
    ]
