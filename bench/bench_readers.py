# SPDX-License-Identifier: Apache-2.0
"""Readers of other tracers' formats, by format and size, compared with other tools.

Extends a short sample of each format by repeating it with shifted times, then runs the
readers alternately.  Measures the CPU time of the whole process, including its start,
because CPU time suffers less from other load than elapsed time.
"""
import collections
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import machine
import sizes
import stats

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "tests/data"
SHARED = HERE.parent.parent / "shared/data"  # longer samples, if present
GROWTH = (1, 4, 16)
COMPARED = 1  # index in GROWTH of the size for comparisons with other readers

# count: events at the first size.  make(build, count, room): creates a file with about that many.
# target: required rate, million/s.  peers: other readers, name -> command without the file.
Format = collections.namedtuple("Format", "name count target make ways peers")
# The cost of a process; counts: output of bench-read-all (events, anonymous KiB, ns since main()).
Cost = collections.namedtuple("Cost", "ns kib counts")


def call(*command):
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read(build, how):
    return [build / "bench/bench-read-all", how]


def measure(build, command):
    done = subprocess.run([build / "bench/bench-cost", *command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    ns, kib = map(int, done.stderr.split())
    ours = command[0] == read(build, "")[0]
    return Cost(ns, kib, list(map(int, done.stdout.split())) if ours else None)


def count_events(build, path):
    return measure(build, [*read(build, "records"), path]).counts[0]


def times(build, sample, count):
    """How many copies of a sample contain that many events."""
    return math.ceil(count / count_events(build, sample))


def make_ctf(build, count, room):
    sample = room / "lttng-kernel/kernel"
    if not sample.exists():
        call("tar", "-xf", DATA / "ctf/lttng-kernel.tar.zst", "-C", room)
    call(sys.executable, HERE / "make_ctf.py", sample, times(build, sample, count), room / str(count))


def make_tracedat(build, count, room):
    sample = room / "sample.dat"
    if not sample.exists():
        longer, short = SHARED / "ftrace/trace.dat", DATA / "good/trace-cmd-v6.dat"
        call("trace-cmd", "convert", "--file-version", 6, "--compression", "none",
             "-i", longer if longer.exists() else short, "-o", sample)
    call(sys.executable, HERE / "make_tracedat.py", sample, room / str(count), times(build, sample, count))


def make_perf(build, count, room):
    sample = DATA / "good/perf-calls.data"
    call(build / "bench/bench-make-perf", sample, room / str(count), times(build, sample, count))


def make_text(form):
    return lambda build, count, room: call(sys.executable, HERE / "make_text.py", form, count, room / str(count))


def make_spans(form):
    def make(build, count, room):
        with open(room / str(count), "wb") as out:
            subprocess.run([build / "bench/bench-make-spans", form, str(count)], check=True, stdout=out)
    return make


def make_capture(build, count, room):
    call(build / "bench/bench-capture", room / str(count), count, "keep")


def formats(build):
    lines = {"wc -l": ["wc", "-l"]}
    yyjson = {"yyjson, parsing only": read(build, "yyjson")}
    both, records = ("raw", "records"), ("records",)
    return (
        Format("CTF", 500_000, 5, make_ctf, both, {
            "babeltrace2 -o dummy": ["babeltrace2", "-o", "dummy"], "babeltrace2": ["babeltrace2"]}),
        Format("trace.dat", 500_000, 5, make_tracedat, both, {
            "libtracecmd, iteration only": read(build, "libtracecmd"),
            "trace-cmd report": ["trace-cmd", "report", "-i"]}),
        Format("perf.data", 500_000, 5, make_perf, both, {"perf script": ["perf", "script", "-i"]}),
        Format("ftrace text", 250_000, 1, make_text("ftrace"), both, lines),
        Format("trace-cmd report text", 250_000, 1, make_text("report"), both, lines),
        Format("bpftrace log", 250_000, 1, make_text("bpftrace"), both, lines),
        Format("OTLP", 50_000, 2, make_spans("otlp"), records, {
            "protobuf-c, unpacking only": read(build, "protobuf-c")}),
        Format("OTLP, bare", 50_000, 2, make_spans("otlp-bare"), records, {
            "protobuf-c, unpacking only": read(build, "protobuf-c")}),
        Format("OTLP JSON", 50_000, None, make_spans("otlp-json"), records, yyjson),
        Format("Zipkin", 50_000, None, make_spans("zipkin"), records, yyjson),
        Format("Jaeger", 50_000, None, make_spans("jaeger"), records, yyjson),
        Format("capture", 500_000, None, make_capture, records, {}),
    )


def can_run(build, command):
    if command[0] == read(build, "")[0]:
        usage = subprocess.run(command[:1], capture_output=True, text=True, check=False).stderr
        return command[1] in usage.split()
    return machine.available(command[0])


class Result:
    """All measurements of one format."""

    def __init__(self, build, form, quick, room):
        self.form = form
        self.counts = [form.count * n // (10 if quick else 1) for n in GROWTH]
        self.files = [room / str(count) for count in self.counts]
        for count in self.counts:
            form.make(build, count, room)
        self.events = [count_events(build, path) for path in self.files]
        self.bytes = [size_of(path) for path in self.files]
        self.peers = {name: command for name, command in form.peers.items() if can_run(build, command)}
        variants = [(way, i) for way in form.ways for i in range(len(GROWTH))]
        variants += [(name, COMPARED) for name in self.peers]
        self.costs = stats.rounds(form.name, 3 if quick else 7, variants, lambda v: self.measure(build, *v))

    def measure(self, build, way, i):
        return measure(build, [*self.peers.get(way, read(build, way)), self.files[i]])

    def ns(self, way, i):
        """ns per event, of all rounds."""
        return [cost.ns / self.events[i] for cost in self.costs[way, i]]

    def rate(self, way, i):
        return f"{1000 / stats.median(self.ns(way, i)):.2f}"

    def compared(self):
        """Table rows, one per reader."""
        ours = self.ns("records", COMPARED)
        for way in (*self.form.ways, *self.peers):
            ns = self.ns(way, COMPARED)
            first = way == self.form.ways[0]
            yield [self.form.name if first else "",
                   f"{self.events[COMPARED]:,}" if first else "",
                   f"{self.bytes[COMPARED] / self.events[COMPARED]:.0f}" if first else "",
                   {"raw": "sonde, decoder", "records": "sonde, records"}.get(way, way),
                   stats.show(ns, "{:.0f}"), self.rate(way, COMPARED),
                   self.form.target or "" if way in self.form.ways else "",
                   "" if way == "records" else stats.show_sure(stats.ratios(ns, ours), "{:.2f}"),
                   f"{max(t.kib for t in self.costs[way, COMPARED]) / 1024:.0f}"]

    def by_size(self):
        indices = range(len(GROWTH))
        for way in self.form.ways:
            costs = [self.costs[way, i] for i in indices]
            ns = [stats.median([t.counts[2] / self.events[i] for t in costs[i]]) for i in indices]
            yield [self.form.name, {"raw": "decoder"}.get(way, way), *(f"{1000 / n:.2f}" for n in ns),
                   ", ".join(f"{size / 2**20:.0f}" for size in self.bytes),
                   ", ".join(f"{max(t.kib for t in costs[i]) / 1024:.0f}" for i in indices),
                   ", ".join(f"{max(t.counts[1] for t in costs[i]) / 1024:.1f}" for i in indices)]


def size_of(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(os.path.getsize(f) for f in files)


def run(build, quick):
    compared, by_size = [], []
    for form in formats(build):
        print(f"readers: {form.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=sizes.MEMORY if sizes.IN_MEMORY else None) as name:
            result = Result(build, form, quick, pathlib.Path(name))
            compared += result.compared()
            by_size += result.by_size()
    print("CPU time per event, line or span: median (quartiles); its ratio to the time that sonde")
    print("needs to produce records: median [95 % interval]; peak resident size, including the")
    print("mapped file.\n")
    stats.table(["format", "events", "bytes", "reader", "ns per event", "M/s", "target", "ratio to records", "MiB"],
                compared)
    print("By size of the input: million/s on one core, without the start of the process; MiB of")
    print("the file, peak memory, and anonymous memory at the end.\n")
    stats.table(["format", "reader", *(f"×{n}: M/s" for n in GROWTH), "file MiB", "peak MiB", "anonymous MiB"], by_size)
