#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test demo/bank: all replies are right, each fault makes it slow, and it leaves nothing behind.

usage: test_bank.py BUILD

Installs the bank's dependencies in BUILD/bank; without them, the test is skipped.  Prints TAP.
Each fault is compared with a run without it right before; both are repeated if the host was busy
with other work.
"""
import contextlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
DEMO = pathlib.Path(__file__).resolve().parent.parent.parent / "demo" / "bank"
REPOSITORY = DEMO.parent.parent
sys.path[:0] = [str(DEMO), str(REPOSITORY / "tools"), str(REPOSITORY / "tests" / "live")]
sys.dont_write_bytecode = True
import accounted  # noqa: E402
import bank  # noqa: E402
import setup  # noqa: E402
import verdict  # noqa: E402

SLOWER = 1.4  # minimum ratio of the 95th percentiles with and without a fault
TRIES = 4
AFFECTED = {"pool": "login"}  # all other faults affect the home page


SONDE = BUILD / "sonde"
SPANS = {"frontend": 11, "users": 5, "contacts": 2}  # spans of a visit, by service; the number varies in others


def run_customers(the_bank, seconds=2.5, seed=1, before=()):
    load = [sys.executable, DEMO / "load.py", "--json", "--seconds", str(seconds), "--seed", str(seed),
            str(the_bank.ports["frontend"])]
    done = subprocess.run([*before, *load], stdout=subprocess.PIPE, text=True, timeout=300)
    summary = json.loads(done.stdout)
    assert done.returncode == 0 and not summary["wrong"], f"wrong replies: {summary['wrong'][:3]}"
    return summary["operations"]


def require(condition, message):
    """Fail without a retry: a busy host is no excuse."""
    if not condition:
        print(f"# failed (no retry): {message}", flush=True)
        raise AssertionError(message)


def can_record():
    report = json.loads(subprocess.run([SONDE, "doctor", "--json"], stdout=subprocess.PIPE).stdout)
    return all(feature["ok"] for feature in report["features"] if feature["required"])


def every_span_is_recorded(the_bank):
    """Every span of every request is recorded, with its parent and its end."""
    capture = BUILD / "bank" / "test.sonde"
    visits = record(the_bank, capture)
    rows = query(capture, "SELECT service, count(*) AS spans FROM spans GROUP BY service")
    spans = {row["service"]: row["spans"] for row in rows}
    expected = {name: count * visits["home"]["count"] for name, count in SPANS.items()}
    require(spans | expected == spans and {"ledger", "balance"} < {*spans}, f"spans: {spans}, not {expected}")
    orphans = query(capture, "SELECT * FROM spans WHERE parent IS NULL AND parent_span_id != ''")
    require(not orphans, f"{len(orphans)} spans without their parents: {orphans[:3]}")
    audits = "SELECT trace_id FROM spans WHERE operation = 'audit'"  # which are not requests of customers
    longest = query(capture, f"SELECT max(duration) AS longest FROM spans WHERE trace_id NOT IN ({audits})")[0]["longest"]
    assert longest <= 1e9 * sum(operation["max"] for operation in visits.values()), f"the longest span takes {longest} ns"


def record(the_bank, capture):
    """Record customers and return their results; retry if records were lost for lack of CPU time."""
    pids = ",".join(map(str, the_bank.pids()))
    for _ in verdict.attempts(TRIES):
        visits = run_customers(the_bank, before=[SONDE, "record", "-q", "-o", capture, "-p", pids, "--"])
        output = subprocess.run([SONDE, "info", "--json", capture], stdout=subprocess.PIPE, check=True)
        info = json.loads(output.stdout)
        accounted.check(info)
        if not info["losses"]:
            return visits
    raise AssertionError(f"{info['lost']} records were lost")


def query(capture, sql):
    output = subprocess.run([SONDE, "query", "--json", capture, sql], stdout=subprocess.PIPE, check=True)
    return json.loads(output.stdout)


def fault_slows_customers(the_bank, fault):
    """A fault makes replies slower, but only while it is on."""
    name, measured, usual = AFFECTED.get(fault, "home"), [], float("inf")
    for seed, _ in enumerate(verdict.attempts(TRIES)):
        before = run_customers(the_bank, 1.5, seed)[name]["p95"]
        usual = min(usual, before)  # other load only makes it longer
        the_bank.switch(fault, True)
        during = run_customers(the_bank, 1.5, seed)[name]["p95"]
        the_bank.switch(fault, False)
        measured.append(f"{1000 * before:.0f} ms, then {1000 * during:.0f} ms")
        if during > SLOWER * usual:
            print(f"# {fault}: p95 of {name}: {'; '.join(measured)}")
            return
    raise AssertionError(f"p95 of {name} without and with {fault}: {'; '.join(measured)}")


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps the requests that SDKs export."""
    kept = []

    def do_POST(self):
        self.kept.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def collector():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "no_proxy": "*"}
        server.shutdown()


def exported_spans():
    file = BUILD / "bank" / "exported.otlp"
    spans = []
    for body in Collector.kept:
        file.write_bytes(body)
        lines = subprocess.run([SONDE, "dump", "--json", file], stdout=subprocess.PIPE, check=True).stdout
        spans += map(json.loads, lines.splitlines())
    file.unlink()
    return [span for span in spans if "service" in span]  # without attributes


def sync_slows_customers(the_bank, with_threads, one_by_one):
    """With sync workers, even a logout waits for other requests, though it calls no service."""
    before, measured = min(operations["logout"]["p95"] for operations in with_threads), []
    for seed, _ in enumerate(verdict.attempts(TRIES)):
        operations = run_customers(the_bank, 2.5, seed) if seed else one_by_one
        during = operations["logout"]["p95"]
        measured.append(f"{1000 * during:.0f} ms")
        if during > SLOWER * before:
            print(f"# sync: p95 of logout: {1000 * before:.0f} ms, then {'; '.join(measured)}")
            return
    raise AssertionError(f"p95 of logout: {1000 * before:.0f} ms, then {'; '.join(measured)}")


def request_is_one_trace(operations):
    """A request is one trace through all services, and each span has its parent."""
    spans = [span for span in exported_spans() if span["trace_id"] == operations["home"]["slowest"]]
    services = {span["service"] for span in spans}
    assert services >= {"frontend", "users", "contacts", "balance", "ledger"}, f"spans of {services}"
    known = {span["span_id"] for span in spans}
    roots = [span for span in spans if span.get("parent_span_id") not in known]
    assert len(roots) == 1 and roots[0]["service"] == "frontend", roots


def processes_of(directory):
    """The processes whose environment contains the directory."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if str(directory).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def check_all_ended(directory, pids=()):
    """All processes exit, and the directory is removed; on a busy host, this can take a while."""
    until = time.monotonic() + 60
    while left := [pid for pid in {*pids, *processes_of(directory)} if not is_gone(pid)]:
        assert time.monotonic() < until, f"processes {left} still run"
        time.sleep(0.05)
    assert not directory.exists(), f"{directory} still exists"


def interrupted_run_leaves_nothing():
    before = set((BUILD / "bank").glob("run-*"))
    process = subprocess.Popen([DEMO / "run", "--build", BUILD, "--seconds", "60", "--record", "/dev/null"],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    process.stdout.readline()  # the services run once it prints a line
    directory = (set((BUILD / "bank").glob("run-*")) - before).pop()
    assert processes_of(directory), "no process runs"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(120) == 130, f"exit code {process.returncode}"
    process.stdout.close()
    check_all_ended(directory)


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def case(self, name, check, *args):
        self.count += 1
        try:
            result = check(*args)
            print(f"ok {self.count} - {name}", flush=True)
            return result
        except Exception as problem:
            self.failed += 1
            print(f"not ok {self.count} - {name}\n# {problem!r}", flush=True)
            return None


def main():
    tap = Tap()
    try:
        with bank.Bank(BUILD, wrap=[SONDE, "run", "--"]) as the_bank:
            pids = the_bank.pids()
            threads = tap.case("replies are right", run_customers, the_bank)
            if can_record():
                tap.case("every span of every request is recorded", every_span_is_recorded, the_bank)
            for fault in bank.FAULTS:
                tap.case(f"fault {fault} slows customers", fault_slows_customers, the_bank, fault)
            afterwards = tap.case("replies are right after all faults", run_customers, the_bank, 1.5)
        tap.case("all processes end with the bank", check_all_ended, the_bank.directory, pids)
        with collector() as env:
            with bank.Bank(BUILD, "sync", env=env) as the_bank:
                one_by_one = tap.case("replies are right with sync workers", run_customers, the_bank)
                tap.case("sync workers slow customers", sync_slows_customers, the_bank,
                         (threads, afterwards), one_by_one)
            tap.case("a request is one trace through all services", request_is_one_trace, one_by_one)
    except setup.Missing as why:
        print(f"1..0 # SKIP {str(why).splitlines()[0]}")
        return 0
    tap.case("an interrupted run leaves nothing behind", interrupted_run_leaves_nothing)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


sys.exit(main())
