#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bank of demo/bank: all its answers are right, each fault makes it slow, nothing stays behind.

usage: test_bank.py BUILD

What the bank needs is set up in BUILD/bank; where it cannot be, the test is skipped.
Prints TAP.  A fault is compared with a run without it that comes right before; both are
measured again if the machine was busy with something else.
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

SLOWER = 1.4  # with a fault, the 95th percentile is at least so many times what it was
TRIES = 4
TOUCHED = {"pool": "login"}  # all others are seen on the home page


SONDE = BUILD / "sonde"
SPANS = {"frontend": 11, "users": 5, "contacts": 2}  # that a visit has in each; elsewhere it depends


def ask_customers(the_bank, seconds=2.5, seed=1, before=()):
    load = [sys.executable, DEMO / "load.py", "--json", "--seconds", str(seconds), "--seed", str(seed),
            str(the_bank.ports["frontend"])]
    done = subprocess.run([*before, *load], stdout=subprocess.PIPE, text=True, timeout=300)
    summary = json.loads(done.stdout)
    assert done.returncode == 0 and not summary["wrong"], f"wrong answers: {summary['wrong'][:3]}"
    return summary["operations"]


def certain(condition, words):
    """What no load of the machine excuses."""
    if not condition:
        print(f"# failed (no retry): {words}", flush=True)
        raise AssertionError(words)


def can_record():
    told = json.loads(subprocess.run([SONDE, "doctor", "--json"], stdout=subprocess.PIPE).stdout)
    return all(feature["ok"] for feature in told["features"] if feature["required"])


def every_span_is_recorded(the_bank):
    """With its parent, and with its end."""
    capture = BUILD / "bank" / "test.sonde"
    visits = record(the_bank, capture)
    rows = query(capture, "SELECT service, count(*) AS spans FROM spans GROUP BY service")
    spans = {row["service"]: row["spans"] for row in rows}
    expected = {name: count * visits["home"]["count"] for name, count in SPANS.items()}
    certain(spans | expected == spans and {"ledger", "balance"} < {*spans}, f"spans: {spans}, not {expected}")
    orphans = query(capture, "SELECT * FROM spans WHERE parent IS NULL AND parent_span_id != ''")
    certain(not orphans, f"{len(orphans)} spans without their parents: {orphans[:3]}")
    audits = "SELECT trace_id FROM spans WHERE operation = 'audit'"  # which are nobody's requests
    longest = query(capture, f"SELECT max(duration) AS longest FROM spans WHERE trace_id NOT IN ({audits})")[0]["longest"]
    assert longest <= 1e9 * sum(operation["max"] for operation in visits.values()), f"one takes {longest} ns"


def record(the_bank, capture):
    """What customers saw meanwhile; again, if the recorder had no CPU and so has lost something."""
    pids = ",".join(map(str, the_bank.pids()))
    for _ in verdict.attempts(TRIES):
        visits = ask_customers(the_bank, before=[SONDE, "record", "-q", "-o", capture, "-p", pids, "--"])
        told = subprocess.run([SONDE, "info", "--json", capture], stdout=subprocess.PIPE, check=True)
        info = json.loads(told.stdout)
        accounted.check(info)
        if not info["losses"]:
            return visits
    raise AssertionError(f"{info['lost']} records are lost")


def query(capture, sql):
    told = subprocess.run([SONDE, "query", "--json", capture, sql], stdout=subprocess.PIPE, check=True)
    return json.loads(told.stdout)


def fault_is_seen(the_bank, fault):
    """In what customers see, and only while it is switched on."""
    name, seen, usual = TOUCHED.get(fault, "home"), [], float("inf")
    for seed, _ in enumerate(verdict.attempts(TRIES)):
        before = ask_customers(the_bank, 1.5, seed)[name]["p95"]
        usual = min(usual, before)  # others who have the CPUs only make it longer
        the_bank.switch(fault, True)
        during = ask_customers(the_bank, 1.5, seed)[name]["p95"]
        the_bank.switch(fault, False)
        seen.append(f"{1000 * before:.0f} ms, then {1000 * during:.0f} ms")
        if during > SLOWER * usual:
            print(f"# {fault}: p95 of {name}: {'; '.join(seen)}")
            return
    raise AssertionError(f"p95 of {name} with and without {fault}: {'; '.join(seen)}")


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps what SDKs export."""
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
    return [span for span in spans if "service" in span]  # and not what else is told of them


def sync_is_seen(the_bank, with_threads, one_by_one):
    """Even logging out waits for others, though it needs nobody."""
    before, seen = min(operations["logout"]["p95"] for operations in with_threads), []
    for seed, _ in enumerate(verdict.attempts(TRIES)):
        operations = ask_customers(the_bank, 2.5, seed) if seed else one_by_one
        during = operations["logout"]["p95"]
        seen.append(f"{1000 * during:.0f} ms")
        if during > SLOWER * before:
            print(f"# sync: p95 of logout: {1000 * before:.0f} ms, then {'; '.join(seen)}")
            return
    raise AssertionError(f"p95 of logout: {1000 * before:.0f} ms, then {'; '.join(seen)}")


def request_is_one_trace(operations):
    """Through all services, each of its spans below one that is there."""
    spans = [span for span in exported_spans() if span["trace_id"] == operations["home"]["slowest"]]
    services = {span["service"] for span in spans}
    assert services >= {"frontend", "users", "contacts", "balance", "ledger"}, f"spans of {services}"
    known = {span["span_id"] for span in spans}
    roots = [span for span in spans if span.get("parent_span_id") not in known]
    assert len(roots) == 1 and roots[0]["service"] == "frontend", roots


def processes_of(directory):
    """Those whose environment names it."""
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


def all_has_ended(directory, pids=()):
    """What was killed may take a moment to be gone, on a busy machine a long one."""
    until = time.monotonic() + 60
    while left := [pid for pid in {*pids, *processes_of(directory)} if not is_gone(pid)]:
        assert time.monotonic() < until, f"processes {left} go on"
        time.sleep(0.05)
    assert not directory.exists(), f"{directory} is still there"


def interrupted_run_leaves_nothing():
    before = set((BUILD / "bank").glob("run-*"))
    process = subprocess.Popen([DEMO / "run", "--build", BUILD, "--seconds", "60", "--record", "/dev/null"],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    process.stdout.readline()  # the services run when it speaks
    directory = (set((BUILD / "bank").glob("run-*")) - before).pop()
    assert processes_of(directory), "nothing runs"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(120) == 130, f"exit code {process.returncode}"
    process.stdout.close()
    all_has_ended(directory)


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
            threads = tap.case("answers are right", ask_customers, the_bank)
            if can_record():
                tap.case("every span of every request is recorded", every_span_is_recorded, the_bank)
            for fault in bank.FAULTS:
                tap.case(f"fault {fault} is seen by customers", fault_is_seen, the_bank, fault)
            afterwards = tap.case("answers are right after all faults", ask_customers, the_bank, 1.5)
        tap.case("all ends with the bank", all_has_ended, the_bank.directory, pids)
        with collector() as env:
            with bank.Bank(BUILD, "sync", env=env) as the_bank:
                one_by_one = tap.case("answers are right with workers of type sync", ask_customers, the_bank)
                tap.case("workers of type sync are seen by customers", sync_is_seen, the_bank,
                         (threads, afterwards), one_by_one)
            tap.case("a request is one trace through all services", request_is_one_trace, one_by_one)
    except setup.Missing as why:
        print(f"1..0 # SKIP {str(why).splitlines()[0]}")
        return 0
    tap.case("an interrupted run leaves nothing behind", interrupted_run_leaves_nothing)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


sys.exit(main())
