#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command reports lost records, and marks what the loss overlaps and nothing else.

usage: losses.py SONDE

The trace has two requests; 7 events are lost during the first.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SONDE = pathlib.Path(sys.argv[1]).resolve()
DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "requests" / "fork.psv"
LOST_BEFORE = '"svca"|"20"|"1009000"'  # the event that follows the loss on its CPU


def make_trace(directory):
    """A copy of the known trace with a loss."""
    trace = pathlib.Path(directory) / "lossy.psv"
    lines = DATA.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(LOST_BEFORE))
    trace.write_text("\n".join([*lines[:at], "Lost 7 events", *lines[at:]]) + "\n")
    trace.with_suffix(".psv.meta").write_text(DATA.with_suffix(".psv.meta").read_text())
    return trace


def run(*args):
    return subprocess.run([SONDE, *args], capture_output=True, text=True, timeout=60, check=True)


def warns(*args):
    done = run(*args)
    assert "7 records lost" in done.stderr, f"no warning, but {done.stderr!r}"
    return done.stdout


def requests_are_marked(trace):
    result = json.loads(warns("requests", "--json", trace))
    marks = [(request["lost"], request.get("incomplete", False)) for request in result["requests"]]
    assert marks[0] == (7, True), f"first request: {marks[0]}"
    assert len(marks) > 1 and all(mark == (0, False) for mark in marks[1:]), f"others: {marks[1:]}"
    spans = {span["service"]: span.get("incomplete", False) for span in result["requests"][0]["spans"]}
    assert any(spans.values()) and not all(spans.values()), f"spans: {spans}"
    assert result["lost"] == 7 and result["losses"][0]["count"] == 7, result["losses"]
    titles = [line for line in warns("requests", "--tree", trace).splitlines() if " trace " in line]
    assert ["7 records lost" in title for title in titles] == [True] + [False] * (len(titles) - 1), titles


def path_is_marked(trace):
    first, *others = (request["trace_id"] for request in
                      json.loads(run("requests", "--json", trace).stdout)["requests"])
    steps = json.loads(warns("path", "--json", "--trace", first, trace))
    assert any(step.get("incomplete") for step in steps), steps
    steps = json.loads(warns("path", "--json", "--trace", others[0], trace))
    assert not any(step.get("incomplete") for step in steps), steps
    assert "7 records lost" in warns("path", "--trace", first, trace).splitlines()[-1]


def query_is_marked(trace):
    rows = json.loads(warns("query", "--json", trace,
                            "SELECT root, max(lost) AS lost, max(incomplete) AS incomplete FROM requests "
                            "GROUP BY root ORDER BY min(start)"))
    assert [(row["lost"], row["incomplete"]) for row in rows][:2] == [(7, 1), (0, 0)], rows
    losses = json.loads(warns("query", "--json", trace, "SELECT count, cpu, tid FROM losses"))
    assert losses == [{"count": 7, "cpu": 0, "tid": None}], losses


def export_is_marked(trace):
    text = warns("export", "--to=otlp-json", trace)
    spans = [span for resource in json.loads(text)["resourceSpans"] for scope in resource["scopeSpans"]
             for span in scope["spans"]]
    lost = [[a["value"]["intValue"] for a in span["attributes"] if a["key"] == "sonde.lost"] for span in spans]
    assert ["7"] in lost and [] in lost, lost
    warns("export", "--to=json", trace)
    warns("export", "--to=ctf", "-o", trace.parent / "ctf", trace)


def explain_is_marked(trace):
    first, *others = (request["trace_id"] for request in
                      json.loads(run("requests", "--json", trace).stdout)["requests"])
    assert "7 records lost" in run("explain", "--trace", first, trace).stdout
    assert "lost" not in run("explain", "--trace", others[0], trace).stdout


def diagnose_is_marked(trace):
    result = json.loads(warns("diagnose", "--json", trace))
    assert result["left_out"] == 1 and result["lost"] == 7 and result["incomplete"], result
    assert "left out 1 of " in warns("diagnose", trace)


def main():
    cases = [requests_are_marked, path_is_marked, query_is_marked, export_is_marked, explain_is_marked,
             diagnose_is_marked]
    if subprocess.run([SONDE, "query", "--complete"], capture_output=True).returncode:
        cases.remove(query_is_marked)
    failed = 0
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as directory:
        trace = make_trace(directory)
        for number, case in enumerate(cases, 1):
            try:
                case(trace)
                print(f"ok {number} - {case.__name__}")
            except Exception as problem:  # any problem fails the case
                failed += 1
                print(f"not ok {number} - {case.__name__}\n# {problem!r}")
    sys.exit(failed > 0)


main()
