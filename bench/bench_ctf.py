# SPDX-License-Identifier: Apache-2.0
"""Reading an LTTng kernel trace, by its length, beside babeltrace2."""
import os
import pathlib
import subprocess
import sys
import tempfile

import machine
import sizes
import stats

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests/data/ctf/lttng-kernel.tar.zst"
EVENTS = 124003  # in the sample


def readers(build):
    found = {"decoder alone": [build / "tests/oracle/ctf_text", "-n"], "sonde info": [build / "sonde", "info"]}
    if machine.available("babeltrace2"):
        found["babeltrace2"] = ["babeltrace2", "-o", "dummy"]
    return found


def cpu_time(command):
    """Seconds of CPU that a command takes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"bench/run: '{command[0]}' failed")
    return usage.ru_utime + usage.ru_stime


def make(directory, copies):
    target = directory / str(copies)
    subprocess.check_call([sys.executable, ROOT / "bench/make_ctf.py", directory / "lttng-kernel/kernel",
                           str(copies), target])
    return target


def run(build, quick):
    counts = (1, 2, 4, 8) if quick else (4, 8, 16, 32)
    commands = readers(build)
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=sizes.MEMORY if sizes.IN_MEMORY else None) as name:
        directory = pathlib.Path(name)
        subprocess.check_call(["tar", "--zstd", "-xf", SAMPLE, "-C", directory])
        traces = {count: make(directory, count) for count in counts}
        results = stats.rounds("ctf", 3 if quick else 11, [(r, c) for r in commands for c in counts],
                               lambda v: cpu_time([*commands[v[0]], traces[v[1]]]))
    print("ns of CPU time for each event, by how many there are: median (quartiles)\n")
    rows = []
    for reader in commands:
        ns = {c: [s * 1e9 / (c * EVENTS) for s in results[reader, c]] for c in counts}
        most = counts[-1]
        times = "" if "babeltrace2" not in commands else stats.show_sure(
            stats.ratios(results["babeltrace2", most], results[reader, most]))
        rows.append([reader, *(stats.show(ns[c], "{:.0f}") for c in counts),
                     f"{1000 / stats.median(ns[most]):.2f}", times])
    stats.table(["reader", *(f"{c * EVENTS:,}" for c in counts), "M/s", "times babeltrace2 [95 %]"], rows)
