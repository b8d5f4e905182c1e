# SPDX-License-Identifier: Apache-2.0
"""Settings of the host that benchmarks change and restore.

Each setting is a context manager, and signals that end the run become exceptions, so that every
exit restores it.
"""
import contextlib
import ctypes
import datetime
import os
import pathlib
import platform
import signal
import subprocess
import time

TRACEFS = pathlib.Path("/sys/kernel/tracing")


def describe():
    """A short description of this host."""
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    virtual = " (virtual)" if "hypervisor" in open("/proc/cpuinfo").read() else ""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{os.cpu_count()} CPUs{virtual}, {cpu}, {gigabytes:.0f} GiB, "
            f"Linux {platform.release().split('-')[0]}, {datetime.date.today()}")


def raise_on_signals():
    def end(number, _frame):
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def available(program):
    """Whether a program is installed."""
    paths = os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]
    return any(os.access(os.path.join(p, program), os.X_OK) for p in paths)


def cpu_time(pid):
    """CPU time of a process in ns, including exited threads; 0 if it has exited."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # clock_getcpuclockid()
    except OSError:
        return 0


def tree(pid):
    """A process and its descendants."""
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{p}/task"):
                found += map(int, open(f"/proc/{p}/task/{task}/children").read().split())
    return found


def memory(pid):
    """Fields of /proc/PID/status about resident memory, in KiB."""
    fields = ("VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem")
    sums = dict.fromkeys(fields, 0)
    for p in tree(pid):
        with contextlib.suppress(OSError):
            for line in open(f"/proc/{p}/status"):
                name, _, rest = line.partition(":")
                if name in sums:
                    sums[name] += int(rest.split()[0])
    return sums


def stop(process, number=signal.SIGINT, patience=60):
    """Stop a process that we started, first with SIGINT or SIGTERM. Returns its output."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


@contextlib.contextmanager
def bpf_stats():
    """Let the kernel count runs and run time of BPF programs until the descriptor is closed."""
    attr = ctypes.c_uint32(0)  # BPF_STATS_RUN_TIME
    bpf, enable_stats = 321, 32
    fd = ctypes.CDLL(None, use_errno=True).syscall(bpf, enable_stats, ctypes.byref(attr), 4)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "cannot enable the statistics of BPF programs")
    try:
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def tracefs():
    """Mount tracefs if needed, and restore its settings in the end."""
    ours = not (TRACEFS / "events").exists()
    if ours:
        subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], check=True)
    names = ("current_tracer", "tracing_on", "set_event_pid")
    before = {name: (TRACEFS / name).read_text() for name in names}
    events = (TRACEFS / "set_event").read_text()
    try:
        yield
    finally:
        reset_tracefs(before, events)
        if ours:
            subprocess.run(["umount", TRACEFS], stderr=subprocess.DEVNULL)


def reset_tracefs(settings, events):
    (TRACEFS / "events/enable").write_text("0")
    for name, text in settings.items():
        (TRACEFS / name).write_text(text)
    fd = os.open(TRACEFS / "set_event", os.O_WRONLY | os.O_APPEND)
    for event in events.split():
        os.write(fd, event.encode())
    os.close(fd)
