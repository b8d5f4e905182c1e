# SPDX-License-Identifier: Apache-2.0
"""SQL over a model: count, sum and select all columns of each table, and the queries of the manual page."""
import collections
import subprocess

import stats


def run(build, quick):
    program = build / "bench/bench-query"
    if not program.exists():
        print("skipped: built without sonde query\n")
        return
    sizes, rounds = ([10000], 1) if quick else ([100000, 400000], 5)
    times = collections.defaultdict(list)  # by kind, name and size
    rows = {}
    for _ in range(rounds):
        for size in sizes:
            done = subprocess.run([program, str(size)], capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                sort, name, count, ns = line.split()
                times[sort, name, size].append(float(ns))
                rows[name, size] = int(count)
    print("On one core: ns per row, median (quartiles).\n")
    tables = [name for sort, name, size in times if sort == "count" and size == sizes[0]]
    stats.table(["table", "rows", "count(*)", "sum of a column", "all columns"],
                [[name, f"{rows[name, size]:,}"] +
                 [stats.show(times[sort, name, size]) for sort in ("count", "sum", "all")]
                 for name in tables for size in sizes])
    queries = [name for sort, name, size in times if sort == "query" and size == sizes[0]]
    stats.table(["query", "rows of its table", "ns per row"],
                [[name, f"{rows[name, size]:,}", stats.show(times["query", name, size])]
                 for name in queries for size in sizes])
