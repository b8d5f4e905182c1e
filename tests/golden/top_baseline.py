#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde top -b` on replays of spans that behave as the learned ones, or do not.

usage: top_baseline.py SONDE

Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
sys.dont_write_bytecode = True
import schema  # noqa: E402
from shop_spans import trace_of, write  # noqa: E402

SONDE = pathlib.Path(sys.argv[1]).resolve()
EVERY = 20_000  # µs between two requests
LEARNED = 1000  # requests


def sonde(*args, status=0):
    done = subprocess.run([SONDE, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done
    return done.stdout if status == 0 else done.stderr


def usual(number):
    """The duration of a call, in µs: different in each request, and in the same range for all of them."""
    return 1000 + number * 7919 % 400


def learn(directory):
    spans = write(directory, [trace_of(i, 2, usual(i), every=EVERY) for i in range(LEARNED)], "usual.json")
    baseline = pathlib.Path(directory) / "usual.baseline"
    sonde("learn", "-o", baseline, spans)
    return baseline


def replay(directory, traces, *args):
    return sonde("top", "-n", "1", *args, "-b", learn(directory), write(directory, traces, "now.json"))


def traces(first, count, call_time, calls=2):
    return [trace_of(i, calls, call_time(i), every=EVERY) for i in range(first, first + count)]


def rows_of(directory, spans):
    view = json.loads(replay(directory, spans, "--json"))
    wrong = schema.check(view, schema.load("top"))
    assert not wrong, wrong
    return view["operations"]


def usual_requests_are_marked_as_usual(directory):
    spans = traces(5000, 500, usual)
    text = replay(directory, spans)
    assert " usual " in text and "leaves the baseline" not in text, text
    baseline = rows_of(directory, spans)[0]["baseline"]
    assert baseline["compared"] > 500 and not baseline["deviations"], baseline


def a_slow_call_is_found_in_the_called_service(directory):
    text = replay(directory, traces(5000, 500, lambda i: 10 * usual(i)))
    assert " slower " in text and "what leaves the baseline" in text, text
    assert "db SELECT: own time " in text and ", usually 1.2 ms" in text, text
    assert max(map(len, text.splitlines())) <= 80, text
    (row,) = rows_of(directory, traces(5000, 500, lambda i: 10 * usual(i)))
    (found,) = row["baseline"]["deviations"]
    assert (found["service"], found["operation"], found["state"]) == ("db", "SELECT", "total"), found
    assert not found["faster"] and found["compared_by"] == "position", found
    assert found["flagged"] == found["spans"] > 100, found
    assert 9 < found["observed"] / found["usual"] < 11, found


def a_fast_call_is_found(directory):
    spans = traces(5000, 500, lambda i: usual(i) // 10)
    assert " faster " in replay(directory, spans)
    (found,) = rows_of(directory, spans)[0]["baseline"]["deviations"]
    assert found["faster"] and found["observed"] < found["usual"], found


def single_outliers_are_no_finding(directory):
    spans = traces(5000, 500, lambda i: usual(i) * (20 if i % 100 == 7 else 1))
    baseline = rows_of(directory, spans)[0]["baseline"]
    assert not baseline["deviations"], baseline


def a_new_shape_of_request_is_compared_by_subtree(directory):
    """Three calls instead of two: the calls are known by their subtree, the request by its operation."""
    (row,) = rows_of(directory, traces(5000, 500, lambda i: 10 * usual(i), calls=3))
    found = {d["service"]: d["compared_by"] for d in row["baseline"]["deviations"]}
    assert found["db"] == "subtree", found


def a_fault_that_is_over_is_forgotten(directory):
    spans = traces(5000, 500, lambda i: 10 * usual(i)) + traces(5500, 700, usual)
    assert not rows_of(directory, spans)[0]["baseline"]["deviations"]


def unknown_requests_are_not_compared(directory):
    spans = traces(5000, 200, usual)
    for trace in spans:
        for span in trace["spans"]:
            span["operationName"] += " v2"
    text = replay(directory, spans)
    assert " usual " not in text and " slower " not in text, text
    assert rows_of(directory, spans)[0]["baseline"] == {"compared": 0, "deviations": []}


def a_file_that_is_no_baseline_is_refused(directory):
    spans = write(directory, traces(0, 3, usual))
    error = sonde("top", "-n", "1", "-b", spans, spans, status=1)
    assert "spans.json" in error, error
    error = sonde("top", "-n", "1", "-b", pathlib.Path(directory) / "none", spans, status=1)
    assert "none" in error and "No such file" in error, error


CASES = [usual_requests_are_marked_as_usual, a_slow_call_is_found_in_the_called_service, a_fast_call_is_found,
         single_outliers_are_no_finding, a_new_shape_of_request_is_compared_by_subtree,
         a_fault_that_is_over_is_forgotten, unknown_requests_are_not_compared, a_file_that_is_no_baseline_is_refused]


def main():
    if subprocess.run([SONDE, "learn", "--complete"], capture_output=True).returncode:
        print("1..0 # SKIP this sonde was built without sonde learn")
        return
    failed = 0
    print(f"1..{len(CASES)}")
    for number, case in enumerate(CASES, 1):
        try:
            with tempfile.TemporaryDirectory() as directory:
                case(directory)
            print(f"ok {number} - {case.__name__}")
        except Exception as problem:  # any problem fails the case
            failed += 1
            print(f"not ok {number} - {case.__name__}\n# {problem!r}")
    sys.exit(failed > 0)


main()
