#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde diagnose` on spans with a known fault, on spans without any, and on the demo.

usage: diagnose.py SONDE

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
DEMO = HERE.parent.parent / "demo"


def diagnose(*args):
    done = subprocess.run([SONDE, "diagnose", *args], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def more_calls_of_one_customer(directory):
    """Every tenth request is of a customer with 40 items instead of 2."""
    path = write(directory, [trace_of(i, 2 if i % 10 else 40, 1000 + i,
                                      [("tier", "free" if i % 10 else "gold"), ("id", str(i))]) for i in range(200)])
    text = diagnose(path)
    assert "40 × db SELECT, one after another" in text, text
    assert "a slow request has 40 calls of db SELECT, a usual one 2\n" in text, text
    assert "11 of 11 slow requests and none of 100 usual ones have tier = gold in shop\n" in text, text
    assert " id = " not in text, text
    result = json.loads(diagnose("--json", path))
    assert result["operations"][0]["causes"][0]["share"] > 0.9, result
    assert [(trait["key"], trait["value"]) for trait in result["operations"][0]["traits"]] == [("tier", "gold")], result


def requests_of_another_kind_are_named_by_their_topmost_call(directory):
    """Every tenth request also calls `pay`, which makes a query of 50 ms."""
    traces = [trace_of(i, 2, 1000 + i) for i in range(200)]
    for i in range(0, 200, 10):
        root, trace = traces[i]["spans"][0], traces[i]["traceID"]
        start = root["startTime"] + root["duration"]
        root["duration"] += 60000
        for number, (parent, name, process, begin, end) in enumerate(
                [(root["spanID"], "POST /pay", "p3", 0, 55000), (f"{900000 + i * 2:016x}", "INSERT", "p2", 2000, 52000)]):
            traces[i]["spans"].append({
                "traceID": trace, "spanID": f"{900000 + i * 2 + number:016x}", "operationName": name,
                "startTime": start + begin, "duration": end - begin, "processID": process, "tags": [], "logs": [],
                "references": [{"refType": "CHILD_OF", "traceID": trace, "spanID": parent}]})
        traces[i]["processes"]["p3"] = {"serviceName": "pay", "tags": []}
    text = " ".join(diagnose(write(directory, traces)).split())
    assert "11 of 11 slow requests and none of 100 usual ones call pay POST /pay; use --service" in text, text
    assert "ones call db" not in text and "calls of" not in text and "on host" not in text, text


def a_longer_call_is_no_additional_one(directory):
    """Every tenth request has the same two calls, which take 20 times as long."""
    path = write(directory, [trace_of(i, 2, 1000 + i if i % 10 else 20000 + i) for i in range(200)])
    text = diagnose(path)
    assert "db SELECT" in text and "ms in a slow request, " in text and "calls of" not in text, text
    cause = json.loads(diagnose("--json", path))["operations"][0]["causes"][0]
    assert cause["kind"] == "longer" and cause["stands_out"] and cause["service"] == "db", cause


def equal_requests_have_no_cause(directory):
    path = write(directory, [trace_of(i, 2, 1000 + i % 7) for i in range(200)])
    text = diagnose(path)
    assert "nothing stands out: slow requests take only 1.0 times as long as usual ones" in text, text
    assert json.loads(diagnose("--json", path))["operations"][0]["verdict"] == "same"
    path = write(directory, [trace_of(i, 2, 1000) for i in range(200)])
    assert "nothing stands out: most of 200 requests take the same time" in diagnose(path), diagnose(path)


def slow_requests_of_a_moment_have_a_period(directory):
    path = write(directory, [trace_of(i, 2, 1000 + i if not 90 <= i < 100 else 20000 + i) for i in range(200)])
    text = diagnose(path)
    assert "10 of 11 slow requests and none of 100 usual ones arrived between 90 s and 99" in text, text


def parts_add_up(directory):
    for args in (["demo.sonde", "demo.json"], ["demo.sonde"], ["demo.json"], ["--slow=p80", "demo.sonde"],
                 ["--service=contacts", "demo.sonde"]):
        result = json.loads(diagnose("--json", *(arg if arg[0] == "-" else DEMO / arg for arg in args)))
        wrong = schema.check(result, schema.load("diagnose"))
        assert not wrong, wrong
        compared = [operation for operation in result["operations"] if operation["verdict"] != "too few"]
        assert compared, result
        for operation in compared:
            parts = [cause["part"] for cause in operation["causes"] if "pattern" not in cause]
            states = [state["part"] for state in operation["states"]]
            means = operation["slow"]["mean"] - operation["usual"]["mean"]
            for name, total in (("causes", sum(parts) + operation["other_causes"]), ("states", sum(states)),
                                ("means", means)):  # each figure is rounded to ns
                assert abs(total - operation["difference"]) <= len(parts) + len(states), (name, total, operation)


def text_fits_and_is_the_same_in_each_run(directory):
    for args in ([], ["--requests"], ["--slow=20ms"]):
        texts = {diagnose(*args, DEMO / "demo.sonde", DEMO / "demo.json") for _ in range(3)}
        assert len(texts) == 1, texts
        wide = [line for line in texts.pop().splitlines() if len(line) > 80]
        assert not wide, wide


CASES = [more_calls_of_one_customer, requests_of_another_kind_are_named_by_their_topmost_call, a_longer_call_is_no_additional_one, equal_requests_have_no_cause,
         slow_requests_of_a_moment_have_a_period, parts_add_up, text_fits_and_is_the_same_in_each_run]


def main():
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
