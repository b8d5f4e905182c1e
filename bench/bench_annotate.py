# SPDX-License-Identifier: Apache-2.0
"""A gRPC service under `sonde annotate`: the two experiments of the paper on annotating traces (ICPE 2023).

The service converts amounts of money, and a client sends it a fixed number of requests.  Three kinds of
the service run at once and get requests alternately: without SDK; with it; and with it under `sonde run`.
The last one exports to the port on which `sonde annotate` listens in its turns, and otherwise a collector
that discards spans.  All are restarted several times, because a process can be slower than another one by
chance.
"""
import collections
import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

import bench_servers
import loads
import machine
import recorders
import stats

THREADS = 4  # of the client
WARM_UP = 500  # requests
PAUSE = 0.3  # seconds until sonde has forwarded the last spans, which it holds for 40 ms
PATIENCE = 5  # seconds until it has annotated the last of them
CALLS = (0, 5, 10, 15, 20)  # system calls per request of the second experiment
PARTS = ("relay", "worker", "keeper", "recorder")
COUNTED = "bpf_stats"  # the variant with the run time of BPF programs, which is not compared: counting takes time
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# kind: of the service. recorder: of the turn.
Variant = collections.namedtuple("Variant", "name kind recorder")
# CPU times in µs per request: of the service, and of each part of sonde; programs: {name: (runs, ns) per request}
Load = collections.namedtuple("Load", "seconds median p99 cpu parts programs")
# loads: {(requests, calls): Load}; memory: resident size of sonde in KiB; status: of sonde, at the end
Turn = collections.namedtuple("Turn", "loads memory status")


def replied(status):
    """The number of slow spans that are annotated or given up."""
    return sum(status[key] for key in ("spans_annotated", "spans_annotated_late", "spans_unrecorded", "spans_unasked",
                                       "annotations_lost"))


def annotate(build, port, sink, *options, counts=False):
    def command(_pids, _out):
        return [build / "sonde", "annotate", f"--http={port}", f"--grpc={loads.free_port()}",
                f"--to=http://127.0.0.1:{sink}", *options]

    name = " ".join(["sonde", *options])
    return recorders.Recorder(name, None, command, stats=counts, size=lambda _out: 1)  # it writes no file


def wait_quiet(run):
    """Wait until a recorder has read the processes that exist at its start."""
    end = time.monotonic() + PATIENCE
    while run.process and time.monotonic() < end:
        before = run.cpu_time()
        time.sleep(0.25)
        if run.cpu_time() - before < 0.02e9:
            return


def parts_of(run):
    """{part: pid}: the relay is the parent of the worker and of the keeper, and that of the recorder."""
    if not run.process:
        return {}
    found = {"relay": run.process.pid}
    for child in machine.tree(run.process.pid)[1:]:
        below = machine.tree(child)[1:]
        if below:
            found |= {"keeper": child, "recorder": below[0]}
        elif child not in found.values():
            found["worker"] = child
    return found


class Bench:
    """The services, and collectors that discard their spans."""

    def __init__(self, build, sampling, stack):
        self.build, self.stack = build, stack
        self.sink, self.port = self.start_sink(stack, loads.free_port()), loads.free_port()
        self.servers = {
            "untraced": self.start(),
            "SDK": self.start(export=(self.sink, sampling)),
            "agent": self.start(export=(self.port, sampling), run=[build / "sonde", "run", "--"]),
        }

    def start_sink(self, stack, port):
        process = subprocess.Popen([self.build / "bench/bench-sink", str(port)])
        stack.callback(machine.stop, process)
        loads.wait_for(port)
        return port

    def start(self, export=None, run=()):
        def command(_directory, port):
            to = [f"http://127.0.0.1:{export[0]}", export[1]] if export else []
            return [*run, self.build / "bench/bench-currency", "serve", port, *to]

        return self.stack.enter_context(loads.Service("currency", [], command, None).running())

    def variants(self, *choice, counts=False):
        """The service unrecorded, and recorded with each choice of options."""
        none = recorders.none()
        recorded = [annotate(self.build, self.port, self.sink, *options) for options in choice]
        counted = [annotate(self.build, self.port, self.sink, *choice[-1], counts=True)] if counts else []
        return [Variant("untraced", "untraced", none), Variant("SDK", "SDK", none),
                Variant("SDK, sonde run", "agent", none),
                *(Variant(f"SDK, {r.name}", "agent", r) for r in recorded),
                *(Variant(COUNTED, "agent", r) for r in counted)]

    def take(self, variant, work):
        """A Turn with each (requests, calls) of `work`."""
        server = self.servers[variant.kind]
        with contextlib.ExitStack() as stack:
            if variant.kind == "agent" and not variant.recorder.command:
                self.start_sink(stack, self.port)
            out = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sonde-bench-")))
            with variant.recorder.running(server.pids, out) as run:
                wait_quiet(run)
                self.call(server, WARM_UP, 0)
                found = {w: self.load(server, run, *w) for w in work}
                status = self.settled() if run.process else {}
        return Turn(found, run.memory["VmHWM"], status)

    def settled(self):
        """The status of sonde annotate when all slow spans are annotated or given up."""
        end = time.monotonic() + PATIENCE
        while True:
            with DIRECTLY.open(f"http://127.0.0.1:{self.port}/status") as reply:
                status = json.load(reply)
            if replied(status) >= status["spans_slow"] or time.monotonic() > end:
                return status
            time.sleep(0.2)

    def call(self, server, count, calls):
        """(seconds, median, 99th percentile)"""
        text = loads.run_client(self.build / "bench/bench-currency", "call", server.port, count, THREADS, calls)
        return map(float, text.split())

    def load(self, server, run, count, calls):
        pids = parts_of(run)
        server_cpu, programs = server.cpu_time(), run.programs()
        parts = {part: machine.cpu_time(pid) for part, pid in pids.items()}
        seconds, median, p99 = self.call(server, count, calls)
        if run.process:
            time.sleep(PAUSE)
        return Load(seconds, median, p99, (server.cpu_time() - server_cpu) / count / 1000,
                    {part: (machine.cpu_time(pid) - parts[part]) / count / 1000 for part, pid in pids.items()},
                    {name: ((runs - programs[name][0]) / count, (ns - programs[name][1]) / count)
                     for name, (runs, ns) in run.programs().items()})


def measure(build, sampling, choice, work, starts, rounds, counts=False):
    """{name of the variant: [result of take() of each round]}"""
    results = {}
    for _ in range(starts):
        with contextlib.ExitStack() as stack:
            bench = Bench(build, sampling, stack)
            variants = bench.variants(*choice, counts=counts)
            found = stats.rounds("annotate", rounds, variants, lambda v: bench.take(v, work))
        for variant, turns in found.items():
            results.setdefault(variant.name, []).extend(turns)
    return results


def column(results, name, work, what):
    return [getattr(turn.loads[work], what) for turn in results[name]]


def parts_cpu(results, name, work):
    """µs per request of each part of sonde, as text."""
    found = column(results, name, work, "parts")
    if not found[0]:
        return ["", ""]
    medians = [stats.median([parts.get(part, 0) for parts in found]) for part in PARTS]
    return [f"{sum(medians):.1f}", " + ".join(f"{m:.1f}" for m in medians)]


def row(results, name, work):
    base = {what: column(results, "SDK", work, what) for what in ("cpu", "seconds", "median")}
    ratio = ["" if name == "SDK" else stats.show_sure(stats.ratios(column(results, name, work, what), base[what]), "{:.3f}")
             for what in ("cpu", "seconds", "median")]
    memory = max(turn.memory for turn in results[name]) // 1024
    return [name, stats.show(column(results, name, work, "cpu"), "{:.1f}"),
            stats.show([work[0] / s for s in column(results, name, work, "seconds")], "{:.0f}"),
            *ratio, *parts_cpu(results, name, work), memory or ""]


def outcome(results, name):
    """What became of the spans, in all rounds."""
    total = collections.Counter()
    for turn in results[name]:
        total.update({key: turn.status[key] for key in OUTCOME})
    return [name, *(f"{total[key]:,}" for key in OUTCOME)]


# Counters of the status, and their names in a table.
OUTCOME = {"spans_received": "spans", "spans_slow": "slow", "spans_annotated": "annotated", "spans_annotated_late": "late",
           "spans_joined": "joined", "spans_unrecorded": "unrecorded", "spans_unasked": "shed", "annotations_lost": "annotations lost",
           "spans_dropped": "dropped", "records": "records", "records_lost": "lost"}


def print_outcome(results):
    print("What became of the spans and of the kernel records, in all rounds:\n")
    stats.table(["", *OUTCOME.values()], [outcome(results, name) for name in results if results[name][0].status])


EXPLANATION = f"""CPU: of the service in µs per request; requests/s: median (quartiles). Ratios to the service with its SDK
and without sonde, in the same round: median [95 % interval]; of the CPU time, of the time that all
requests took, and of the median latency. The client has {THREADS} threads. Own CPU: of sonde in µs per request: all,
and {', '.join(PARTS)}. MiB: the peak resident sizes of these processes, added.
"""
HEADER = ["", "CPU", "requests/s", "CPU, ratio", "time, ratio", "latency, ratio", "own CPU", "of its processes", "MiB"]


def print_programs(results, work, empty):
    """Run time of the BPF programs per request, which throughput is too noisy to show."""
    turns = column(results, COUNTED, work, "programs")
    base = stats.median(column(results, "SDK", work, "cpu"))
    rows = []
    for name in turns[0]:
        runs, ns = (stats.median([t[name][i] for t in turns]) for i in (0, 1))
        if runs >= 0.01:
            rows.append([name, runs, ns / runs, ns, ns - runs * empty])
    rows.sort(key=lambda r: -r[3])
    rows.append(["all", sum(r[1] for r in rows), "", sum(r[3] for r in rows), sum(r[4] for r in rows)])
    stats.table(["program", "runs per request", "ns per run", "ns per request", "without counting", "share"],
                [[r[0], f"{r[1]:.2f}", r[2] and f"{r[2]:.0f}", f"{r[3]:.0f}", f"{r[4]:.0f}", f"{r[4] / base / 10:.2f} %"]
                 for r in rows])


def first_experiment(build, choice, sizes, starts, rounds, empty):
    work = [(size, 0) for size in sizes]
    for sampling in (0.1, 1.0):
        results = measure(build, sampling, choice, work, starts, rounds, counts=True)
        for w in work:
            print(f"{w[0]:,} requests, {sampling:.0%} of the traces sampled:\n")
            stats.table(HEADER, [row(results, name, w) for name in results if name != COUNTED])
        print_outcome(results)
        print(f"BPF programs of sonde {' '.join(choice[-1])}, {sampling:.0%} sampled, on all CPUs, also of the client;")
        print(f"bpf_stats adds {empty:.0f} ns to a run, and the last two columns are without them. Share: of the CPU")
        print("time of the service with SDK.\n")
        print_programs(results, work[-1], empty)


def slope(values, base, unit):
    """What five calls add, in per cent of `unit`: the least squares of the differences."""
    points = [(calls / 5, v - b) for calls, v, b in zip(CALLS, values, base)]
    mean_x, mean_y = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return 100 * rise / unit


def slopes(results, name, work, what):
    """Of each round."""
    values, base = ([[getattr(turn.loads[w], what) for w in work] for turn in results[n]] for n in (name, "SDK"))
    return [slope(v, b, b[0]) for v, b in zip(values, base)]


def program_slopes(results, work, empty):
    """The same of the run time of BPF programs, as a share of the CPU time without calls."""
    return [slope([program_time(turn.loads[w].programs, empty) for w in work], [0] * len(work), base.loads[work[0]].cpu)
            for turn, base in zip(results[COUNTED], results["SDK"])]


def program_time(programs, empty):
    """µs of all programs per request, without counting."""
    return sum(ns - runs * empty for runs, ns in programs.values()) / 1000


def second_experiment(build, choice, size, starts, rounds, empty):
    work = [(size, calls) for calls in CALLS]
    results = measure(build, 0.1, choice, work, starts, rounds, counts=True)
    names = [name for name in results if name.startswith("SDK")]
    print(f"{size:,} requests with extra getpid() calls, 10% sampled: CPU time of the service in µs per request,")
    print("median (quartiles), and its ratios to that with the same calls without sonde. Below: what five calls")
    print("add to the cost of sonde: to the time of all requests, to the CPU time, and to the run time of its BPF")
    print("programs, which is the least noisy; in per cent of the time of all requests and of the CPU time without calls.\n")
    rows = [[w[1], stats.show(column(results, "SDK", w, "cpu"), "{:.1f}"),
             *(stats.show_sure(stats.ratios(column(results, n, w, "cpu"), column(results, "SDK", w, "cpu")), "{:.3f}")
               for n in names[1:])] for w in work]
    for words, what in (("five, time", "seconds"), ("five, CPU", "cpu")):
        rows.append([words, "", *(stats.show_sure(slopes(results, n, work, what), "{:+.2f} %") for n in names[1:])])
    programs = stats.show_sure(program_slopes(results, work, empty), "{:+.2f} %")
    rows.append(["five, programs", *[""] * (len(names) - 1), programs])
    stats.table(["calls", *names], rows)


def help_of(build, command):
    return subprocess.run([build / "sonde", command, "--help"], capture_output=True, text=True).stdout


def missing(build):
    if not (build / "bench/bench-currency").exists():
        return "bench-currency was not built: gRPC for C++ or opentelemetry-cpp is missing"
    if "--threshold" not in help_of(build, "annotate"):
        return "sonde was built without annotate"
    return None


def measure_all(build, sizes, starts, rounds):
    if missing(build):
        print(f"left out: {missing(build)}\n")
        return
    choice = [[], ["--all"]]
    if "--syscalls" in help_of(build, "annotate"):
        choice.append(["--all", "--syscalls"])
    else:
        print("left out: sonde annotate --syscalls: this version does not have it\n")
    print(EXPLANATION)
    empty = bench_servers.counting_cost()
    first_experiment(build, choice, sizes, starts, rounds, empty)
    second_experiment(build, choice[1:], sizes[-1], starts, rounds, empty)


def run(build, quick):
    measure_all(build, (1000, 10000), *((1, 2) if quick else (3, 3)))


def run_large(build, quick):
    """With the largest load of the paper; takes an hour."""
    measure_all(build, (10000,) if quick else (1000, 10000, 100000), *((1, 1) if quick else (3, 4)))
