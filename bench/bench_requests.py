# SPDX-License-Identifier: Apache-2.0
"""Rebuilding requests from a log as MiSeRTrace takes it, by size, beside its authors' program.

A gateway asks a service, which creates a thread for each request, which asks a
store: 32 lines for each request, which come again with other times, threads and
ports.  What is counted is the CPU time of the whole process, of ours from the
log to the summary, of theirs from the log to the trees.  Theirs runs if
MISERTRACE says where a checkout of it is; since its time grows with the square,
only on short logs.
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
LINES = 32  # of one request
PERIOD = 32000  # ns between two of them
GATEWAY = "172.18.0.1"
TQDM = "def tqdm(items, **_):\n    return items\n"  # that theirs shows progress costs nothing here


def make(path, lines):
    """The first request of the sample, again and again; its child, and the ports of who asks, are others each time."""
    rows = [line.split("|", 3) for line in SAMPLE.read_text().splitlines()[:LINES]]
    # the time is not to be taken for a port
    places = [(int(time.strip('"')), f"{name}|{tid.replace('1000', '{child}')}|\"",
               f"\"|{rest}\n".replace("51000", "{asker}").replace("40000", "{client}").replace("=1000", "={child}"))
              for name, tid, time, rest in rows]
    with open(path, "w", encoding="ascii") as out:
        for k in range(lines // LINES):
            names = {"child": 1000 + k, "asker": 20000 + k % 20000, "client": 40000 + k % 20000}
            out.writelines(f"{head.format(**names)}{time + k * PERIOD}{tail.format(**names)}"
                           for time, head, tail in places)
    path.with_name(path.name + ".meta").write_text(SAMPLE.with_name(SAMPLE.name + ".meta").read_text())


def measure(build, command, **how):
    """CPU seconds and KiB of a process, and what it printed."""
    done = subprocess.run([build / "bench/bench-cost", *command], capture_output=True, text=True, check=False, **how)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    ns, kib = map(int, done.stderr.strip().splitlines()[-1].split())
    return ns / 1e9, kib, done.stdout


def ours(build, path):
    seconds, kib, said = measure(build, [build / "sonde", "requests", path])
    return seconds, kib, int(re.search(r"^ *([\d,]+)", said.splitlines()[1])[1].replace(",", ""))


def theirs(build, path, checkout):
    """Its two passes: to the spans, and to the trees."""
    room = path.parent
    (room / "tqdm.py").write_text(TQDM)
    env = os.environ | {"PYTHONPATH": str(room)}
    spans = measure(build, [sys.executable, checkout / "src/generator.py", "-i", path, "-m", f"{path}.meta",
                            "-g", GATEWAY, "-o", room / "dump.pickle"], env=env)
    trees = measure(build, [sys.executable, checkout / "src/rendermain.py", "-i", room / "dump.pickle", "-t", "dag", "-r",
                            "-o", room / "trees.json"], env=env)
    count = int(re.search(r"number of requests: +(\d+)", spans[2])[1])
    return spans[0] + trees[0], max(spans[1], trees[1]), count


def row(name, lines, turns):
    seconds = stats.median([t[0] for t in turns])
    return [name, f"{lines:,}", f"{turns[0][2]:,}", stats.show([t[0] for t in turns], "{:.3g}"),
            f"{lines / seconds:,.0f}", f"{turns[0][1] / 1024:.0f}"]


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
    print("CPU seconds from a log to its requests, by lines: median (quartiles)\n")
    stats.table(["", "lines", "requests", "s", "lines/s", "MiB"],
                [row(*way, results[way]) for way in ways])
    for count in compared:
        faster = [t[0] / o[0] for t, o in zip(results["MiSeRTrace", count], results["sonde", count])]
        print(f"- of {count:,} lines, MiSeRTrace takes {stats.show_sure(faster, '{:.0f}')} times as long")
