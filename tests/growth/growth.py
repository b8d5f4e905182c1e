#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twice the input takes at most 2.3 times the instructions, for every command, table and reader.

usage: growth.py SONDE MAKE_SHAPE SERVE MAKE_STREAM [CASE...]

make_shape writes captures that are large in one dimension: a long thread, a deep trace, a busy
lock.  Each command reads two of them, one twice as large as the other, under valgrind.  valgrind
counts instructions, which unlike seconds do not depend on the load of the host.  The count of the
command on an empty input is subtracted from both.  A case is a command on a shape; the test prints
a table of the failed cases.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 2.3
SLACK = 300_000  # instructions, for costs that come in blocks: allocations, the last block of a file
SIZE = 400
SIZES = {"episodes": 2000, "queue": 1250, "thread": 100, "requests": 200, "wide": 200, "threads": 200}

# What to show in each shape, for the commands that need a name.
THREAD, TRACE, REQUEST = ["--thread=1"], ["--trace=0000"], ["--requests"]
TARGETS = {"thread": THREAD, "deep": TRACE, "wide": TRACE, "lock": THREAD, "requests": REQUEST, "threads": THREAD}

# Tables by the shape that fills them.
TABLES = {
    "thread": "threads intervals wakeups slices messages syscalls block_io probe_events samples stacks losses",
    "lock": "threads intervals wakeups slices",
    "requests": "messages connections requests request_work",
    "deep": "spans attributes",
    "wide": "spans contexts attributes",
    "nested": "spans contexts",
}


def commands_for(shape):
    """Name and words of each command; FILE is the input and OUT the output."""
    target = TARGETS[shape]
    yield "info", ["info", "FILE"]
    yield "dump", ["dump", "FILE"]
    yield "requests", ["requests", "FILE"]
    yield "requests --tree", ["requests", "--tree", "FILE"]
    yield "path", ["path", *(THREAD if target == REQUEST else target), "FILE"]
    yield "explain", ["explain", *target, "FILE"]
    yield "explain --json", ["explain", "--json", *target, "FILE"]
    if target != THREAD:
        yield "diagnose", ["diagnose", *(target if target == REQUEST else []), "FILE"]
    yield "top", ["top", "--json", "FILE"]
    for form in ("json", "otlp", "otlp-json", "ctf"):
        yield f"export --to={form}", ["export", f"--to={form}", "-o", "OUT", "FILE"]


# Shapes for single commands.
MORE = {
    "nested": {"path": ["path", *TRACE, "FILE"], "explain": ["explain", "FILE"],
               "export --to=otlp": ["export", "--to=otlp", "-o", "OUT", "FILE"]},
    "episodes": {"path": ["path", *THREAD, "FILE"], "explain": ["explain", *THREAD, "FILE"]},
    "calls": {"requests": ["requests", "--tree", "FILE"], "explain": ["explain", "FILE"]},
    "loop": {"requests": ["requests", "FILE"]},
    "queue": {"requests": ["requests", "FILE"], "explain": ["explain", "FILE"], "diagnose": ["diagnose", "FILE"]},
    "processes": {"requests": ["requests", "--tree", "FILE"], "info": ["info", "FILE"]},
    "reuse": {"info": ["info", "FILE"], "explain": ["explain", "FILE"]},
    "stream": {"info": ["info", "FILE"], "dump": ["dump", "FILE"], "explain": ["explain", *THREAD, "FILE"]},
    "traces": {"info": ["info", "FILE"], "explain": ["explain", "FILE"], "diagnose": ["diagnose", "FILE"]},
    "slow": {"diagnose": ["diagnose", "FILE"], "diagnose --json": ["diagnose", "--json", "FILE"]},
}


def cases():
    """Shape, name, words."""
    for shape in TARGETS:
        for name, words in commands_for(shape):
            yield shape, name, words
    for shape, commands in MORE.items():
        for name, words in commands.items():
            yield shape, name, words
        yield shape, "top", ["top", "--json", "FILE"]
    for shape, tables in TABLES.items():
        for table in tables.split():
            yield shape, f"query {table}", ["query", "--csv", "FILE", f"SELECT * FROM {table}"]
    for form in FORMS:
        yield form, "read", ["info", "FILE"]


def spans_of(n):
    """n spans in a tree of three levels: id, parent, start, end."""
    return [(i, 0 if i == 0 else 1 if i % 2 else max(i - 2, 1), 1000 * i, 1000 * (2 * n - i)) for i in range(n)]


def write_jaeger(path, n):
    spans = [{"traceID": "1", "spanID": f"{i + 1:x}", "operationName": f"op {i}", "startTime": 1_000_000 + start,
              "duration": end - start, "processID": f"p{i % (n // 10)}", "tags": [], "logs": [],
              "references": [{"refType": "CHILD_OF", "traceID": "1", "spanID": f"{parent:x}"}] if parent else []}
             for i, parent, start, end in spans_of(n)]
    processes = {f"p{i}": {"serviceName": f"service {i}", "tags": []} for i in range(n // 10)}
    path.write_text(json.dumps({"data": [{"traceID": "1", "spans": spans, "processes": processes}]}))


def write_zipkin(path, n):
    path.write_text(json.dumps(
        [{"traceId": "1" * 16, "id": f"{i + 1:016x}", "name": f"op {i}", "timestamp": 1_000_000 + start,
          "duration": end - start, "localEndpoint": {"serviceName": f"service {i % (n // 10)}"},
          **({"parentId": f"{parent:016x}"} if parent else {})} for i, parent, start, end in spans_of(n)]))


def write_ftrace(path, n):
    """Threads that run on a CPU one after the other, each woken by the one before."""
    lines = ["# tracer: nop", "#"]
    for i in range(n):
        now, after, at = 100 + i % (n // 4), 100 + (i + 1) % (n // 4), 100 + i / 1000
        lines.append(f"  thread-{now} [000] d... {at:.6f}: sched_wakeup: comm=thread pid={after} prio=120 target_cpu=000")
        lines.append(f"  thread-{now} [000] d... {at + .0005:.6f}: sched_switch: prev_comm=thread prev_pid={now} "
                     f"prev_prio=120 prev_state=S ==> next_comm=thread next_pid={after} next_prio=120")
    path.write_text("\n".join(lines) + "\n")


FORMS = {"jaeger": write_jaeger, "zipkin": write_zipkin, "ftrace": write_ftrace, "otlp": "wide", "otlp-json": "wide",
         "ctf": "thread"}


class Counter:
    """Runs sonde repeatedly under one valgrind, and counts the instructions of each run."""

    def __init__(self, sonde, serve, logs):
        self.logs = logs
        self.process = subprocess.Popen(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
             f"--log-file={logs}/%p", sonde],
            env=os.environ | {"SERVE_PROGRAM": pathlib.Path(sonde).name, "LD_PRELOAD": str(serve)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def count(self, words):
        """Exit status and instructions."""
        self.process.stdin.write("\t".join(["sonde", *words]) + "\n")
        self.process.stdin.flush()
        pid, status = self.process.stdout.readline().split()
        log = (self.logs / pid).read_text()
        return int(status), int(re.search(r"I\s+refs:\s+([\d,]+)", log)[1].replace(",", ""))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Growth:
    def __init__(self, sonde, make_shape, serve, make_stream, directory):
        self.sonde, self.make_shape, self.serve, self.make_stream = sonde, make_shape, serve, make_stream
        self.directory = directory

    def input(self, shape, n):
        """The file of a shape, written on first use."""
        path = self.directory / f"{shape}-{n}"
        if path.exists():
            return path
        maker = FORMS.get(shape)
        if callable(maker):
            maker(path, n)
        elif maker:
            subprocess.run([self.sonde, "export", f"--to={shape}", "-o", path, self.input(maker, n)], check=True,
                           capture_output=True)
        elif shape == "stream":  # with many epochs
            subprocess.run([self.make_stream, self.input("thread", n), path, str(n)], check=True)
        else:
            subprocess.run([self.make_shape, shape, str(n), path], check=True)
        return path

    def count(self, counter, shape, n, words):
        out = self.directory / f"out-{id(counter)}"
        status, count = counter.count([str({"FILE": self.input(shape, n), "OUT": out}.get(word, word))
                                       for word in words])
        if out.is_dir():
            shutil.rmtree(out)
        else:
            out.unlink(missing_ok=True)
        return status, count

    def measure(self, chosen):
        """Shape, name, n, instructions for n and 2 n, and the wait status if a run failed."""
        (self.directory / "logs").mkdir(exist_ok=True)
        counter = Counter(self.sonde, self.serve, self.directory / "logs")
        bases, found = {}, []
        for shape, name, words in chosen:
            n = SIZES.get(shape, SIZE)
            if name not in bases:
                bases[name] = self.count(counter, "thread", 0, words)[1]
            (bad, once), (bad_too, twice) = [self.count(counter, shape, size, words) for size in (n, 2 * n)]
            found.append((shape, name, n, once - bases[name], twice - bases[name], bad or bad_too))
        counter.close()
        return found


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    sonde, make_shape, serve, make_stream = sys.argv[1:5]
    wanted = [case for case in cases() if len(sys.argv) < 6 or " ".join(case[:2]) in sys.argv[5:]]
    with tempfile.TemporaryDirectory() as directory:
        growth = Growth(sonde, make_shape, serve, make_stream, pathlib.Path(directory))
        for shape in {case[0] for case in wanted}:
            for size in (1, 2):
                growth.input(shape, size * SIZES.get(shape, SIZE))
        growth.input("thread", 0)
        workers = os.cpu_count()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            found = [case for some in pool.map(growth.measure, [wanted[i::workers] for i in range(workers)])
                     for case in some]
    report(found)


def report(found):
    failed = []
    for i, (shape, name, n, once, twice, bad) in enumerate(found):
        good = not bad and twice <= LIMIT * once + SLACK
        print(f"{'ok' if good else 'not ok'} {i + 1} - {name} on {shape}")
        if not good:
            failed.append((name, shape, n, once, twice, bad))
    print(f"1..{len(found)}")
    if failed:
        print(f"# {'command':20} {'shape':10} {'n':>6} {'instructions':>14} {'for 2 n':>14} {'ratio':>6}")
    for name, shape, n, once, twice, bad in failed:
        print(f"# {name:20} {shape:10} {n:6} {once:14,} {twice:14,} {twice / max(once, 1):6.2f}"
              + (f"  wait status {bad}" if bad else ""))
    sys.exit(1 if failed else 0)


main()
