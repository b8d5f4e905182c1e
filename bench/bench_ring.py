# SPDX-License-Identifier: Apache-2.0
"""The transports of ring.c, compared."""
import collections
import subprocess

import stats

NAMES = {
    "to_shared": "BPF ring buffer, shared",
    "to_per_cpu": "BPF ring buffer for each CPU",
    "to_marked": "mapped rings, records marked",
    "to_counted": "mapped rings, bytes counted",
}
Turn = collections.namedtuple("Turn", "call reader rate made read lost")


def measure(build, test, rounds):
    """{(producers, transport, bytes): [Turn of each round]}"""
    turns = collections.defaultdict(list)
    progress = stats.Progress(f"ring {test}", rounds * 18)
    command = [build / "bench/bench-ring", test, str(rounds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            _, producers, name, size, *numbers = line.split()
            turns[int(producers), name, int(size)].append(Turn(*map(float, numbers)))
            progress.step()
    progress.end()
    if process.returncode:
        raise RuntimeError(f"bench-ring exits with {process.returncode}")
    return turns


def added(turns, key):
    """ns per call, minus that with a program that only filters."""
    filtered = [t.call for t in turns[key[0], "only_filter", 0]]
    return stats.differences([t.call for t in turns[key]], filtered)


def row(cost, paced, storm, key):
    producers, name, size = key
    lost = sum(t.lost for t in storm[key]) / sum(t.made for t in storm[key])
    every = [t for turns in (cost, paced, storm) for t in turns[key]]
    exact = all(t.made == t.read + t.lost for t in every)
    return [NAMES[name], size, producers, stats.show_sure(added(cost, key)),
            stats.show([t.reader for t in paced[key]]),
            f"{stats.median([t.rate for t in storm[key]]) / 1e6:.1f}", f"{100 * lost:.1f} %",
            "exact" if exact else "WRONG"]


def run(build, quick):
    if not (build / "bench/bench-ring").exists():
        print("left out: built without the recorder\n")
        return
    cost = measure(build, "cost", 3 if quick else 25)
    paced = measure(build, "paced", 2 if quick else 9)
    storm = measure(build, "storm", 2 if quick else 9)
    keys = sorted((k for k in cost if k[1] in NAMES),
                  key=lambda k: (k[0], k[2], list(NAMES).index(k[1])))
    print("Added ns of the writer: median [95 % interval]; CPU ns of the reader per record at")
    print("400,000/s: median (quartiles); million records/s written at full speed, and the share lost,")
    print("with 16 MiB of rings read every 5 ms; whether written = read + lost in all turns.\n")
    stats.table(["transport", "bytes", "writers", "added ns", "reader ns", "M/s", "lost", "count"],
                [row(cost, paced, storm, k) for k in keys])
