#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An operation whose time depends on an attribute: `sonde learn`, `info` and `diagnose -b`.

usage: split.py SONDE

The time of a factorial grows with the square of n.  Prints TAP.
"""
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

SONDE = pathlib.Path(sys.argv[1]).resolve()
SIZES = (300, 1000, 2000, 3000)


def sonde(*args):
    return subprocess.run([SONDE, *args], capture_output=True, text=True, timeout=60, check=True).stdout


def time_of(n):
    return n * n // 900  # µs


def write(path, first, requests):
    """Spans of (n, µs), as Jaeger writes them."""
    traces = [{"traceID": f"{first + i:032x}",
               "processes": {"p1": {"serviceName": "calculator", "tags": []}},
               "spans": [{"traceID": f"{first + i:032x}", "spanID": f"{first + i:016x}", "operationName": "factorial",
                          "startTime": 1_000_000_000_000 + 50_000 * i, "duration": duration, "processID": "p1",
                          "references": [], "logs": [],
                          "tags": [{"key": "request.id", "type": "int64", "value": first + i},
                                   {"key": "n", "type": "int64", "value": n}]}]}
              for i, (n, duration) in enumerate(requests)]
    path.write_text(json.dumps({"data": traces}))
    return path


def requests(seed, count, slowed=()):
    """Random numbers; those in `slowed` take as long as the largest."""
    chance = random.Random(seed)
    numbers = [chance.choice(SIZES) for _ in range(count)]
    return [(n, int(time_of(SIZES[-1] if n in slowed else n) * chance.lognormvariate(0, 0.1))) for n in numbers]


def learn(directory):
    baseline = directory / "usual.baseline"
    sonde("learn", "-q", "-o", baseline, write(directory / "usual.json", 1, requests(1, 800)))
    return baseline


def small_numbers_as_slow_as_large_ones_are_found(directory):
    baseline, test = learn(directory), requests(2, 400, slowed=(300,))
    path = write(directory / "test.json", 10_000, test)
    result = json.loads(sonde("diagnose", "--json", "-b", baseline, path))
    small = sum(n == 300 for n, _ in test)
    assert result["operations"][0]["flagged"] <= small + 0.03 * len(test), result
    finding = result["findings"][0]
    assert finding["split"] == {"kind": "attribute", "key": "n", "from": 300, "to": 300, "spans": small, "flagged": small}, finding
    assert finding["kind"] == "total" and finding["direction"] == "slower", finding
    assert 9e6 < finding["observed_ns"]["median"] < 11e6, finding
    assert finding["expected_ns"]["high"] < 1e6, finding
    text = sonde("diagnose", "-b", baseline, path)
    assert f"{small} of {small} spans are outside, and" in " ".join(text.split()), text


def large_numbers_are_not_found(directory):
    baseline = learn(directory)
    path = write(directory / "test.json", 10_000, [(n, t) for n, t in requests(3, 1600) if n == 3000])
    result = json.loads(sonde("diagnose", "--json", "-b", baseline, path))
    assert not result["findings"], result
    assert result["flagged"] <= 0.03 * result["spans"], result


def the_parts_are_in_the_file_and_in_info(directory):
    baseline = learn(directory)
    rows = sqlite3.connect(baseline).execute("SELECT least, most, trait, name FROM parts WHERE kind = 'operation' ORDER BY part").fetchall()
    assert rows == [(n, n, "attribute", "n") for n in SIZES], rows
    assert "with n = 300  " in sonde("info", baseline), sonde("info", baseline)
    profiles = json.loads(sonde("info", "--json", baseline))["profiles"]
    assert [part["from"] for part in profiles[0]["parts"]] == list(SIZES), profiles[0]
    assert profiles[0]["explained"] > 0.9, profiles[0]


def learning_in_two_steps_equals_learning_at_once(directory):
    files = [write(directory / f"{i}.json", 10_000 * i + 1, requests(i, 400)) for i in range(2)]
    one, two = directory / "one", directory / "two"
    sonde("learn", "-q", "-o", one, *files)
    sonde("learn", "-q", "-o", two, files[1])
    sonde("learn", "-q", "--into", two, files[0])
    assert one.read_bytes() == two.read_bytes()


def hostile_attributes_do_no_harm(directory):
    """Long, empty, equal and many keys; values at the ends of their type."""
    path = write(directory / "usual.json", 1, requests(1, 300))
    data = json.loads(path.read_text())
    for i, trace in enumerate(data["data"]):
        tags = [{"key": "k" * 5000, "type": "int64", "value": i}, {"key": "", "type": "string", "value": "v" * 5000},
                {"key": "n", "type": "string", "value": "\x1b[31m\n"}, {"key": "end", "type": "int64", "value": (-2**63, 2**63 - 1)[i % 2]}]
        trace["spans"][0]["tags"] += tags + [{"key": f"key {k % 50} {i}", "type": "int64", "value": k} for k in range(100)]
    path.write_text(json.dumps(data))
    baseline = directory / "usual.baseline"
    sonde("learn", "-q", "-o", baseline, path)
    assert "with n = 300  " in sonde("info", baseline), sonde("info", baseline)
    assert not json.loads(sonde("diagnose", "--json", "-b", baseline, path))["findings"]


CASES = [small_numbers_as_slow_as_large_ones_are_found, large_numbers_are_not_found, the_parts_are_in_the_file_and_in_info,
         learning_in_two_steps_equals_learning_at_once, hostile_attributes_do_no_harm]


def main():
    print(f"1..{len(CASES)}")
    for number, case in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as directory:
            name = case.__name__.replace("_", " ")
            try:
                case(pathlib.Path(directory))
                print(f"ok {number} - {name}", flush=True)
            except (AssertionError, subprocess.SubprocessError) as why:
                print(f"not ok {number} - {name}\n# {why}", flush=True)


main()
