# SPDX-License-Identifier: Apache-2.0
"""Known numbers of events: none is lost at 400,000 records/s, and above that
every one is counted, as written or as lost."""
import contextlib
import json
import pathlib
import subprocess
import tempfile
import threading
import time

import stats


MEMORY = ("VmHWM", "RssAnon", "RssFile", "RssShmem")


def record(build, options, storm):
    """Record a run of bench-storm. Returns its output, that of sonde info, and memory in KiB."""
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as directory:
        path = pathlib.Path(directory) / "capture.sonde"
        command = [build / "sonde", "record", "-o", path, *options, "--",
                   build / "bench/bench-storm", *storm]
        process = subprocess.Popen(list(map(str, command)), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        peak = {}
        watcher = threading.Thread(target=watch, args=(process, peak))
        watcher.start()
        out, words = process.communicate()
        watcher.join()
        if process.returncode:
            raise RuntimeError(f"sonde record exits with {process.returncode}: {words.strip()}")
        info = subprocess.check_output([build / "sonde", "info", "--json", path], text=True)
    return json.loads(out), json.loads(info), peak


def watch(process, peak):
    """The peak memory of the recorder."""
    while process.poll() is None:
        with contextlib.suppress(OSError):
            for line in open(f"/proc/{process.pid}/status"):
                name, _, rest = line.partition(":")
                if name in MEMORY:
                    peak[name] = max(peak.get(name, 0), int(rest.split()[0]))
        time.sleep(0.1)


def row(words, made, info, peak):
    """A row; known: the number of events, each of which is one record."""
    records, seconds = info["events"], info["duration"] / 1e9
    found = sum(info["records"].get(kind, 0) for kind in made)
    known = sum(made.values())
    return [words, f"{records / seconds / 1e3:.0f}k/s", f"{known:,}", f"{found:,}",
            f"{info['lost']:,}", f"{found + info['lost'] - known:+,}",
            *(f"{peak.get(name, 0) / 1024:.1f}" for name in MEMORY)]


def switches(storm):
    return {"run": storm["switches"], "wait": storm["switches"]}


def calls(storm):
    return {"syscall": storm["calls"]} | switches(storm)


def run(build, quick):
    seconds = "2" if quick else "10"
    rows = []
    storm, info, peak = record(build, ["--no-other-tasks"], ["switches", seconds, "200000"])
    rows.append(row("switches, 400,000 records/s", switches(storm), info, peak))
    storm, info, peak = record(build, ["--no-other-tasks", "--syscalls=getppid"],
                               ["calls", seconds, "400000"])
    rows.append(row("calls, 400,000 records/s", calls(storm), info, peak))
    storm, info, peak = record(build, ["--no-other-tasks"], ["switches", seconds, "0"])
    rows.append(row("switches, as fast as can be", switches(storm), info, peak))
    for size in ("2M", "64K"):
        options = ["--no-other-tasks", "--syscalls=getppid", f"--buffer={size}"]
        storm, info, peak = record(build, options, ["calls", seconds, "0"])
        rows.append(row(f"calls, as fast as can be, --buffer={size}", calls(storm), info, peak))
    print("Made: events that the workload or the kernel counted; each is one record.")
    print("Difference: written + lost − made; the start and exit of threads are not counted as made.")
    print("MiB: the peak resident size of the recorder, and that of its parts.\n")
    stats.table(["storm", "records", "made", "written", "lost", "difference",
                 "MiB", "anon", "file", "shared"], rows)
