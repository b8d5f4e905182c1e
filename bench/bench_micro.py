# SPDX-License-Identifier: Apache-2.0
"""Single events, timed with and without a recorder, in and out of its scope."""
import contextlib
import pathlib
import random
import subprocess
import tempfile

import loads
import machine
import recorders
import stats

# What bench-micro does, how often in a turn, and what it is a case of.
DEEDS = {
    "yield": (60000, "switch: sched_yield"),
    "pipe": (40000, "switch and blocking call: read from a pipe"),
    "futex": (40000, "switch and blocking call: futex"),
    "sleep": (3000, "blocking call: nanosleep of 1 µs"),
    "call": (400000, "system call: getppid"),
    "compute": (50000000, "control: a step of computing"),
}


class Micro:
    """bench-micro, and a process beside it that does nothing, to be recorded instead."""

    def __init__(self, build, stack):
        self.process = subprocess.Popen([build / "bench/bench-micro", loads.CLIENT_CPU], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.idle = subprocess.Popen(["sleep", "infinity"])
        stack.callback(machine.stop, self.idle)
        stack.callback(machine.stop, self.process)

    def time(self, deed, count):
        self.process.stdin.write(f"{deed} {count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def turn(self, recorder, inside, shorter):
        """One of each deed, in random order, under a recorder. {deed: ns}"""
        pid = self.process.pid if inside else self.idle.pid
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running([pid], pathlib.Path(out)):
                return {deed: self.time(deed, DEEDS[deed][0] // shorter)
                        for deed in random.sample(list(DEEDS), len(DEEDS))}


def variants(sonde):
    """{name: (recorder, whether what is timed is in its scope)}"""
    default = recorders.sonde(sonde, "default")
    calls = recorders.sonde(sonde, "calls", "--syscalls")
    return {
        "unrecorded": (recorders.none(), True),
        "recorded": (default, True),
        "out of scope": (default, False),
        "--syscalls": (calls, True),
        "--syscalls, out of scope": (calls, False),
    }


def run(build, quick):
    choice = variants(build / "sonde")
    with contextlib.ExitStack() as stack:
        micro = Micro(build, stack)
        results = stats.rounds("micro", 3 if quick else 24, choice,
                               lambda v: micro.turn(*choice[v], 10 if quick else 1))
    print("ns for each, unrecorded: median (quartiles); and ns added: median [95 % interval]")
    print("of the differences within a round. All on one CPU.\n")
    rows = []
    for deed, (_, words) in DEEDS.items():
        form = "{:.2f}" if deed == "compute" else "{:.0f}"
        times = {v: [r[deed] for r in results[v]] for v in choice}
        base = times.pop("unrecorded")
        rows.append([words, stats.show(base, form)] +
                    [stats.show_sure(stats.differences(t, base), form) for t in times.values()])
    stats.table(["event", "unrecorded"] + [f"+ {v}" for v in list(choice)[1:]], rows)
