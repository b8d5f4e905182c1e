# SPDX-License-Identifier: Apache-2.0
"""Reading files of spans, by format and size, beside protobuf-c."""
import collections
import pathlib
import subprocess
import tempfile

import sizes
import stats

FORMATS = ("otlp", "otlp-json", "zipkin", "jaeger")
Turn = collections.namedtuple("Turn", "bytes spans ns")


def make(build, directory, count):
    paths = []
    for form in FORMATS:
        paths.append(directory / f"{count}.{form}")
        with open(paths[-1], "wb") as out:
            subprocess.check_call([build / "bench/bench-make-spans", form, str(count)], stdout=out)
    return paths


def measure(build, paths):
    """{format: turn} of one round; protobuf-c is one if it was there when bench/ was built."""
    turns = {}
    for line in subprocess.check_output([build / "bench/bench-spans", *paths], text=True).splitlines():
        form, size, spans, ns, _ = line.split()
        turns[form] = Turn(int(size), int(spans), float(ns))
    return turns


def run(build, quick):
    counts = [n * (10000 if quick else 100000) for n in (1, 2, 4, 8)]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=sizes.MEMORY if sizes.IN_MEMORY else None) as name:
        files = {count: make(build, pathlib.Path(name), count) for count in counts}
        results = stats.rounds("spans", 3 if quick else 11, counts, lambda count: measure(build, files[count]))
    print("ns of CPU time for each span, by how many there are: median (quartiles)")
    print("protobuf-c: only unpacks the requests; the others make records of them, in order.\n")
    rows = []
    for form in results[counts[0]][0]:
        turns = {count: [r[form] for r in results[count]] for count in counts}
        most = turns[counts[-1]]
        ns = stats.median([t.ns for t in most])
        rows.append([form, f"{most[0].bytes / most[0].spans:.0f}",
                     *(stats.show([t.ns for t in turns[count]], "{:.0f}") for count in counts),
                     f"{1000 / ns:.2f}, {most[0].bytes / most[0].spans / ns * 1e9 / 2**20:.0f}"])
    stats.table(["format", "bytes", *(f"{count:,}" for count in counts), "M/s, MiB/s"], rows)
