#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bank behind `sonde annotate` with a real Jaeger: slow spans there have the right cause.

usage: jaeger.py BUILD [--built] [FAULT]...

Jaeger all-in-one comes from Go's module proxy and is built once, in BUILD/jaeger, which takes four
minutes of CPU time; --built: only if that has been done.  Without Jaeger or the bank, the test is skipped.
Prints TAP, and one request before and after.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
os.environ |= {"SONDE": str(BUILD / "sonde"), "WORKLOADS": str(BUILD / "tests/annotate")}
sys.path[:0] = [str(REPOSITORY / "demo" / "bank"), str(HERE)]
sys.dont_write_bytecode = True
import annotating  # noqa: E402
import bank  # noqa: E402
import harness  # noqa: E402
import setup  # noqa: E402
from annotating import DIRECTLY, free_ports  # noqa: E402

VERSION = "1.76.0"
MODULE = f"github.com/jaegertracing/jaeger@v{VERSION}"
PATIENCE = 60  # seconds
SECONDS = 5  # of load per fault
FLUSH = 200  # ms after which services in Python export their spans
THRESHOLD = 20  # ms
SHOWN = 0.05  # the share of a request that a wait takes at least, to be in the example
EXAMPLE = "lock"
SLOWER = 0.5  # the share of the slowest requests that must have the cause of the fault
# The operation that a fault slows down, and causes that name the fault.
CAUSES = {
    "slow-query": ("GET /home", r"^postgres \([^)]*\): (runs|waits for a CPU)"),
    "lock": ("GET /home", r"auditor.*lock it holds"),
    "hog": ("GET /home", r"waits for a CPU.*\bhog \(\d+\) ran"),
    "flush": ("GET /home", r"^contacts.*fsync"),
    "pool": ("POST /login", r"^users.*while users .*waits for a lock"),
    "delay": ("GET /home", r"^relay.py"),
}
# On a fast disk, the wait for a CPU after each of many calls takes longer than the calls: they are child spans, at
# least so many of the 128.
CALLS = {"flush": (r"fsync of \S*seen", 64)}


class Skip(Exception):
    """Jaeger cannot run here."""


# Jaeger

def go(*arguments, **how):
    done = subprocess.run(["nice", "go", *arguments], capture_output=True, text=True, timeout=3600, **how)
    if done.returncode:
        reason = re.search(r'"Error": "(.*)"', done.stdout)  # of a command that prints JSON
        raise Skip(f"cannot build Jaeger: {reason[1] if reason else (done.stderr.strip().splitlines() or ['?'])[-1]}")
    return done.stdout


def build_jaeger(only_built):
    """The program; the module contains all that it needs, except for the pages of its user interface."""
    place = BUILD / "jaeger"
    program, source = place / f"all-in-one-{VERSION}", place / "source"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        if only_built:
            raise Skip("Jaeger was not built yet: run 'make jaeger'")
        if not shutil.which("go"):
            raise Skip("Go is not installed; run 'tools/setup jaeger'")
        print("# building Jaeger, which takes some minutes", flush=True)
        module = json.loads(go("mod", "download", "-json", MODULE, cwd=place))
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(module["Dir"], source)
        subprocess.run(["chmod", "-R", "u+w", source], check=True)  # the cache is read-only
        go("build", "-buildvcs=false", "-o", place / "new", "./cmd/all-in-one", cwd=source)
        shutil.rmtree(source)
        (place / "new").rename(program)
    return program


def span_of(raw, processes):
    parents = [r["spanID"] for r in raw["references"] if r["refType"] == "CHILD_OF"]
    return {"id": raw["spanID"], "parent": parents[0] if parents else None, "name": raw["operationName"],
            "service": processes[raw["processID"]]["serviceName"], "start": raw["startTime"], "duration": raw["duration"],
            "tags": {tag["key"]: tag["value"] for tag in raw["tags"]}}


def is_added(span):
    return span["tags"].get("otel.scope.name") == "sonde"


class Jaeger:
    def __init__(self, program):
        names = ["collector.otlp.http", "query.http-server", "admin.http", "collector.otlp.grpc", "collector.grpc-server",
                 "collector.http-server", "query.grpc-server"]
        ports = dict(zip(names, free_ports(len(names))))
        self.url, self.query = (f"http://127.0.0.1:{ports[name]}" for name in names[:2])
        self.log = open(BUILD / "jaeger" / "log", "wb")
        self.process = subprocess.Popen(
            [program, *(f"--{name}.host-port=127.0.0.1:{port}" for name, port in ports.items())],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=BUILD / "jaeger",
            env=annotating.ENV | {"SPAN_STORAGE_TYPE": "memory"})
        harness.wait_until(self.is_up, "Jaeger runs", PATIENCE)

    def is_up(self):
        if self.process.poll() is not None:
            raise Skip(f"Jaeger does not start: {(BUILD / 'jaeger' / 'log').read_text().splitlines()[-1]}")
        with contextlib.suppress(OSError):
            return self.get("services") is not None
        return False

    def get(self, path, **parameters):
        with DIRECTLY.open(f"{self.query}/api/{path}?{urllib.parse.urlencode(parameters)}", timeout=PATIENCE) as reply:
            return json.load(reply)["data"] or []

    def traces(self, operation, since, until, service="frontend"):
        """The traces of an operation, or of all, in this time (in s), as lists of spans."""
        which = {"operation": operation} if operation else {}
        found = self.get("traces", service=service, limit=5000, start=int(since * 1e6), end=int(until * 1e6), **which)
        return [[span_of(span, trace["processes"]) for span in trace["spans"]] for trace in found]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


# Judgement

def root_of(trace):
    ids = {span["id"] for span in trace}
    return min((span for span in trace if span["parent"] not in ids), key=lambda span: span["start"])


def cause_of(trace, span):
    """The cause that the span, or the child span that was added later, contains."""
    for one in (span, *(s for s in trace if s["parent"] == span["id"] and is_added(s))):
        if "sonde.cause" in one["tags"]:
            return one["tags"]["sonde.cause"]
    return None


def run_customers(the_bank, seed):
    command = [sys.executable, REPOSITORY / "demo/bank/load.py", "--json", "--seconds", str(SECONDS), "--seed", str(seed),
               str(the_bank.ports["frontend"])]
    since = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"wrong replies: {done.stdout[-300:]}")
    return since, time.time(), json.loads(done.stdout)["operations"]


def wait_for_spans(jaeger, fault, times):
    """Waits until the requests have spans of all services; those in C++ export theirs every 5 s."""
    def are_complete():
        return all({"ledger", "balance"} <= {span["service"] for span in trace}
                   for trace in requests(jaeger, fault, times) if root_of(trace)["name"] == "GET /home")
    harness.wait_until(are_complete, "all services have exported their spans", PATIENCE)


def inject(the_bank, fault, seed):
    """When customers came while the bank had the fault."""
    the_bank.switch(fault, True)
    since, until, _ = run_customers(the_bank, seed)
    the_bank.switch(fault, False)
    return since, until


def requests(jaeger, fault, times):
    """The traces of customers with the fault, slowest first."""
    operation, _ = CAUSES[fault]
    traces = [trace for trace in jaeger.traces(operation, *times) if root_of(trace)["name"] == operation]
    return sorted(traces, key=lambda trace: -root_of(trace)["duration"])


def is_named(fault, trace):
    """Whether the cause of the root, or enough child spans, name the fault."""
    if re.search(CAUSES[fault][1], cause_of(trace, root_of(trace)) or ""):
        return True
    if fault not in CALLS:
        return False
    expected, least = CALLS[fault]
    return least <= sum(span["tags"].get("sonde.count", 1) for span in trace
                        if is_added(span) and re.search(expected, span["tags"].get("sonde.description", "")))


def judge(fault, traces):
    """Most of the slowest third name the fault."""
    slowest = traces[:max(3, len(traces) // 3)]
    named = [trace for trace in slowest if is_named(fault, trace)]
    others = [cause_of(trace, root_of(trace)) for trace in slowest if trace not in named]
    example = cause_of(named[0], root_of(named[0])) if named else None
    print(f"# {fault}: {len(named)} of the {len(slowest)} slowest of {len(traces)} requests name it, such as '{example}'",
          flush=True)
    assert len(traces) >= 10, f"{len(traces)} traces"
    assert len(named) >= SLOWER * len(slowest), f"wrong causes: {others[:5]}"


def count_unexplained(jaeger, since):
    """The number of slow spans and of those without annotation, by service and operation."""
    counts = {}
    for service in jaeger.get("services"):
        for trace in jaeger.traces(None, since, time.time(), service):
            for span in trace:
                if span["service"] == service and span["duration"] > 1000 * THRESHOLD and not is_added(span):
                    count = counts.setdefault(f"{service} {span['name']}", [0, 0])
                    count[0] += 1
                    count[1] += cause_of(trace, span) is None
    return {name: f"{missing} of {slow}" for name, (slow, missing) in sorted(counts.items()) if missing}


def time_of(span):
    """In ms; of equal waits that were folded, their sum."""
    return span["tags"].get("sonde.wait_time", 1000 * span["duration"]) / 1e6


def words_of(span):
    words = span["tags"].get("sonde.cause") or span["tags"].get("sonde.description")
    return [words] if words else []


def lines_of(trace, with_sonde):
    """The trace as text, without short waits; without what sonde added, it is as the services sent it."""
    root, lines, below = root_of(trace), [], {}
    for span in sorted(trace, key=lambda span: span["start"]):
        if not is_added(span) or (with_sonde and time_of(span) > SHOWN * time_of(root)):
            below.setdefault(span["parent"], []).append(span)

    def show(span, depth):
        lines.append(f"{time_of(span):8.1f} ms  {'  ' * depth}{span['service']} {span['name']}")
        if with_sonde:
            lines.extend(f"{'':13}{'  ' * depth}  {words}" for words in words_of(span))
        for child in below.get(span["id"], []):
            show(child, depth + 1)
    show(root, 0)
    return lines


def show_example(traces):
    """One request in which nothing was annotated late."""
    trace = next((t for t in traces if "sonde.cause" in root_of(t)["tags"]), traces[0])
    for name, with_sonde in (("before", False), ("after", True)):
        print(f"# {name}", *(f"#   {line}" for line in lines_of(trace, with_sonde)), sep="\n", flush=True)


def run(faults, only_built):
    harness.need_recording()
    with contextlib.suppress(PermissionError):
        os.nice(annotating.PRIORITY)  # Jaeger and the bank as well
    program, failed = build_jaeger(only_built), 0
    harness.SCRATCH.mkdir(parents=True, exist_ok=True)
    with Jaeger(program) as jaeger, annotating.Annotate("-a", f"--threshold={THRESHOLD}ms", to=jaeger.url) as annotate:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": annotate.url(), "OTEL_BSP_SCHEDULE_DELAY": str(FLUSH)}
        with bank.Bank(BUILD, wrap=[BUILD / "sonde", "run", "--"], env=env) as the_bank:
            run_customers(the_bank, 0)  # warms up
            times = {fault: inject(the_bank, fault, number) for number, fault in enumerate(faults, 1)}
            wait_for_spans(jaeger, faults[-1], times[faults[-1]])
            traces = {fault: requests(jaeger, fault, times[fault]) for fault in faults}
            missing = count_unexplained(jaeger, min(times.values())[0])
        print(f"# {json.dumps(annotate.status())}")
    for number, fault in enumerate(faults, 1):
        try:
            judge(fault, traces[fault])
            print(f"ok {number} - {fault} is named in Jaeger", flush=True)
        except AssertionError as problem:
            failed += 1
            print(f"not ok {number} - {fault} is named in Jaeger\n# {problem}", flush=True)
    show_example(traces[EXAMPLE if EXAMPLE in faults else faults[0]])
    print(f"# slow spans without annotation: {missing}")
    print(f"1..{len(faults)}")
    return 1 if failed else 0


def main():
    only_built = "--built" in sys.argv
    try:
        return run([word for word in sys.argv[2:] if not word.startswith("--")] or list(CAUSES), only_built)
    except (Skip, harness.Skip, setup.Missing) as why:
        print(f"1..0 # SKIP {str(why).splitlines()[0]}")
        return 0
    finally:
        shutil.rmtree(harness.SCRATCH, ignore_errors=True)


sys.exit(main())
