# SPDX-License-Identifier: Apache-2.0
"""Writing and reading captures, by size, beside plain writing and reading."""
import collections
import os
import pathlib
import subprocess
import tempfile

import stats

Turn = collections.namedtuple("Turn", "records bytes write read plain_write plain_read")
MEMORY = "/dev/shm"


def run(build, quick):
    sizes = [n * (100000 if quick else 1000000) for n in (1, 2, 4, 8)]
    place = MEMORY if os.path.isdir(MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=place) as directory:
        def measure(size):
            path = pathlib.Path(directory) / "capture.sonde"
            words = subprocess.check_output([build / "bench/bench-capture", path, str(size)])
            return Turn(*map(float, words.split()))

        results = stats.rounds("capture", 3 if quick else 11, sizes, measure)
    print("ns for each record: median (quartiles)", "" if place else "(on a disk)")
    print("Plain: write(2) of as many bytes, and adding them up in a mapping.\n")
    rows = []
    for size, turns in results.items():
        columns = [[getattr(t, name) for t in turns] for name in Turn._fields[2:]]
        write, read = stats.median(columns[0]), stats.median(columns[1])
        mib = turns[0].bytes / size * 1e9 / 2**20
        rows.append([f"{size / 1e6:g} million", f"{turns[0].bytes / size:.0f}",
                     *map(stats.show, columns), f"{1000 / write:.1f}, {mib / write:.0f}",
                     f"{1000 / read:.1f}, {mib / read:.0f}"])
    stats.table(["records", "bytes", "write", "read", "plain write", "plain read",
                 "written M/s, MiB/s", "read M/s, MiB/s"], rows)
