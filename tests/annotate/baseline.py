#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate -b`: spans that leave their baseline carry the finding, slow or not.

A recording of the service without its fault is learned.  With the fault, each request waits for a lock for
some milliseconds.
"""
import contextlib
import time

import annotating
from annotating import Annotate, Service, added_spans, own_spans
from harness import SCRATCH, SONDE, Certain, Disturbed, Recorder, equal, require, run, test
from sink import Sink

LEARNED = 250  # requests
REQUESTS = 200
PAUSE = 0.01  # seconds between two requests
FINDING = "sonde.baseline.deviation"


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


def call_often(service, count):
    for _ in range(count):
        service.call("switched")
        time.sleep(PAUSE)


def learn(sink):
    """The baseline of the service without its fault."""
    path = SCRATCH / "usual.baseline"
    with Service(collector(sink), name="learned") as service:
        with Recorder("-p", service.process.pid) as recorder:
            call_often(service, LEARNED)
    run(SONDE, "learn", "-o", path, recorder.path)
    return path


@contextlib.contextmanager
def compared(sink, *options, processor="simple"):
    """A service behind `sonde annotate -b`."""
    baseline = learn(sink)
    with Annotate("-b", baseline, *options, to=collector(sink)) as annotate:
        with Service(annotate.url(), processor=processor) as service:
            yield annotate, service


def findings(sink):
    """Spans with the attributes of a finding."""
    return [span for span in sink.spans() if FINDING in span.attributes]


def check_finding(span):
    words, state = span.attributes[FINDING], span.attributes["sonde.baseline.state"]
    require("usually" in words, f"the finding has no usual time: {words}")
    require(span.attributes["sonde.baseline.score"] > span.attributes["sonde.baseline.limit"] > 0, f"{span.attributes}")
    require(span.attributes["sonde.baseline.compared_by"] in ("position", "subtree", "operation"), f"{span.attributes}")
    return state


def check_share(found, requests):
    """Most requests after the first seconds have one; the rate is limited."""
    states = [check_finding(span) for span in found]
    if states.count("ready") > len(states) / 3:
        raise Disturbed(f"other processes had the CPU: {states}")
    require(len(found) > requests / 3, f"{len(found)} of {requests} requests have a finding")
    require(states.count("lock") > len(states) / 2, f"states of the findings: {states}")


@test
def a_span_that_is_not_slow_gets_a_late_child_with_the_finding():
    with Sink() as sink, compared(sink, "--threshold=10s") as (annotate, service):
        call_often(service, REQUESTS)
        time.sleep(8)
        usual = findings(sink)
        require(len(usual) < REQUESTS / 20, f"{len(usual)} findings without a fault: {[s.attributes for s in usual[:2]]}")
        service.call("switch")
        call_often(service, REQUESTS)
        annotate.wait(lambda: len(findings(sink)) > REQUESTS / 3, "findings arrive")
        time.sleep(8)
        found, exported = findings(sink)[len(usual):], service.spans()
        check_share(found, REQUESTS)
        for span in found:
            equal(span.scope, "sonde", "scope of a finding")
            equal(span.name, "sonde", "name of a finding")
            require(span.parent in exported, f"{span} has no parent")
            equal(span.trace, exported[span.parent].trace, "trace")
        equal(len({span.parent for span in found}), len(found), "number of spans with a finding")
        annotating.unchanged([span for span in own_spans(sink).values() if span.id in exported], exported)
        status = annotate.status()
        require(status["spans_compared"] >= REQUESTS, f"{status}")
        require(status["spans_deviating"] >= len(found), f"{status}")
        equal(status["spans_slow"], 0, "slow spans")


@test
def a_slow_span_has_the_finding_in_its_annotation():
    with Sink() as sink, compared(sink, "--threshold=5ms") as (annotate, service):
        service.call("switch")
        call_often(service, REQUESTS)
        time.sleep(8)
        found = findings(sink)
        check_share(found, REQUESTS)
        in_place = [span for span in found if span.scope != "sonde"]
        require(len(in_place) > REQUESTS / 5, f"{len(in_place)} of {len(found)} findings are in place")
        for span in in_place:
            require(span.attributes["sonde.baseline.compared_by"] in ("subtree", "operation"), f"{span.attributes}")
        owners = [span.id if span.scope != "sonde" else span.parent for span in found]
        equal(len(set(owners)), len(owners), "number of spans with a finding")
        spans = [span.id for span in sink.spans()]
        equal(len(set(spans)), len(spans), "number of different ids")
        require(added_spans(sink), "no waits were added")


@test
def a_baseline_that_cannot_be_read_is_an_error():
    done = run(SONDE, "annotate", "-b", SCRATCH / "missing", "--to=http://127.0.0.1:1", expect=1)
    if "missing" not in done.stderr:
        raise Certain(done.stderr)


if __name__ == "__main__":
    annotating.main()
