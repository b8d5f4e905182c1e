# SPDX-License-Identifier: Apache-2.0
"""The cost of single events with and without a recorder, in and out of its scope."""
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

# The operations of bench-micro: the count per turn, and the name in the table.
OPERATIONS = {
    "yield": (60000, "switch: sched_yield"),
    "pipe": (40000, "switch and blocking call: read from a pipe"),
    "futex": (40000, "switch and blocking call: futex"),
    "sleep": (3000, "blocking call: nanosleep of 1 µs"),
    "call": (400000, "system call: getppid"),
    "compute": (50000000, "control: a step of computing"),
}

PLAIN = "bench-micro"
SETTLE = 0.1  # seconds in which a recorder finds the published contexts


class Micro:
    """A variant of bench-micro, and an idle process, which is recorded for the case `out of scope`."""

    def __init__(self, build, stack, program):
        self.process = subprocess.Popen([build / "bench" / program, loads.CLIENT_CPU], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.idle = subprocess.Popen(["sleep", "infinity"])
        stack.callback(machine.stop, self.idle)
        stack.callback(machine.stop, self.process)

    def time(self, operation, count):
        self.process.stdin.write(f"{operation} {count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def turn(self, recorder, inside, shorter):
        """All operations once, in random order, under a recorder: {operation: ns}"""
        pid = self.process.pid if inside else self.idle.pid
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running([pid], pathlib.Path(out)):
                time.sleep(SETTLE)
                return {operation: self.time(operation, OPERATIONS[operation][0] // shorter)
                        for operation in random.sample(list(OPERATIONS), len(OPERATIONS))}


def variants(sonde):
    """{name: (recorder, whether the program is in its scope, the program)}"""
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
    print("ns per event, unrecorded: median (quartiles); and added ns: median [95 % interval]")
    print("of the differences within a round. All on one CPU.\n")
    rows = []
    for operation, (_, words) in OPERATIONS.items():
        form = "{:.2f}" if operation == "compute" else "{:.0f}"
        times = {v: [r[operation] for r in results[v]] for v in choice}
        base = times.pop("unrecorded")
        rows.append([words, stats.show(base, form)] +
                    [stats.show_sure(stats.differences(t, base), form) for t in times.values()])
    stats.table(["event", "unrecorded"] + [f"+ {v}" for v in list(choice)[1:]], rows)
