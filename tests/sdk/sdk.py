#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exchange spans with OpenTelemetry's SDK for Python, in both directions: sdk.py SONDE RECODE SCRATCH

The SDK comes from PyPI and is kept in SCRATCH/sdk; without network, the test is skipped.
Prints TAP.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pypi

HERE = pathlib.Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "demo" / "demo.sonde"
PACKAGES = ["opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.1"]
TIMEOUT = 240
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {"no_proxy": "*"}


def run(*command, **how):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=TIMEOUT, **how)
    if done.returncode:
        raise RuntimeError(f"'{' '.join(map(str, command))}' exits with {done.returncode}:\n{done.stderr.decode()}")
    return done.stdout


class Exported:
    """One run of the SDK, and the truth about its spans."""

    def __init__(self, sonde, recode, scratch):
        self.sonde, self.recode, self.scratch = sonde, recode, scratch / "exported"
        self.python = pypi.install(scratch / "sdk", PACKAGES)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.sdk("spans", self.scratch)
        self.requests = sorted(self.scratch.glob("request-*.otlp"))
        truth = json.loads((self.scratch / "truth.json").read_text())
        self.pid, self.spans = truth["pid"], sorted(truth["spans"], key=lambda s: s["span_id"])
        assert self.requests and len(self.spans) > 50, "the SDK exported almost nothing"

    def sdk(self, *args):
        return run(self.python, HERE / "export.py", *args, env=ENV)

    def sonde_json(self, command, *args):
        return json.loads(run(self.sonde, command, "--json", *args))

    def check(self, files, form):
        """Check that the files, as sonde reads them, contain all spans of the SDK."""
        lines = b"".join(run(self.sonde, "dump", "--json", file) for file in files).splitlines()
        records = [json.loads(line) for line in lines]
        got = sorted((r for r in records if r["kind"] == "span"), key=lambda s: s["span_id"])
        assert len(got) == len(self.spans), f"{len(got)} spans, not {len(self.spans)}"
        for ours, theirs in zip(got, self.spans):
            for name in ("trace_id", "span_id", "parent_span_id", "operation", "start", "end", "span_kind"):
                assert ours.get(name) == theirs[name], f"{name} of {theirs} is {ours.get(name)}"
            assert ours.get("tid", 0) == theirs["tid"] and ours["service"] == "sdk test", ours
            attributes = [[r["key"], r["value"]] for r in records
                          if r["kind"] == "attribute" and r["span_id"] == ours["span_id"]]
            assert attributes[:len(theirs["attributes"])] == theirs["attributes"], (attributes, theirs)
        for file in files:
            info = self.sonde_json("info", file)
            assert info["format"] == form and info["warnings"] == [], info
        errors = sum(self.sonde_json("info", file)["errors"] for file in files)
        assert errors == sum(span["error"] for span in self.spans), f"{errors} errors"


def requests_are_read_as_sent(x):
    x.check(x.requests, "otlp")


def length_prefixed_requests_are_read(x):
    """The format of the collector's file exporter."""
    bodies = [request.read_bytes() for request in x.requests]
    framed = x.scratch / "framed.otlp"
    framed.write_bytes(b"".join(struct.pack(">I", len(body)) + body for body in bodies))
    x.check([framed], "otlp")


def json_lines_are_read(x):
    lines = x.scratch / "lines.json"
    lines.write_bytes(b"".join(x.sdk("json", request) for request in x.requests))
    x.check([lines], "otlp-json")


def requests_are_reencoded_without_loss(x):
    for request in x.requests:
        ours = request.with_suffix(".recoded")
        ours.write_bytes(run(x.recode, request))
        x.sdk("compare", request, ours)
        assert ours.stat().st_size <= request.stat().st_size, "ours is longer"


def the_request_is_explained(x):
    """Its critical path leads through its children."""
    root = next(span for span in x.spans if span["operation"] == "request")
    steps = x.sonde_json("path", "--trace", root["trace_id"], *x.requests)
    accounts = {account["span"]["span_id"]: account for account in x.sonde_json("explain", "--slowest", 10, *x.requests)}
    names = {step["span"]["operation"] for step in steps if step.get("span")}
    assert names == {"request", "ünïcode", "failing"}, names
    assert accounts[root["span_id"]]["duration"] == root["end"] - root["start"], accounts[root["span_id"]]
    assert len(accounts) == 2, f"{len(accounts)} traces"


def spans_are_exported_unchanged(x):
    ours = x.scratch / "ours.otlp"
    run(x.sonde, "export", "--to=otlp", "-o", ours, *x.requests)
    x.check([ours], "otlp")


def spans_of(requests):
    return {span["spanId"]: span for request in requests for resource in request["resourceSpans"]
            for scope in resource["scopeSpans"] for span in scope["spans"]}


def without_lists(attribute):
    """sonde stores a list as text."""
    lists = attribute["value"].get("arrayValue")
    if lists is None:
        return attribute
    values = [next(iter(value.items())) for value in lists.get("values", [])]
    values = [int(value) if name == "intValue" else value for name, value in values]
    return {"key": attribute["key"], "value": {"stringValue": json.dumps(values, separators=(",", ":"))}}


def kind_status_and_attributes_are_exported_unchanged(x):
    """As the SDK's own classes read them; attributes added by sonde come last."""
    ours, lines = x.scratch / "ours.otlp", x.scratch / "ours.json"
    run(x.sonde, "export", "--to=otlp", "-o", ours, *x.requests)
    run(x.sonde, "export", "--to=otlp-json", "-o", lines, *x.requests)
    sent = spans_of(json.loads(x.sdk("json", request)) for request in x.requests)
    for got in (spans_of([json.loads(x.sdk("json", ours))]),
                spans_of(json.loads(line) for line in lines.read_text().splitlines())):
        assert set(got) == set(sent), "the spans differ"
        for span, theirs in sent.items():
            want = [without_lists(attribute) for attribute in theirs.get("attributes", [])]
            all_of = got[span].get("attributes", [])
            assert all_of[:len(want)] == want, f"{all_of}, not {want}"
            assert all(a["key"].startswith(("sonde.", "thread.")) for a in all_of[len(want):]), all_of
            assert len({a["key"] for a in all_of}) == len(all_of), all_of
            for name in ("kind", "status"):
                assert (got[span].get(name) or None) == (theirs.get(name) or None), f"{name}: {got[span]}, {theirs}"
    statuses = [span.get("status", {}) for span in sent.values()]
    assert {status.get("code") for status in statuses} == {None, 1, 2}, "the test data is incomplete"
    assert any(status.get("message") for status in statuses), "the test data is incomplete"


def without_defaults(value):
    """Protobuf omits default values."""
    if isinstance(value, dict):
        return {name: kept for name, item in value.items() if (kept := without_defaults(item)) not in ({}, [], 0)}
    return [without_defaults(item) for item in value] if isinstance(value, list) else value


def the_sdk_reads_rebuilt_requests(x):
    """Our protobuf, converted by the SDK's classes, equals our JSON."""
    ours = x.scratch / "rebuilt.otlp"
    run(x.sonde, "export", "--to=otlp", "-o", ours, DEMO)
    theirs = without_defaults(json.loads(x.sdk("json", ours)))
    lines = run(x.sonde, "export", "--to=otlp-json", DEMO).splitlines()
    assert len(lines) == 1, f"{len(lines)} lines"
    assert theirs == without_defaults(json.loads(lines[0])), "JSON and protobuf differ"
    spans = [s for r in theirs["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]
    listed = x.sonde_json("requests", DEMO)["requests"]
    assert len(spans) == sum(len(request["spans"]) for request in listed) > 400, f"{len(spans)} spans"
    ids = {span["spanId"] for span in spans}
    assert all(span.get("parentSpanId", span["spanId"]) in ids for span in spans), "parents are missing"


TESTS = [requests_are_read_as_sent, length_prefixed_requests_are_read, json_lines_are_read,
         requests_are_reencoded_without_loss, the_request_is_explained, spans_are_exported_unchanged,
         kind_status_and_attributes_are_exported_unchanged,
         the_sdk_reads_rebuilt_requests]


def main():
    sonde, recode, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    try:
        exported = Exported(sonde, recode, scratch)
    except pypi.Skip as skip:
        print(skip)
        sys.exit(77)
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, test in enumerate(TESTS, 1):
        reason = ""
        try:
            test(exported)
        except (AssertionError, RuntimeError, KeyError) as e:
            reason = repr(e)
        failed += bool(reason)
        print(f"{'not ok' if reason else 'ok'} {number} - {test.__name__}")
        print(*(f"# {line}" for line in reason.splitlines()), sep="\n", end="\n" if reason else "")
    sys.exit(failed > 0)


main()
