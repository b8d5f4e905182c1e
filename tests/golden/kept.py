#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures that are kept here: paths and accounts of their threads hang together, and so do their traces.

usage: kept.py SONDE

What is checked is in ../live/invariants.py; it needs no privileges.  Adding any
other capture, or a file of spans, must not change a path.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import invariants  # noqa: E402
import schema  # noqa: E402

GOOD = HERE.parent / "data" / "good"


def dump(sonde, capture):
    done = subprocess.run([sonde, "dump", "--json", capture], capture_output=True, text=True, timeout=240)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode == 0


def beside(sonde, capture, records, complete):
    """Complaints about what changes with any other file."""
    if complete:  # a capture that is cut off gives a warning each time
        for other in sorted(GOOD.iterdir()):
            if other != capture and is_whole(sonde, other):
                yield from invariants.check_beside(sonde, capture, other, records)


def is_whole(sonde, path):
    command = ["dump", "--json"] if path.suffix == ".sonde" else ["explain", "--json"]
    return subprocess.run([sonde, *command, path], capture_output=True, timeout=240).returncode == 0


def check_traces(sonde, capture, records):
    """Paths of spans that the capture itself has: they, too, are what its threads did."""
    lives = invariants.Lives(records)
    for span in (r for r in records if r["kind"] == "span" and r["start"] < r["end"]):
        steps = invariants.ask(sonde, "path", "--span", span["span_id"], capture)
        yield from schema.check(steps, schema.load("path"))
        yield from invariants.path_complaints(steps, lives, span["start"], span["end"])


def check_capture(sonde, capture):
    records, complete = dump(sonde, capture)
    yield from invariants.check(sonde, capture, records, complete)
    yield from check_traces(sonde, capture, records)
    yield from beside(sonde, capture, records, complete)


def check_spans(sonde, path):
    """Of traces alone, there are spans and no threads."""
    accounts = invariants.ask(sonde, "explain", "--slowest", 1000, path)
    yield from schema.check(accounts, schema.load("explain"))
    for account in accounts:
        yield from invariants.account_complaints(account)
        steps = invariants.ask(sonde, "path", "--span", account["span"]["span_id"], path)
        yield from schema.check(steps, schema.load("path"))
        yield from invariants.tree_complaints(steps, account["start"], account["end"])


def main():
    sonde, failed = sys.argv[1], 0
    files = sorted(GOOD.glob("*.sonde")) + sorted(GOOD.glob("*.json")) + sorted(GOOD.glob("*.otlp"))
    print(f"1..{len(files)}")
    for number, path in enumerate(files, 1):
        check = check_capture if path.suffix == ".sonde" else check_spans
        wrong = list(check(sonde, path))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {path.stem}")
        print(*(f"# {sentence}" for sentence in wrong), sep="\n", end="\n" if wrong else "")
    sys.exit(failed > 0)


main()
