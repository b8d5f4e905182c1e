# SPDX-License-Identifier: Apache-2.0
"""Services under load, recorded and not: throughput, and CPU for a request.

Three witnesses: requests/s; the service's CPU time for a request, by its own
clock; and, in turns of their own since the counting costs too, the run time of
the recorder's BPF programs as the kernel counts it (bpf_stats).
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
        self.cpu = self.load.server_cpu / self.load.requests / 1000  # µs for a request
        self.recorder_cpu = self.load.recorder_cpu / self.load.requests / 1000
        programs = self.load.programs.values()
        self.bpf_runs = sum(runs for runs, _ in programs) / self.load.requests
        self.bpf = sum(ns for _, ns in programs) / self.load.requests / 1000


def column(turns, name):
    return [getattr(t, name) for t in turns]


def usable(things):
    """Those that can run; says why the others cannot."""
    for thing in things:
        if thing.missing():
            print(f"left out: {thing.name}: {thing.missing()}\n")
    return [t for t in things if not t.missing()]


def take_turn(server, recorder, seconds, trials=3):
    """A Turn. Some recorders fail now and then (trace-cmd, when symbols change): try again."""
    for _ in range(trials - 1):
        try:
            return Turn(server, recorder, seconds)
        except RuntimeError:
            continue
    return Turn(server, recorder, seconds)


def measure(service, choice, rounds, seconds):
    """{recorder: [Turn for each round]}; a recorder that fails is left out, with its words."""
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
    """A row: what this recorder does to the service, against none in the same rounds."""
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
    stats.table(["recorder", "CPU for a request", "throughput", "own CPU", "MiB", "MiB/s", "lost"],
                [compare(r, turns, base) for r, turns in results.items()])


def unrecorded(results):
    return next(turns for recorder, turns in results.items() if not recorder.command)


def counted(results):
    return next(turns for recorder, turns in results.items() if recorder.stats)


def print_programs(turns):
    """Which programs run how often for a request, and how long."""
    rows = []
    for name in turns[0].load.programs:
        runs = [t.load.programs[name][0] / t.load.requests for t in turns]
        ns = [t.load.programs[name][1] / t.load.requests for t in turns]
        if stats.median(runs) >= 0.01:
            rows.append([name, f"{stats.median(runs):.2f}",
                         f"{stats.median(ns) / stats.median(runs):.0f}", f"{stats.median(ns):.0f}"])
    stats.table(["program", "runs for a request", "ns for a run", "ns for a request"],
                sorted(rows, key=lambda r: -float(r[3])))


def witness(service, results, empty):
    """A row: run time of the BPF programs for a request, and as a share of its CPU."""
    base, turns = unrecorded(results), counted(results)
    share = [100 * t.bpf / b.cpu for t, b in zip(turns, base)]
    net = [100 * (t.bpf - t.bpf_runs * empty / 1000) / b.cpu for t, b in zip(turns, base)]
    return [service.name, stats.show(column(base, "cpu"), "{:.2f}"),
            stats.show(column(turns, "bpf_runs"), "{:.2f}"),
            stats.show(column(turns, "bpf"), "{:.3f}"), stats.show_sure(share, "{:.2f} %"),
            stats.show_sure(net, "{:.2f} %") if empty else "not known"]


EXPLANATION = """CPU of the service for a request and requests/s: unrecorded, median (quartiles);
recorded, the ratio to unrecorded, median [95 % interval] of the ratios within a round.
Own CPU: of the recorder, as a part of what the unrecorded service uses. MiB: its
largest resident size. MiB/s: what it writes. Lost: what it says that it lost, in all
rounds.
"""


def counting_cost():
    """What bpf_stats shows in ns for a run of a program that does nothing; 0 if not known."""
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
    print("Run time of the programs for a request, on all CPUs, also for those who ask. In what")
    print(f"bpf_stats counts, {empty:.0f} ns of each run are its own, as a program that does nothing")
    print("shows: the last column is without them.\n")
    stats.table(["service", "µs CPU for a request", "program runs", "µs in programs", "share",
                 "without counting"], rows)


def run_peers(build, quick):
    print(EXPLANATION)
    choice = usable(recorders.peers(build / "sonde"))
    for service in usable(loads.services(build)[:2]):
        results = measure(service, choice, 2 if quick else 16, 1 if quick else 2)
        print(f"{service.name}:\n")
        print_comparison(results)
