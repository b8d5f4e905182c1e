# SPDX-License-Identifier: Apache-2.0
"""ns for a span and for a change of context in the program, beside other ways to tell of them."""
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

BURST = 150   # deeds in a row: what a ring has room for
PAUSE = 0.006  # seconds after it, in which the recorder takes them

# What a program does on a line `DEED COUNT`, and what it is a case of.
DEEDS = {
    "attach": "change of context",
    "span": "begin and end",
    "attributes": "begin and end, 2 attributes",
}
# What only one of them does.
DEED_OF = {bench_agent_python.NAME: {"step": "step of a task"}}


def c_program(build):
    return [build / "bench/bench-agent"]


def cpp_program(build):
    path = build / "bench/bench-otel-cpp"
    return [path] if path.exists() else None


# {language: function of the build folder that gives a command which, with a CPU's number behind
# it, answers to DEEDS as bench-agent does; or None if it was not built}.  One with an SDK is
# also measured without the agent.
LANGUAGES = {"C, sonde.h": c_program, "C++, opentelemetry-cpp": cpp_program,
             bench_agent_python.NAME: bench_agent_python.program}
WITHOUT_SDK = {"C, sonde.h"}


class Program:
    """A program that does DEEDS when told to."""

    def __init__(self, command, stack, env=None):
        self.process = subprocess.Popen([*map(str, command), loads.CLIENT_CPU], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=os.environ | (env or {}))
        self.pid = self.process.pid
        stack.callback(machine.stop, self.process)

    def burst(self, deed):
        self.process.stdin.write(f"{deed} {BURST}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def time(self, deeds, bursts):
        """{deed: ns}, the median of the bursts."""
        times = {deed: [] for deed in deeds}
        for _ in range(bursts):
            for deed in random.sample(list(deeds), len(deeds)):
                times[deed].append(self.burst(deed))
                time.sleep(PAUSE)
        return {deed: statistics.median(t) for deed, t in times.items()}


def uprobe(program):
    """A uprobe that notes the time, as a quick look would."""
    def command(pids, out):
        return ["bpftrace", "-o", out / "times", "-p", pids[0], "-e",
                f"uprobe:{program}:bench_probe {{ @[tid] = nsecs; }}"]

    return recorders.Recorder("uprobe", "bpftrace", command)


class Lttng:
    """A session of LTTng-UST, with a daemon of its own."""

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
    """Every program, under every recorder that it is for. {variant: (recorder, [(program, its words, deeds)])}"""

    def __init__(self, build, stack):
        self.none, self.sonde = recorders.none(), recorders.sonde(build / "sonde", "sonde")
        self.variants = {"unrecorded": (self.none, []), "recorded": (self.sonde, [])}
        for language, find in LANGUAGES.items():
            command = find(build)
            if not command:
                print(f"{language}: not built")
                continue
            deeds = (*DEEDS, *DEED_OF.get(language, ()))
            under = Program([build / "sonde", "run", "--", *command], stack)
            self.add("unrecorded", under, language, deeds)
            self.add("recorded", under, language, deeds)
            if language not in WITHOUT_SDK:
                self.add("unrecorded", Program(command, stack), f"{language}, without the agent", deeds)
        self.add_others(build, stack)

    def add(self, variant, program, words, deeds):
        self.variants[variant][1].append((program, words, deeds))

    def add_others(self, build, stack):
        """Two probes or tracepoints stand for a begin and an end."""
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
        """{(words, deed): ns}"""
        recorder, programs = self.variants[variant]
        found = {}
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running([program.pid for program, _, _ in programs], pathlib.Path(out)):
                for program, words, deeds in programs:
                    found |= {(words, deed): ns for deed, ns in program.time(deeds, bursts).items()}
        return found


def run(build, quick):
    with contextlib.ExitStack() as stack:
        turns = Turns(build, stack)
        results = stats.rounds("agent", 3 if quick else 15, turns.variants,
                               lambda v: turns.take(v, 5 if quick else 40))
    print("ns in the program, median (quartiles) of the rounds. Begin and end are one deed.\n")
    rows, names = {}, dict(DEEDS)
    for more in DEED_OF.values():
        names |= more
    for variant, found in results.items():
        for words, deed in found[0]:
            row = rows.setdefault((words, names.get(deed, "begin and end")), {})
            column = "unrecorded" if variant == "unrecorded" else "recorded"
            row[column] = stats.show([r[words, deed] for r in found])
    stats.table(["", "", "unrecorded", "recorded"],
                [[*who, row.get("unrecorded", ""), row.get("recorded", "")] for who, row in rows.items()])
