#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the paths and accounts of the saved captures are consistent.

usage: saved.py SONDE

../live/invariants.py has the checks, which need no privileges.  Adding another capture or a
file of spans must not change a path.  Prints TAP.
"""
import functools
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


def check_with_others(sonde, capture, records, complete):
    """Complaints about paths that change if another file is added."""
    if complete:  # a truncated capture prints a warning each time
        others = [path for path in sorted(GOOD.iterdir()) if path != capture and is_complete(sonde, path)]
        yield from invariants.check_beside(sonde, capture, others, records)


@functools.cache
def is_complete(sonde, path):
    command = ["dump", "--json"] if path.suffix == ".sonde" else ["explain", "--json"]
    return subprocess.run([sonde, *command, path], capture_output=True, timeout=240).returncode == 0


def check_traces(sonde, capture, records):
    """The paths of spans in the capture agree with its threads."""
    lives = invariants.Lives(records)
    for span in (r for r in records if r["kind"] == "span" and r["start"] < r["end"]):
        steps = invariants.ask(sonde, "path", "--span", span["span_id"], capture)
        yield from schema.check(steps, schema.load("path"))
        yield from invariants.path_complaints(steps, lives, span["start"], span["end"])


def check_capture(sonde, capture):
    records, complete = dump(sonde, capture)
    yield from invariants.check(sonde, capture, records, complete)
    yield from check_traces(sonde, capture, records)
    yield from check_with_others(sonde, capture, records, complete)


def check_spans(sonde, path):
    """Check a file of spans, without threads."""
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
