# SPDX-License-Identifier: Apache-2.0
"""Faults from outside of a service: control groups and busy programs.  Each is a context manager."""
import contextlib
import os
import pathlib
import subprocess
import time

import services

PERIOD = 100_000  # us, the default of CPU quotas
LONGEST = 1_000_000  # us, the longest period of the kernel
SMALLEST = 1000  # us, the smallest quota of the kernel
QUOTA = 4000  # us, at least if the longest period allows it
LIFE = 600  # seconds after which a busy program ends by itself
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_time(pids):
    """Seconds of CPU time that processes have used."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def make_group(controller, settings):
    top = next(services.cgroup_tops(controller), None)
    if top is None:
        raise services.Skip(f"there is no controller '{controller}' of control groups")
    group = top / f"sonde-lab-{controller}-{os.getpid()}"
    group.mkdir(exist_ok=True)
    for name, value in settings.items():
        for file, text in services.cgroup_files(group, name, value):
            (group / file).write_text(text)
    return group


def group_of(top, pid):
    """The group of a process in the hierarchy `top`."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if top.name in controllers.split(",") or not controllers and top == services.CGROUPS:
            return top / path.lstrip("/")
    return top


def move(pids, group):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def limited(controller, pids, **settings):
    """Move processes to a control group with these settings of version 2, and back."""
    group = make_group(controller, settings)
    homes = {pid: group_of(group.parent, pid) for pid in pids}
    try:
        move(pids, group)
        yield
    finally:
        for pid, home in homes.items():
            move([pid], home)
        services.remove_cgroup(group)


def cpu_quota(pids, share):
    """Limit processes to a share of one CPU; for a small one, the period is longer, so that requests fit in the quota."""
    share = max(share, SMALLEST / LONGEST)
    period = min(max(int(QUOTA / share), PERIOD), LONGEST)
    return limited("cpu", pids, cpu_max=f"{int(share * period)} {period}")


def write_rate(pids, path, rate):
    """Limit the bytes/s that processes write to the disk of a path."""
    return limited("io", pids, io_max=f"{services.disk_of(path)} wbps={int(rate)}")


@contextlib.contextmanager
def hogs(program, cpu, count):
    """Run busy programs on a CPU."""
    command, env = ["taskset", "-c", str(cpu), program], os.environ | {"DEMO_LIFE": str(LIFE)}
    running = [subprocess.Popen(command, env=env, process_group=0) for _ in range(count)]
    try:
        time.sleep(0.1)
        yield
    finally:
        for process in running:
            services.end(process)
