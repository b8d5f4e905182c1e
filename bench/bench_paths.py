# SPDX-License-Identifier: Apache-2.0
"""Time from a capture to the critical paths of all its requests, by size."""
import collections

import sizes
import stats

Run = collections.namedtuple("Run", "records requests load paths memory steps")


def run(build, quick):
    results = sizes.measure("paths", build / "bench/bench-paths", Run, quick)
    print("On one core: ns per record, median (quartiles); bytes of the model per record.\n")
    rows = []
    for size, runs in results.items():
        load, paths = [t.load for t in runs], [t.paths for t in runs]
        both = stats.median([t.load + t.paths for t in runs])
        rows.append([f"{size / 1e6:g} million", f"{runs[0].requests:,.0f}", stats.show(load),
                     stats.show(paths), f"{1000 / both:.1f}", f"{runs[0].memory:.0f}"])
    stats.table(["records", "requests", "file to model", "paths of all requests", "records M/s", "bytes"],
                rows)
