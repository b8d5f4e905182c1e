# SPDX-License-Identifier: Apache-2.0
"""Single events, timed with and without a recorder, in and out of its scope."""
import contextlib
import pathlib
import random
import subprocess
import tempfile
import time

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

PLAIN = "bench-micro"
SETTLE = 0.1  # seconds, in which a recorder finds out who publishes a context where


class Micro:
    """bench-micro or one of its like, and a process beside it that does nothing, to be recorded instead."""

    def __init__(self, build, stack, program):
        self.process = subprocess.Popen([build / "bench" / program, loads.CLIENT_CPU], text=True,
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
                time.sleep(SETTLE)
                return {deed: self.time(deed, DEEDS[deed][0] // shorter)
                        for deed in random.sample(list(DEEDS), len(DEEDS))}


def variants(sonde):
    """{name: (recorder, whether what is timed is in its scope, the program)}"""
    default = recorders.sonde(sonde, "default")
    calls = recorders.sonde(sonde, "calls", "--syscalls")
    return {
        "unrecorded": (recorders.none(), True, PLAIN),
        "recorded": (default, True, PLAIN),
        "recorded, one context": (default, True, "bench-micro-same"),
        "recorded, changing contexts": (default, True, "bench-micro-changing"),
        "out of scope": (default, False, PLAIN),
        "--syscalls": (calls, True, PLAIN),
        "--syscalls, out of scope": (calls, False, PLAIN),
    }


def run(build, quick):
    choice = variants(build / "sonde")
    with contextlib.ExitStack() as stack:
        programs = {name: Micro(build, stack, name) for name in {how[2] for how in choice.values()}}
        results = stats.rounds("micro", 3 if quick else 24, choice,
                               lambda v: programs[choice[v][2]].turn(*choice[v][:2], 10 if quick else 1))
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
