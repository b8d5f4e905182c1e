# SPDX-License-Identifier: Apache-2.0
"""Services under load, recorded and not: throughput, and CPU time per request.

Measured are requests/s; the CPU time of the service per request; and, in separate turns because
counting costs time as well, the run time of the recorder's BPF programs (bpf_stats).
"""
import os
import pathlib
import tempfile

import loads
import recorders
import stats


class Turn:
    """One load under one recorder."""

    def __init__(self, server, recorder, seconds):
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running(server.pids, pathlib.Path(out)) as self.run:
                self.load = server.load(seconds, self.run)
        self.rate = self.load.requests / self.load.seconds
        self.cpu = self.load.server_cpu / self.load.requests / 1000  # µs per request
        self.recorder_cpu = self.load.recorder_cpu / self.load.requests / 1000
        programs = self.load.programs.values()
        self.bpf_runs = sum(runs for runs, _ in programs) / self.load.requests
        self.bpf = sum(ns for _, ns in programs) / self.load.requests / 1000


def column(turns, name):
    return [getattr(t, name) for t in turns]


def usable(things):
    """The services or recorders that can run; prints the reason for the others."""
    for thing in things:
        if thing.missing():
            print(f"left out: {thing.name}: {thing.missing()}\n")
    return [t for t in things if not t.missing()]


def take_turn(server, recorder, seconds, trials=3):
    """A Turn. Some recorders fail sporadically (trace-cmd, when symbols change): try again."""
    for _ in range(trials - 1):
        try:
            return Turn(server, recorder, seconds)
        except RuntimeError:
            continue
    return Turn(server, recorder, seconds)


def measure(service, choice, rounds, seconds):
    """{recorder: [Turn of each round]}; a recorder that fails is left out, with its message."""
    with service.running() as server:
        working = []
        for recorder in choice:
            try:
                take_turn(server, recorder, 1)
                working.append(recorder)
            except RuntimeError as e:
                print(f"left out: {e}\n")
        return stats.rounds(service.name, rounds, working,
                            lambda r: take_turn(server, r, seconds))


def memory(turns):
    return f"{max(t.run.memory['VmHWM'] for t in turns) / 1024:.0f}"


def compare(recorder, turns, base):
    """A row: the service under this recorder, relative to no recorder in the same rounds."""
    cpu = stats.ratios(column(turns, "cpu"), column(base, "cpu"))
    rate = stats.ratios(column(turns, "rate"), column(base, "rate"))
    if turns is base:
        return [recorder.name, stats.show(column(base, "cpu"), "{:.2f} µs"),
                stats.show(column(base, "rate"), "{:.0f}/s"), "", "", "", ""]
    own = stats.median(stats.ratios(column(turns, "recorder_cpu"), column(base, "cpu")))
    per_second = stats.median([t.run.bytes / t.load.seconds / 2**20 for t in turns])
    return [recorder.name, stats.show_sure(cpu, "{:.3f}"), stats.show_sure(rate, "{:.3f}"),
            f"{own:.3f}", memory(turns), f"{per_second:.1f}", sum(t.run.lost() for t in turns)]


def print_comparison(results):
    base = unrecorded(results)
    stats.table(["recorder", "CPU per request", "throughput", "own CPU", "MiB", "MiB/s", "lost"],
                [compare(r, turns, base) for r, turns in results.items()])


def unrecorded(results):
    return next(turns for recorder, turns in results.items() if not recorder.command)


def counted(results):
    return next(turns for recorder, turns in results.items() if recorder.stats)


def print_programs(turns):
    """The runs of each BPF program per request, and their time."""
    rows = []
    for name in turns[0].load.programs:
        runs = [t.load.programs[name][0] / t.load.requests for t in turns]
        ns = [t.load.programs[name][1] / t.load.requests for t in turns]
        if stats.median(runs) >= 0.01:
            rows.append([name, f"{stats.median(runs):.2f}",
                         f"{stats.median(ns) / stats.median(runs):.0f}", f"{stats.median(ns):.0f}"])
    stats.table(["program", "runs per request", "ns per run", "ns per request"],
                sorted(rows, key=lambda r: -float(r[3])))


def witness(service, results, empty):
    """A row: run time of the BPF programs per request, and its share of the CPU time."""
    base, turns = unrecorded(results), counted(results)
    share = [100 * t.bpf / b.cpu for t, b in zip(turns, base)]
    net = [100 * (t.bpf - t.bpf_runs * empty / 1000) / b.cpu for t, b in zip(turns, base)]
    return [service.name, stats.show(column(base, "cpu"), "{:.2f}"),
            stats.show(column(turns, "bpf_runs"), "{:.2f}"),
            stats.show(column(turns, "bpf"), "{:.3f}"), stats.show_sure(share, "{:.2f} %"),
            stats.show_sure(net, "{:.2f} %") if empty else "unknown"]


EXPLANATION = """CPU time of the service per request and requests/s: unrecorded, median (quartiles);
recorded, the ratio to unrecorded, median [95 % interval] of the ratios within a round.
Own CPU: CPU time of the recorder, relative to that of the unrecorded service. MiB: its
peak resident size. MiB/s: the data that it writes. Lost: the records that it reports as
lost, in all rounds.
"""


def counting_cost():
    """The ns that bpf_stats shows for a run of an empty program; 0 if unknown."""
    recorder = recorders.empty()
    if recorder.missing():
        return 0
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
        with recorder.running([os.getpid()], pathlib.Path(out)) as run_:
            for _ in range(100000):
                os.getppid()
            return max(ns / runs for runs, ns in run_.programs().values() if runs > 100000)


def run(build, quick):
    sonde = build / "sonde"
    choice = [recorders.none(), recorders.sonde(sonde, "sonde record"),
              recorders.sonde(sonde, "sonde record, bpf_stats", stats=True)]
    print(EXPLANATION)
    rows, empty = [], counting_cost()
    for service in usable(loads.services(build)):
        results = measure(service, choice, 3 if quick else 24, 1 if quick else 2)
        print(f"{service.name}:\n")
        print_comparison(results)
        print_programs(counted(results))
        rows.append(witness(service, results, empty))
    print("Run time of the BPF programs per request, on all CPUs, including those of the clients.")
    print(f"bpf_stats itself adds {empty:.0f} ns to each run, measured with an empty program; the last")
    print("column is without them.\n")
    stats.table(["service", "µs CPU per request", "program runs", "µs in programs", "share",
                 "without counting"], rows)


def run_peers(build, quick):
    print(EXPLANATION)
    choice = usable(recorders.peers(build / "sonde"))
    for service in usable(loads.services(build)[:2]):
        results = measure(service, choice, 2 if quick else 16, 1 if quick else 2)
        print(f"{service.name}:\n")
        print_comparison(results)
