#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the requests that sonde rebuilds from saved captures.

usage: requests.py SONDE

The JSON follows its schema; spans form trees; exported spans are read back unchanged; paths
tile each request.  The trees of a MiSeRTrace log equal those of MiSeRTrace itself, where those
are correct: doc/requests.md lists the differences.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import invariants  # noqa: E402
import schema  # noqa: E402

DATA = HERE.parent / "data"
DEMO = HERE.parent.parent / "demo" / "demo.sonde"
FORK = DATA / "requests" / "fork.psv"
HOSTS = [DATA / "hosts" / "front.sonde", DATA / "hosts" / "back.sonde"]
THEIRS = HERE.parent.parent.parent / "shared" / "data" / "misertrace"  # third-party data, if available
PATHS = 20  # of the slowest requests


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=240)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def ask(sonde, command, *args):
    return json.loads(run(sonde, command, "--json", *args))


def spans_of(requests):
    return [span for request in requests["requests"] for span in request["spans"]]


def check_request(request):
    root, *rest = request["spans"]
    assert "parent_span_id" not in root and (root["start"], root["end"]) == (request["start"], request["end"]), request
    known = {root["span_id"]: root}
    for span in rest:
        assert span["parent_span_id"] in known, f"{span} precedes its parent"
        assert span["start"] >= known[span["parent_span_id"]]["start"], f"{span} starts before its parent"
        assert span["end"] >= span["start"] and span["span_id"] not in known, span
        known[span["span_id"]] = span
    for span in known.values():
        known = sum(span["states"].values())
        assert known <= span["end"] - span["start"], f"{known} ns of states in {span}"


def requests_are_trees(sonde, *inputs):
    said = ask(sonde, "requests", *inputs)
    wrong = schema.check(said, schema.load("requests"))
    assert not wrong, wrong
    assert said["requests"], "there are no requests"
    for request in said["requests"]:
        check_request(request)
    ids = [span["span_id"] for span in spans_of(said)]
    assert len(set(ids)) == len(ids), "ids are not unique"
    whole = [r for r in said["requests"] if not {"parent_unknown", "no_reply"} & r["spans"][0].keys()]
    assert sum(entry["count"] for entry in said["entries"]) >= len(whole), "the summary misses some"
    for entry in said["entries"]:
        assert sum(shape["count"] for shape in entry["shapes"]) == entry["count"], entry


def the_slowest_are_the_slowest(sonde):
    every = [r for r in ask(sonde, "requests", DEMO)["requests"] if not {"parent_unknown", "no_reply"} & r["spans"][0].keys()]
    slowest = ask(sonde, "requests", "-n", 5, DEMO)["requests"]
    assert [r["duration"] for r in slowest] == sorted((r["duration"] for r in every), reverse=True)[:5], slowest
    explained = ask(sonde, "explain", "-n", 5, DEMO)
    assert [a["span"]["trace_id"] for a in explained] == [r["trace_id"] for r in slowest], "explain shows other requests"


def exported_requests_are_read_again(sonde):
    with tempfile.TemporaryDirectory() as scratch:
        for target in ("otlp", "otlp-json"):
            file = pathlib.Path(scratch) / target
            run(sonde, "export", f"--to={target}", "-o", file, DEMO)
            read = {s["span_id"]: s for s in map(json.loads, run(sonde, "dump", "--json", file).splitlines())}
            told = {(s["span_id"]): (r["trace_id"], s.get("parent_span_id"), s["service"], s["pid"], s["tid"], s["end"] - s["start"])
                    for r in ask(sonde, "requests", DEMO)["requests"] for s in r["spans"]}
            got = {i: (s["trace_id"], s.get("parent_span_id"), s["service"], s["pid"], s["tid"], s["end"] - s["start"])
                   for i, s in read.items()}
            assert got == told, f"{target}: {len(set(got.items()) ^ set(told.items()))} differences"
            # explained together with the capture, they give the same account
            accounts = [ask(sonde, "explain", *inputs) for inputs in ([DEMO], [DEMO, file])]
            assert accounts[0] == accounts[1], f"{target}: another account"


def paths_tile_requests(sonde):
    for request in ask(sonde, "requests", "-n", PATHS, DEMO)["requests"]:
        steps = ask(sonde, "path", "--trace", request["trace_id"], DEMO)
        wrong = schema.check(steps, schema.load("path"))
        wrong += invariants.tree_complaints(steps, request["start"], request["end"])
        assert not wrong, wrong


def the_demo_is_explained_without_spans(sonde):
    """The cause is the same as with spans."""
    causes = [ask(sonde, "explain", *inputs)[0]["causes"][0]["text"] for inputs in
              ([DEMO], [DEMO, DEMO.with_suffix(".json")])]
    assert all("fsync" in cause and "contacts" in cause for cause in causes), causes


def load_theirs(name):
    """The trees of MiSeRTrace itself, if available."""
    path = THEIRS / name
    return list(json.loads(path.read_text()).values()) if path.exists() else None


def expected(node, parent, rows, counted):
    state = node["ThreadState"]
    kind = {"NetworkThreadState": "network", "ForkThreadState": "fork"}[state["State"]]
    # theirs ends a fork state with its last call, though the thread lives on until it exits, 1 µs later
    end = state["EndTime"] + (1000 if kind == "fork" else 0)
    count = node["ThreadOutput"]["count"] if counted else None
    rows.append((state["PID"], state["Container"], kind, parent, state["StartTime"], end, count))
    for child in node["Children"]:
        expected(child, state["PID"], rows, counted)
    return rows


def read_off(number, counted):
    """The tree of a request as the log has it: each takes 32 µs, in a thread of its own from 1000 on."""
    begin, made = 1_001_000 + 32_000 * number, 1000 + number
    rows = ((10, "nginx-thrift", "network", None, 0, 31, 12), (20, "svc-a", "network", 10, 6, 25, 7),
            (made, "svc-a", "fork", 20, 9, 22, 6), (30, "redis", "network", made, 13, 18, 6))
    return [(tid, service, kind, parent, begin + 1000 * start, begin + 1000 * end, count if counted else None)
            for tid, service, kind, parent, start, end, count in rows]


def rows_of(request, counted):
    tids = {span["span_id"]: span["tid"] for span in request["spans"]}
    rows = []
    for span in request["spans"]:
        forks = sum(s.get("parent_span_id") == span["span_id"] and s["kind"] == "fork" for s in request["spans"])
        calls = sum(call["count"] for call in span["syscalls"].values())
        # lines of the log: begin and end of each call, each message, each birth
        count = 2 * calls + span["sends"] + span["receives"] + forks if counted else None
        rows.append((span["tid"], span["service"], span["kind"], tids.get(span.get("parent_span_id")),
                     span.get("read", span["start"]), span["end"], count))
    return rows


def compare_with_theirs(sonde, name, counted):
    ours = [rows_of(request, counted) for request in ask(sonde, "requests", FORK)["requests"]]
    wanted = [read_off(number, counted) for number in range(3)]
    assert ours == wanted, f"ours: {ours}\nthe log: {wanted}"
    trees = load_theirs(name)
    theirs = trees and [expected(tree, None, [], counted) for tree in trees]
    assert theirs in (None, ours), f"ours: {ours}\ntheirs: {theirs}"


def the_trees_are_those_of_misertrace(sonde):
    compare_with_theirs(sonde, "expected_dag.json", False)


def the_counts_are_those_of_misertrace(sonde):
    compare_with_theirs(sonde, "expected_custom_counts.json", True)


TESTS = [(requests_are_trees, DEMO), (requests_are_trees, FORK), (requests_are_trees, *HOSTS),
         (the_slowest_are_the_slowest,), (exported_requests_are_read_again,), (paths_tile_requests,),
         (the_demo_is_explained_without_spans,), (the_trees_are_those_of_misertrace,),
         (the_counts_are_those_of_misertrace,)]


def main():
    sonde, failed = sys.argv[1], 0
    print(f"1..{len(TESTS)}")
    for number, (test, *args) in enumerate(TESTS, 1):
        why = ""
        try:
            test(sonde, *args)
        except AssertionError as e:
            why = str(e)
        failed += bool(why)
        print(f"{'not ok' if why else 'ok'} {number} - {test.__name__} {' '.join(a.name for a in args)}")
        print(*(f"# {line}" for line in why.splitlines()), sep="\n", end="\n" if why else "")
    sys.exit(failed > 0)


main()
