# SPDX-License-Identifier: Apache-2.0
"""From a capture to the critical paths of all its requests, by size."""
import collections

import sizes
import stats

Turn = collections.namedtuple("Turn", "records requests load paths memory steps")


def run(build, quick):
    results = sizes.measure("paths", build / "bench/bench-paths", Turn, quick)
    print("On one core: ns for each record, median (quartiles); bytes of the model for each.\n")
    rows = []
    for size, turns in results.items():
        load, paths = [t.load for t in turns], [t.paths for t in turns]
        both = stats.median([t.load + t.paths for t in turns])
        rows.append([f"{size / 1e6:g} million", f"{turns[0].requests:,.0f}", stats.show(load),
                     stats.show(paths), f"{1000 / both:.1f}", f"{turns[0].memory:.0f}"])
    stats.table(["records", "requests", "file to model", "paths of all requests", "records M/s", "bytes"],
                rows)
