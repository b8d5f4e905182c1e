# SPDX-License-Identifier: Apache-2.0
"""Traces of a shop that calls a database, as Jaeger writes them."""
import json
import pathlib


def trace_of(number, calls, call_time, tags=(), every=1_000_000):
    """A request of `shop` that calls `db` some times, in µs; request 0 begins first, the next one `every` later."""
    start, trace = 1_000_000_000_000 + number * every, f"{number + 1:032x}"
    root = {"traceID": trace, "spanID": f"{number * 1000 + 1:016x}", "operationName": "GET /cart", "startTime": start,
            "duration": 500 + calls * call_time, "processID": "p1", "references": [], "logs": [],
            "tags": [{"key": key, "type": "string", "value": value} for key, value in tags]}
    spans = [{"traceID": trace, "spanID": f"{number * 1000 + 2 + i:016x}", "operationName": "SELECT",
              "startTime": start + 200 + i * call_time, "duration": call_time, "processID": "p2", "tags": [], "logs": [],
              "references": [{"refType": "CHILD_OF", "traceID": trace, "spanID": root["spanID"]}]} for i in range(calls)]
    return {"traceID": trace, "spans": [root, *spans],
            "processes": {"p1": {"serviceName": "shop", "tags": []}, "p2": {"serviceName": "db", "tags": []}}}


def write(directory, traces, name="spans.json"):
    path = pathlib.Path(directory) / name
    path.write_text(json.dumps({"data": traces}))
    return path
