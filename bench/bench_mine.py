# SPDX-License-Identifier: Apache-2.0
"""Closed patterns of sequences with a minimum support of 95 % and the gap [0,2]; next to seq2pat."""
import collections
import json
import pathlib
import subprocess
import sys

import stats

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS / "sdk"))
import pypi  # noqa: E402

SEQ2PAT = ["seq2pat==2.0.0"]
LENGTH, SHARE, GAP = 60, 0.95, (0, 2)
KINDS = {"random": "random", "20": "20 %", "5": "5 %", "2": "2 %", "1": "1 %", "0.5": "0.5 %"}
Run = collections.namedtuple("Run", "patterns longest complete cpu elapsed kib")


def mine(program, kind, count, closed, threads=1):
    done = subprocess.run([program, kind, str(count), str(LENGTH), str(SHARE), *map(str, GAP), closed, str(threads)],
                          capture_output=True, text=True, check=True)
    return Run(*map(int, done.stdout.split()))


def run_ours(program, quick):
    count, rounds = (1000, 1) if quick else (100_000, 5)
    variants = [(kind, closed, threads) for kind in KINDS for closed, threads in (("ends", 1), ("all", 1), ("ends", 2))]
    results = stats.rounds("mine", rounds, variants, lambda v: mine(program, v[0], count, v[1], v[2]))
    print(f"{count:,} sequences of {LENGTH} letters out of eight. *random*: independent walks. Otherwise, a common walk of "
          "which that share of the letters is deleted, replaced, and has another one inserted before. Seconds of CPU time "
          "on one core, and elapsed with two threads: median (quartiles). MiB: peak resident size, with the "
          "sequences.\n")
    rows = []
    for kind, name in KINDS.items():
        ends, both, parallel = (results[kind, closed, threads] for closed, threads in (("ends", 1), ("all", 1), ("ends", 2)))
        rows.append([name, f"{ends[0].patterns:,}", f"{both[0].patterns:,}", ends[0].longest,
                     *(stats.show([t / 1e9 for t in times], "{:.2f}") for times in
                       ([r.cpu for r in ends], [r.cpu for r in both], [r.elapsed for r in parallel])),
                     f"{max(r.kib for r in ends) / 1024:.0f}"])
    stats.table(["noise", "closed at ends", "closed", "longest", "ends, s", "closed, s", "ends, 2 threads, s", "MiB"], rows)


def seq2pat(python, program, kind, count):
    """CPU seconds and number of frequent patterns."""
    sequences = subprocess.run([program, kind, str(count), str(LENGTH)], capture_output=True, text=True,
                               check=True).stdout.split()
    line = json.dumps([sequences, -int(-SHARE * count // 1), *GAP]) + "\n"
    done = subprocess.run([python, TESTS / "oracle/mine_seq2pat.py"], input=line, capture_output=True, text=True, check=True)
    seconds, found = json.loads(done.stdout)
    return seconds, len(found)


def run_peer(build, program, quick):
    try:
        python = pypi.install(build / "bench/seq2pat", SEQ2PAT)
    except pypi.Skip as skip:
        print(f"seq2pat: skipped: {skip}\n")
        return
    sizes, rounds = ([300], 1) if quick else ([300, 1000, 3000], 5)
    print("Next to seq2pat 2.0.0, which finds all frequent patterns of at least two letters, closed or not; noise of 2 %. "
          "Seconds of CPU time: median (quartiles). Ratio: median [95 % interval] of the ratios within a round.\n")
    rows = []
    for count in sizes:
        results = stats.rounds("seq2pat", rounds, ["ours", "theirs"], lambda v: mine(program, "2", count, "ends")
                               if v == "ours" else seq2pat(python, program, "2", count))
        ours, theirs = [r.cpu / 1e9 for r in results["ours"]], [seconds for seconds, _ in results["theirs"]]
        rows.append([f"{count:,}", f"{results['ours'][0].patterns:,}", f"{results['theirs'][0][1]:,}",
                     stats.show(ours, "{:.4f}"), stats.show(theirs, "{:.2f}"),
                     stats.show_sure(stats.ratios(theirs, ours), "{:.0f}")])
    stats.table(["sequences", "closed patterns", "frequent patterns", "sonde, s", "seq2pat, s", "ratio"], rows)


def run(build, quick):
    program = build / "bench/bench-mine"
    run_ours(program, quick)
    run_peer(build, program, quick)
