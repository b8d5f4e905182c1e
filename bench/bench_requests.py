# SPDX-License-Identifier: Apache-2.0
"""CPU time to rebuild requests from a MiSeRTrace log, by size, compared with MiSeRTrace itself.

In the log, a gateway calls a service, which creates a thread for each request, which
calls a store: 32 lines for each request, repeated with other times, threads and ports.
Measures the CPU time of the whole process: sonde from the log to the summary, MiSeRTrace
from the log to the trees.  MiSeRTrace runs if the environment variable MISERTRACE names
its checkout, and only on short logs, as its time grows with the square.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import sizes
import stats

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "tests/data/requests/fork.psv"
LINES = 32  # for each request
PERIOD = 32000  # ns between two requests
GATEWAY = "172.18.0.1"
TQDM = "def tqdm(items, **_):\n    return items\n"  # so that MiSeRTrace's progress bar costs nothing


def make(path, lines):
    """Repeat the first request of the sample, with another child thread and other client ports each time."""
    rows = [line.split("|", 3) for line in SAMPLE.read_text().splitlines()[:LINES]]
    # split off the time, which could look like a port
    templates = [(int(time.strip('"')), f"{name}|{tid.replace('1000', '{child}')}|\"",
               f"\"|{rest}\n".replace("51000", "{caller}").replace("40000", "{client}").replace("=1000", "={child}"))
              for name, tid, time, rest in rows]
    with open(path, "w", encoding="ascii") as out:
        for k in range(lines // LINES):
            names = {"child": 1000 + k, "caller": 20000 + k % 20000, "client": 40000 + k % 20000}
            out.writelines(f"{head.format(**names)}{time + k * PERIOD}{tail.format(**names)}"
                           for time, head, tail in templates)
    path.with_name(path.name + ".meta").write_text(SAMPLE.with_name(SAMPLE.name + ".meta").read_text())


def measure(build, command, **how):
    """CPU seconds and memory (KiB) of a process, and its output."""
    done = subprocess.run([build / "bench/bench-cost", *command], capture_output=True, text=True, check=False, **how)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    ns, kib = map(int, done.stderr.strip().splitlines()[-1].split())
    return ns / 1e9, kib, done.stdout


def ours(build, path):
    seconds, kib, output = measure(build, [build / "sonde", "requests", path])
    return seconds, kib, int(re.search(r"^ *([\d,]+)", output.splitlines()[1])[1].replace(",", ""))


def theirs(build, path, checkout):
    """The sum of both passes: from the log to spans, and to trees."""
    directory = path.parent
    (directory / "tqdm.py").write_text(TQDM)
    env = os.environ | {"PYTHONPATH": str(directory)}
    spans = measure(build, [sys.executable, checkout / "src/generator.py", "-i", path, "-m", f"{path}.meta",
                            "-g", GATEWAY, "-o", directory / "dump.pickle"], env=env)
    trees = measure(build, [sys.executable, checkout / "src/rendermain.py", "-i", directory / "dump.pickle", "-t", "dag", "-r",
                            "-o", directory / "trees.json"], env=env)
    count = int(re.search(r"number of requests: +(\d+)", spans[2])[1])
    return spans[0] + trees[0], max(spans[1], trees[1]), count


def row(name, lines, runs):
    seconds = stats.median([t[0] for t in runs])
    return [name, f"{lines:,}", f"{runs[0][2]:,}", stats.show([t[0] for t in runs], "{:.3g}"),
            f"{lines / seconds:,.0f}", f"{runs[0][1] / 1024:.0f}"]


def run(build, quick):
    counts = (10000, 40000, 160000) if quick else (40000, 160000, 640000, 2500000, 10000000)
    checkout = os.environ.get("MISERTRACE")
    compared = counts[:2] if checkout else ()
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=sizes.MEMORY if sizes.IN_MEMORY else None) as name:
        paths = {count: pathlib.Path(name) / f"{count}.psv" for count in counts}
        for count, path in paths.items():
            make(path, count)
        ways = [("sonde", count) for count in counts] + [("MiSeRTrace", count) for count in compared]
        results = stats.rounds("requests", 3 if quick else 7, ways, lambda way: ours(build, paths[way[1]])
                               if way[0] == "sonde" else theirs(build, paths[way[1]], pathlib.Path(checkout)))
    print("CPU seconds from a log to its requests, by number of lines: median (quartiles)\n")
    stats.table(["", "lines", "requests", "s", "lines/s", "MiB"],
                [row(*way, results[way]) for way in ways])
    for count in compared:
        faster = [t[0] / o[0] for t, o in zip(results["MiSeRTrace", count], results["sonde", count])]
        print(f"- for {count:,} lines, MiSeRTrace takes {stats.show_sure(faster, '{:.0f}')} times as long")
