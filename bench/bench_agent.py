# SPDX-License-Identifier: Apache-2.0
"""ns for a span and for a change of context in the program, next to uprobes and LTTng-UST."""
import contextlib
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import bench_agent_python
import loads
import machine
import recorders
import stats

BURST = 150   # operations in a row, which fit into a ring
PAUSE = 0.006  # seconds after it, in which the recorder reads the ring

# The operations of the programs, for lines `OPERATION COUNT`, and their names in tables.
OPERATIONS = {
    "attach": "change of context",
    "span": "begin and end",
    "attributes": "begin and end, 2 attributes",
}
# Operations of one program only.
OPERATIONS_OF = {bench_agent_python.NAME: {"step": "step of a task"}}


def c_program(build):
    return [build / "bench/bench-agent"]


def cpp_program(build):
    path = build / "bench/bench-otel-cpp"
    return [path] if path.exists() else None


# {language: function of the build directory that returns the command of a program with the interface
# of bench-agent, or None if it was not built}.  The number of a CPU is its last argument.  Programs
# with an SDK are also measured without the agent.
LANGUAGES = {"C, sonde.h": c_program, "C++, opentelemetry-cpp": cpp_program,
             bench_agent_python.NAME: bench_agent_python.program}
WITHOUT_SDK = {"C, sonde.h"}


class Program:
    """A running program that executes OPERATIONS on request."""

    def __init__(self, command, stack, env=None):
        self.process = subprocess.Popen([*map(str, command), loads.CLIENT_CPU], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=os.environ | (env or {}))
        self.pid = self.process.pid
        stack.callback(machine.stop, self.process)

    def burst(self, operation):
        self.process.stdin.write(f"{operation} {BURST}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def time(self, operations, bursts):
        """{operation: ns}, the median of the bursts."""
        times = {operation: [] for operation in operations}
        for _ in range(bursts):
            for operation in random.sample(list(operations), len(operations)):
                times[operation].append(self.burst(operation))
                time.sleep(PAUSE)
        return {operation: statistics.median(t) for operation, t in times.items()}


def uprobe(program):
    """A uprobe that stores the time, as a simple bpftrace script does."""
    def command(pids, out):
        return ["bpftrace", "-o", out / "times", "-p", pids[0], "-e",
                f"uprobe:{program}:bench_probe {{ @[tid] = nsecs; }}"]

    return recorders.Recorder("uprobe", "bpftrace", command)


class Lttng:
    """A session of LTTng-UST, with its own daemon."""

    def __init__(self, stack):
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="sonde-bench-"))
        self.env = {"LTTNG_HOME": home, "LTTNG_RUNDIR": home, "LTTNG_UST_REGISTER_TIMEOUT": "1000"}
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=os.environ | self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(machine.stop, self.daemon)
        time.sleep(1)
        self.call("create", "bench", f"--output={home}/trace")
        stack.callback(self.call, "destroy", "bench")
        self.call("enable-event", "-u", "sonde_bench:*")

    def call(self, *words):
        subprocess.run(["lttng", "--no-sessiond", *words], env=os.environ | self.env, check=True,
                       stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def running(self, _pids, _out):
        self.call("start", "bench")
        time.sleep(0.2)
        yield
        self.call("stop", "bench")


class Turns:
    """All programs by recorder: {variant: (recorder, [(program, label, operations)])}"""

    def __init__(self, build, stack):
        self.none, self.sonde = recorders.none(), recorders.sonde(build / "sonde", "sonde")
        self.variants = {"unrecorded": (self.none, []), "recorded": (self.sonde, [])}
        for language, find in LANGUAGES.items():
            command = find(build)
            if not command:
                print(f"{language}: not built")
                continue
            operations = (*OPERATIONS, *OPERATIONS_OF.get(language, ()))
            under = Program([build / "sonde", "run", "--", *command], stack)
            self.add("unrecorded", under, language, operations)
            self.add("recorded", under, language, operations)
            if language not in WITHOUT_SDK:
                self.add("unrecorded", Program(command, stack), f"{language}, without the agent", operations)
        self.add_others(build, stack)

    def add(self, variant, program, words, operations):
        self.variants[variant][1].append((program, words, operations))

    def add_others(self, build, stack):
        """Two probes or tracepoints, for the begin and the end of a span."""
        path = build / "bench/bench-agent"
        program = Program([path], stack)
        self.add("unrecorded", program, "sonde.h, switched off", ("off",))
        self.add("unrecorded", program, "two nops", ("probe",))
        if machine.available("bpftrace"):
            self.variants["uprobe"] = (uprobe(path), [(program, "two uprobes on nops", ("probe",))])
        path = build / "bench/bench-agent-lttng"
        if path.exists() and machine.available("lttng-sessiond"):
            session = Lttng(stack)
            program = Program([path], stack, session.env)
            self.add("unrecorded", program, "LTTng-UST, stopped", ("lttng",))
            self.variants["LTTng"] = (session, [(program, "two events of LTTng-UST", ("lttng",))])

    def take(self, variant, bursts):
        """{(words, operation): ns}"""
        recorder, programs = self.variants[variant]
        found = {}
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running([program.pid for program, _, _ in programs], pathlib.Path(out)):
                for program, words, operations in programs:
                    found |= {(words, operation): ns for operation, ns in program.time(operations, bursts).items()}
        return found


def run(build, quick):
    with contextlib.ExitStack() as stack:
        turns = Turns(build, stack)
        results = stats.rounds("agent", 3 if quick else 15, turns.variants,
                               lambda v: turns.take(v, 5 if quick else 40))
    print("ns per operation in the program, median (quartiles) of the rounds. Begin and end of a span are")
    print("one operation.\n")
    rows, names = {}, dict(OPERATIONS)
    for more in OPERATIONS_OF.values():
        names |= more
    for variant, found in results.items():
        for words, operation in found[0]:
            row = rows.setdefault((words, names.get(operation, "begin and end")), {})
            column = "unrecorded" if variant == "unrecorded" else "recorded"
            row[column] = stats.show([r[words, operation] for r in found])
    stats.table(["", "", "unrecorded", "recorded"],
                [[*who, row.get("unrecorded", ""), row.get("recorded", "")] for who, row in rows.items()])
