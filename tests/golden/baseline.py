#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde learn` and `sonde diagnose -b` on spans with a known change, and on the demo.

usage: baseline.py SONDE

Prints TAP.
"""
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

SONDE = pathlib.Path(sys.argv[1]).resolve()
EDITS = int(os.environ.get("EDITS", 40))
DEMO = pathlib.Path(__file__).resolve().parent.parent.parent / "demo"


def run(*args, code=0):
    done = subprocess.run([SONDE, *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done.stdout if code == 0 else done.stderr


def span(trace, number, operation, start, duration, process, parent=None):
    references = [{"refType": "CHILD_OF", "traceID": trace, "spanID": parent}] if parent else []
    return {"traceID": trace, "spanID": f"{number:016x}", "operationName": operation, "startTime": start,
            "duration": duration, "processID": process, "references": references, "tags": [], "logs": []}


def trace_of(rng, number, query=1, calls=1):
    """A request of `shop` that calls `db`, in µs; `query` is a factor of the time of a call."""
    start, trace = 1_000_000_000_000 + number * 100_000, f"{number + 1:032x}"
    times = [int(query * 1000 * rng.lognormvariate(0, 0.1)) for _ in range(calls)]
    root = span(trace, number * 100 + 1, "GET /cart", start, 1000 + sum(times), "p1")
    spans, at = [root], start + 500
    for i, time in enumerate(times):
        spans.append(span(trace, number * 100 + 2 + i, "SELECT", at, time, "p2", root["spanID"]))
        at += time
    return {"traceID": trace, "spans": spans,
            "processes": {"p1": {"serviceName": "shop", "tags": []}, "p2": {"serviceName": "db", "tags": []}}}


def write(directory, name, traces):
    path = pathlib.Path(directory) / name
    path.write_text(json.dumps({"data": traces}))
    return path


def usual(directory, name="usual.json", first=0, count=200):
    rng = random.Random(first)
    return write(directory, name, [trace_of(rng, first + i) for i in range(count)])


def learned(directory, *inputs):
    baseline = pathlib.Path(directory) / "usual.baseline"
    run("learn", "-q", "-o", baseline, *inputs)
    return baseline


def a_slow_call_is_the_finding_and_its_caller_is_none(directory):
    baseline = learned(directory, usual(directory))
    rng = random.Random(7)
    slow = write(directory, "slow.json", [trace_of(rng, 1000 + i, query=3) for i in range(50)])
    result = json.loads(run("diagnose", "-b", baseline, "--json", slow))
    assert len(result["findings"]) == 1, result
    first = result["findings"][0]
    assert (first["service"], first["operation"], first["direction"]) == ("db", "SELECT", "slower"), first
    assert first["flagged"] == first["spans"] == 50 and first["share"] > 0.9, first
    text = run("diagnose", "-b", baseline, slow)
    assert text.startswith("50 requests take 1.") and "db SELECT" in text, text


def usual_requests_have_no_finding(directory):
    baseline = learned(directory, usual(directory))
    result = json.loads(run("diagnose", "-b", baseline, "--json", usual(directory, "other.json", 5000, 400)))
    assert result["findings"] == [] and result["unknown_types"] == [], result
    assert result["flagged"] <= 0.03 * result["spans"], result
    assert "behave as in the baseline" in run("diagnose", "-b", baseline, pathlib.Path(directory) / "other.json")


def a_faster_call_is_a_finding(directory):
    baseline = learned(directory, usual(directory))
    rng = random.Random(8)
    fast = write(directory, "fast.json", [trace_of(rng, 2000 + i, query=0.2) for i in range(50)])
    result = json.loads(run("diagnose", "-b", baseline, "--json", fast))
    assert [(f["service"], f["direction"]) for f in result["findings"]] == [("db", "faster")], result


def other_calls_are_a_new_type(directory):
    baseline = learned(directory, usual(directory))
    rng = random.Random(9)
    more = write(directory, "more.json", [trace_of(rng, 3000 + i, calls=4) for i in range(30)])
    result = json.loads(run("diagnose", "-b", baseline, "--json", more))
    assert [(t["traces"], t["repetition"]) for t in result["unknown_types"]] == [(30, True)], result
    assert "another number of equal calls" in " ".join(run("diagnose", "-b", baseline, more).split())


def learning_in_steps_equals_learning_at_once(directory):
    a, b = usual(directory, "a.json", 0, 100), usual(directory, "b.json", 10000, 150)
    together = learned(directory, a, b)
    steps = pathlib.Path(directory) / "steps.baseline"
    run("learn", "-q", "-o", steps, b)
    run("learn", "-q", "--into", steps, a)
    run("learn", "-q", "--into", steps, b)  # is in it already
    assert steps.read_bytes() == together.read_bytes()


def every_edit_of_a_report_is_refused(directory):
    baseline = learned(directory, usual(directory))
    rng = random.Random(10)
    slow = write(directory, "slow.json", [trace_of(rng, 1000 + i, query=3) for i in range(30)])
    report = pathlib.Path(directory) / "report.json"
    good = run("diagnose", "-b", baseline, "--json", slow).encode()
    report.write_bytes(good)
    assert "is right" in run("diagnose", "-b", baseline, "--check", report, slow)
    for _ in range(EDITS):
        at = rng.randrange(len(good))
        report.write_bytes(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1:])
        assert "is not the report" in run("diagnose", "-b", baseline, "--check", report, slow, code=1)
    report.write_bytes(good[:-1])
    run("diagnose", "-b", baseline, "--check", report, slow, code=1)


def a_baseline_can_be_queried_with_sql(directory):
    baseline = learned(directory, usual(directory))
    with sqlite3.connect(f"file:{baseline}?mode=ro", uri=True) as db:
        names = {name for name, in db.execute("SELECT DISTINCT operation FROM profiles")}
    assert names == {"GET /cart", "SELECT"}, names
    text = run("info", baseline)
    assert "200 traces" in text and "db SELECT" in text, text
    assert json.loads(run("info", "--json", baseline))["format"] == "baseline"


def a_file_that_is_no_baseline_is_refused(directory):
    spans = usual(directory)
    assert "is not a" in run("diagnose", "-b", spans, spans, code=1)
    assert "No such file" in run("diagnose", "-b", "missing.baseline", spans, code=1)


def too_few_requests_are_not_compared(directory):
    baseline = learned(directory, usual(directory, count=10))
    text = run("diagnose", "-b", baseline, usual(directory, "other.json", 5000, 30))
    assert "30 requests could not be compared with the baseline" in text, text
    assert "not compared: 60 spans" in text, text


def the_demo_is_compared_with_itself(directory):
    baseline = pathlib.Path(directory) / "demo.baseline"
    run("learn", "-q", "--requests", "-o", baseline, DEMO / "demo.sonde")
    result = json.loads(run("diagnose", "--requests", "-b", baseline, "--json", DEMO / "demo.sonde"))
    assert result["spans"] > 300 and result["flagged"] <= 0.03 * result["spans"], result
    assert result["findings"] == [], result


TESTS = [a_slow_call_is_the_finding_and_its_caller_is_none, usual_requests_have_no_finding, a_faster_call_is_a_finding,
         other_calls_are_a_new_type, learning_in_steps_equals_learning_at_once, every_edit_of_a_report_is_refused,
         a_baseline_can_be_queried_with_sql, a_file_that_is_no_baseline_is_refused, too_few_requests_are_not_compared,
         the_demo_is_compared_with_itself]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as directory:
            try:
                test(directory)
                print(f"ok {number} - {test.__name__}")
            except AssertionError as problem:
                failed += 1
                print(f"not ok {number} - {test.__name__}")
                print(*(f"# {line}" for line in str(problem).splitlines()), sep="\n")
    sys.exit(failed > 0)


main()
