# SPDX-License-Identifier: Apache-2.0
"""Services with an SDK, with and without the agent, recorded and not.

Two processes of each service run, with and without the agent, and get requests alternately.  They
are restarted several times, because a process can be slower than another one by chance.  The work
per request is the same number of steps in both.
"""
import contextlib
import functools
import random
import subprocess

import bench_agent_python
import bench_servers
import loads
import machine
import recorders
import stats

WORK = 300  # µs per request


def cpp_service(build):
    program = build / "bench/bench-otel-cpp"
    if not program.exists():
        return None
    answers = subprocess.run([program, loads.SERVER_CPU], input="step 2000000\n" * 20, text=True, check=True,
                             capture_output=True).stdout.split()
    steps = round(1000 * WORK / min(map(float, answers)))
    return lambda port: [program, port, steps]


# {name: function of the build directory that returns a function from a port to a command}
SERVICES = {f"C++, {WORK} µs of work in 3 spans": cpp_service,
            "Python, Flask on gunicorn, 3 spans": bench_agent_python.service}


def service_of(name, build, command, with_agent):
    run = [build / "sonde", "run", "--"] if with_agent else []
    return loads.Service(name, ["wrk"], lambda _, port: [*run, *command(port)], loads.wrk)


def take_turn(server, recorder, seconds):
    """Workers can start after the service listens."""
    server.pids = machine.tree(server.pids[0])
    return bench_servers.take_turn(server, recorder, seconds)


def measure(name, build, command, starts, rounds, seconds):
    """{(with the agent, recorder): [Turn of each round]}"""
    none, sonde = recorders.none(), recorders.sonde(build / "sonde", "sonde record")
    variants = [(False, none), (True, none), (False, sonde), (True, sonde)]
    found = {v: [] for v in variants}
    for _ in range(starts):
        with contextlib.ExitStack() as stack:
            servers = {agent: stack.enter_context(service_of(name, build, command, agent).running())
                       for agent in random.sample((False, True), 2)}
            turns = stats.rounds(name, rounds, variants,
                                 lambda v: take_turn(servers[v[0]], v[1], seconds))
        for variant in variants:
            found[variant] += turns[variant]
    return found


def row(words, turns, base):
    ratio = functools.partial(stats.show_sure, form="{:.4f}")
    cpu, rate = ((bench_servers.column(turns, what), bench_servers.column(base, what)) for what in ("cpu", "rate"))
    return [words, stats.show(cpu[0], "{:.1f} µs"), stats.show(rate[0], "{:.0f}/s"), ratio(stats.ratios(*cpu)),
            ratio(stats.ratios(*rate))]


def run(build, quick):
    print("CPU time of the service per request, and requests/s: median (quartiles). Ratios: with the")
    print("agent to without it in the same round, median [95 % interval].\n")
    for name, find in SERVICES.items():
        command = find(build)
        if not command:
            print(f"left out: {name}: not built\n")
            continue
        found = measure(name, build, command, *((1, 2, 1) if quick else (6, 5, 2)))
        names = {False: "without the agent", True: "with the agent"}
        print(f"{name}:\n")
        stats.table(["", "CPU per request", "throughput", "CPU, ratio", "throughput, ratio"],
                    [row(f"{names[agent]}{', recorded' if recorder.command else ''}", turns, found[False, recorder])
                     for (agent, recorder), turns in found.items()])
