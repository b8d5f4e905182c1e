# SPDX-License-Identifier: Apache-2.0
"""The cost of a stream beside that of a file, and what `sonde top` takes.

A file, a stream and top are compared as in bench_servers.  Then nginx serves 10,000 requests/s, and
the CPU time of each process of top is printed: the recorder, and the reader that rebuilds requests.
"""
import os
import pathlib
import subprocess
import tempfile
import time

import bench_servers
import loads
import machine
import recorders
import stats

LOAD = pathlib.Path(__file__).resolve().parent.parent / "tests" / "faults" / "support" / "load.c"
CONNECTIONS, PAUSE = 200, 20  # each connection pauses for 20 ms between two requests
TOP = "sonde top"
WARM_UP = 15  # seconds until the window of top is full


def choice(sonde):
    before = os.environ.get("SONDE_BEFORE")
    return [recorders.none(),
            *([recorders.sonde(before, "sonde record, before")] if before else []),
            recorders.sonde(sonde, "sonde record"),
            recorders.sonde_stream(sonde, "sonde record -o -"),
            recorders.sonde_top(sonde, TOP)]


def paced_load(directory):
    """The client of the fault lab, compiled."""
    program = directory / "load"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, LOAD, "-pthread", "-lm"], check=True)
    return program


def send_requests(program, port, seconds):
    """Requests per second that were served."""
    request = f"GET /index.html HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n"
    output = subprocess.run(["taskset", "-c", loads.CLIENT_CPU, program, "-n", str(CONNECTIONS), "-p", str(PAUSE),
                             "-s", str(seconds), str(port), request], check=True, capture_output=True).stdout
    return output.count(b"\n") / seconds


class Share:
    """CPU time of each process of a recorder, in per cent of a core, while a load runs."""

    def __init__(self, server, recorder, program, seconds):
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as out:
            with recorder.running(server.pids, pathlib.Path(out)) as run:
                send_requests(program, server.port, min(WARM_UP, seconds))
                pids = machine.tree(run.process.pid) if run.process else []
                before, own = [machine.cpu_time(pid) for pid in pids], server.cpu_time()
                began = time.monotonic()
                self.rate = send_requests(program, server.port, seconds)
                took = 1e9 * (time.monotonic() - began)
                self.server = 100 * (server.cpu_time() - own) / took
                used = [100 * (machine.cpu_time(pid) - b) / took for pid, b in zip(pids, before)]
        # top is the reader, and its recorder the child of a keeper; otherwise the recorder is the first
        used = used[::-1] if recorder.name == TOP else used
        self.recorder, self.reader = (used or [0.0])[0], sum(used[1:])


def print_shares(service, sonde, count, seconds):
    kinds = [kind for kind in choice(sonde) if kind.name != "sonde record, before"]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as directory, service.running() as server:
        program = paced_load(pathlib.Path(directory))
        results = stats.rounds("paced", count, kinds, lambda kind: Share(server, kind, program, seconds))
    stats.table(["recorder", "requests/s", "nginx, % of a core", "recorder", "reader"],
                [[kind.name, *(stats.show([getattr(share, name) for share in shares], "{:.1f}")
                               for name in ("rate", "server", "recorder", "reader"))]
                 for kind, shares in results.items()])


def run(build, quick):
    sonde = build / "sonde"
    print(bench_servers.EXPLANATION)
    services = bench_servers.usable(loads.services(build)[:2])
    for service in services:
        results = bench_servers.measure(service, choice(sonde), 2 if quick else 16, 1 if quick else 2)
        print(f"{service.name}:\n")
        bench_servers.print_comparison(results)
    print(f"nginx at a steady rate, {CONNECTIONS} connections: per cent of one core, median (quartiles).\n")
    print_shares(services[0], sonde, 1 if quick else 5, 3 if quick else 15)
