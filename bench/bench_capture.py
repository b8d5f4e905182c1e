# SPDX-License-Identifier: Apache-2.0
"""Writing and reading captures and streams, by size, next to plain writing and reading."""
import collections

import sizes
import stats

Turn = collections.namedtuple("Turn", "records bytes write read plain_write plain_read stream_write stream_read")


def run(build, quick):
    results = sizes.measure("capture", build / "bench/bench-capture", Turn, quick)
    print("CPU time per record, ns: median (quartiles).", "" if sizes.IN_MEMORY else "(on a disk)")
    print("Plain: write(2) of the same number of bytes, and the sum of the words of a mapping.")
    print("Stream: the same records through a socket, the writing and the reading thread.\n")
    rows = []
    for size, turns in results.items():
        columns = [[getattr(t, name) for t in turns] for name in Turn._fields[2:]]
        write, read = stats.median(columns[0]), stats.median(columns[1])
        mib = turns[0].bytes / size * 1e9 / 2**20
        rows.append([f"{size / 1e6:g} million", f"{turns[0].bytes / size:.0f}",
                     *map(stats.show, columns), f"{1000 / write:.1f}, {mib / write:.0f}",
                     f"{1000 / read:.1f}, {mib / read:.0f}"])
    stats.table(["records", "bytes", "write", "read", "plain write", "plain read", "stream write", "stream read",
                 "written M/s, MiB/s", "read M/s, MiB/s"], rows)
