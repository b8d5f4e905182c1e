#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that `sonde top`, which replays a file through a window, shows what `sonde requests` does.

usage: top.py SONDE

The JSON of every sample trace follows its schema.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import schema  # noqa: E402

DATA = HERE.parent / "data"
DEMO = HERE.parent.parent / "demo" / "demo.sonde"


def views(sonde, *args):
    done = subprocess.run([sonde, "top", "--json", *args], capture_output=True, text=True, timeout=240)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_schema(sonde):
    """Every view of every sample trace follows the schema."""
    for path in [DEMO, *sorted((DATA / "good").iterdir()), *sorted((DATA / "hosts").iterdir())]:
        for view in views(sonde, path):
            yield from (f"{path.name}: {wrong}" for wrong in schema.check(view, schema.load("top")))


def services_of(shape):
    """The services that a shape such as "front>(ledger,contacts x2)" calls."""
    words = shape.replace(">(", ",").replace(")", "").split(",")
    return ", ".join(sorted({word.split(" x")[0] for word in words[1:]}))


def check_numbers(sonde):
    """Rows are shapes; times, paths and causes are those of sonde requests."""
    done = subprocess.run([sonde, "requests", "--json", DEMO], capture_output=True, text=True, timeout=240)
    entry = json.loads(done.stdout)["entries"][0]
    view = views(sonde, DEMO)[-1]
    rows = {row["operation"].partition(" > ")[2]: row for row in view["operations"]}
    if view["accounted"] != entry["count"]:
        yield f"{view['accounted']} of {entry['count']} requests have an account"
    for shape in entry["shapes"]:
        row = rows.pop(services_of(shape["shape"]), None)
        if not row:
            yield f"no row for {shape['shape']}"
            continue
        for key in ("p50", "p95", "p99"):
            if row[key] != shape[key]:
                yield f"{shape['shape']}: {key} is {row[key]}, {shape[key]} in requests"
        if row["requests"] != shape["count"]:
            yield f"{shape['shape']}: {row['requests']} requests, not {shape['count']}"
        total = sum(share["duration"] for share in shape["path"])
        want = {(s["service"], s["state"]): s["duration"] / total for s in shape["path"]}
        got = {(s["service"], s["state"]): s["share"] for s in row["path"]}
        if want.keys() != got.keys() or any(abs(want[key] - got[key]) > 1e-6 for key in want):
            yield f"{shape['shape']}: path {got}, not {want}"
        if abs(row["causes"][0]["share"] - shape["causes"][0]["share"]) > 0.001:
            yield f"{shape['shape']}: first cause {row['causes'][0]}, not {shape['causes'][0]}"
    if rows:
        yield f"more rows: {list(rows)}"


def check_sample(sonde):
    """Intervals shorter than a second do not change the sums."""
    for delay in ("100ms", "300ms", "2s"):
        view = views(sonde, "-d", delay, DEMO)[-1]
        if (view["requests"], view["lost"], view["in_flight"]) != (151, 0, 0):
            yield f"with -d {delay}: {view['requests']} requests, {view['in_flight']} in flight"


def main():
    checks = [check_schema, check_numbers, check_sample]
    failed = 0
    print(f"1..{len(checks)}")
    for number, check in enumerate(checks, 1):
        wrong = list(check(sys.argv[1]))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {check.__doc__.splitlines()[0]}")
        print(*(f"# {sentence}" for sentence in wrong[:20]), sep="\n", end="\n" if wrong else "")
    sys.exit(failed > 0)


main()
