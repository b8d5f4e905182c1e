# SPDX-License-Identifier: Apache-2.0
"""From a capture to the critical paths of all its requests, by size."""
import collections
import os
import pathlib
import subprocess
import tempfile

import stats

Turn = collections.namedtuple("Turn", "records requests load paths memory steps")
MEMORY = "/dev/shm"


def run(build, quick):
    sizes = [n * (100000 if quick else 1000000) for n in (1, 2, 4, 8)]
    place = MEMORY if os.path.isdir(MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=place) as directory:
        def measure(size):
            path = pathlib.Path(directory) / "capture.sonde"
            words = subprocess.check_output([build / "bench/bench-paths", path, str(size)])
            return Turn(*map(float, words.split()))

        results = stats.rounds("paths", 3 if quick else 11, sizes, measure)
    print("On one core: ns for each record, median (quartiles); bytes of the model for each.\n")
    rows = []
    for size, turns in results.items():
        load, paths = [t.load for t in turns], [t.paths for t in turns]
        both = stats.median([t.load + t.paths for t in turns])
        rows.append([f"{size / 1e6:g} million", f"{turns[0].requests:,.0f}", stats.show(load),
                     stats.show(paths), f"{1000 / both:.1f}", f"{turns[0].memory:.0f}"])
    stats.table(["records", "requests", "file to model", "paths of all requests", "records M/s", "bytes"],
                rows)
