#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate` between a service with OpenTelemetry's SDK and a collector.

The faults of the service are known, so that the cause of each slow span is, too.  A span is annotated
in place, or, if it could not wait for that, by a child span; both count.
"""
import contextlib
import os
import re
import signal

import annotating
from annotating import Annotate, Service, added_spans, own_spans, program, unchanged
from harness import Certain, Disturbed, each, equal, require, test, wait_until
from sink import Sink

THRESHOLD = 20_000_000  # ns
TRIES = 4  # requests per fault, of which some can be disturbed
CAUSES = {
    "sleep": r"^shop.py .*sleeps in clock_nanosleep",
    "nested": r"^shop.py .*sleeps in clock_nanosleep",
    "lock_sleep": r"^holder .*sleeps in clock_nanosleep",
    "lock_fsync": r"^holder ",  # on a fast disk, it waits as long for a CPU as for the disk
    "hog": r"waits for a CPU.*\bhog \(\d+\) ran",
    "peer": r"^peer .*sleeps in clock_nanosleep",
}
# A child span that must be there, by its name; the words that describe it.
CHILDREN = {
    "sleep": ("clock_nanosleep", "sleeps"),
    "lock_sleep": ("futex", "waits for a lock or a result of holder"),
    "lock_fsync": ("fsync", "fsync of"),
    "hog": ("run queue", "waits for a CPU"),
    "peer": ("recvfrom", "waits in recvfrom for peer"),
}
# The same of joined spans: threads and peers that work for the request take the place of waits for them.
JOINED_CHILDREN = {
    "sleep": ("clock_nanosleep", "sleeps"),
    "lock_sleep": ("clock_nanosleep", "sleeps"),
    "lock_fsync": ("fsync", "fsync of"),
    "hog": ("run queue", "waits for a CPU"),
    "peer": ("clock_nanosleep", "sleeps"),
}
WAITED = 0.3  # a share of time without a CPU above which a cause can be another one
CHILDREN_MAX = 64


class Annotation:
    """What was added to a span: its attributes, its child spans with theirs, and when."""

    def __init__(self, span, attributes, is_late):
        self.span, self.attributes, self.is_late = span, attributes, is_late
        self.cause = attributes.get("sonde.cause", "")
        self.states = {key[-1]: value for key, value in attributes.items() if key.startswith("sonde.latency.")}
        self.children = []


def annotations(sink):
    """The annotations at the sink, by the id of the span."""
    found = {}
    for span in sink.spans():
        if "sonde.cause" in span.attributes:
            is_late = span.scope == "sonde"
            span_id = span.parent if is_late else span.id
            require(span_id not in found, f"{span_id.hex()} is annotated twice")
            found[span_id] = Annotation(span, span.attributes, is_late)
    for span in added_spans(sink):
        if span.parent in found:
            found[span.parent].children.append(span)
    return found


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


# Causes

def check_states(annotation, span):
    """They add up to the span as the agent sees it, or to the request: both differ a little from what the SDK exports."""
    total, want = sum(annotation.states.values()), span.duration + annotation.attributes.get("sonde.before_span", 0)
    require(abs(total - want) < 0.05 * want,
            f"the states of a span of {want} ns add up to {total}: {annotation.states}; {annotation.cause}")


def check_nesting(sink):
    """Added spans are inside of their parents, and not too many."""
    spans = {span.id: span for span in sink.spans()}
    equal(len(spans), len(sink.spans()), "number of different ids")
    counts = {}
    for span in added_spans(sink):
        parent = spans.get(span.parent)
        require(parent, f"{span} has no parent")
        require(parent.start <= span.start <= span.end <= parent.end,
                f"{span} is {(parent.start - span.start) / 1e6:.3f} ms before, "
                f"{(span.end - parent.end) / 1e6:.3f} ms after {parent}")
        equal(span.trace, parent.trace, "trace")
        counts[span.trace] = counts.get(span.trace, 0) + 1
    require(max(counts.values(), default=0) <= CHILDREN_MAX + 1, f"{max(counts.values())} spans in a trace")


def is_added(key):
    return key.startswith("sonde.")


def check_bytes(sink, exported):
    """Spans have the bytes that they were exported with; slow ones also have attributes."""
    for span in own_spans(sink).values():
        want = exported[span.id].raw
        got = span.raw if span.duration <= THRESHOLD else span.without(is_added)
        if got != want:
            raise Certain(f"{span} was changed")


def waits_for_cpu(annotation):
    return annotation.states.get("C", 0) > WAITED * annotation.span.duration


def calm_ones(fault, found):
    """The requests with a fault that were not disturbed."""
    calm = [a for a in found if fault in ("hog", "lock_fsync") or not waits_for_cpu(a)]
    if not calm:
        raise Disturbed(f"{fault}: other processes had the CPU: {[a.states for a in found]}")
    return calm


def check_cause(fault, found):
    wrong = [a.cause for a in calm_ones(fault, found) if not re.search(CAUSES[fault], a.cause)]
    require(not wrong, f"{len(wrong)} of {len(found)} causes of {fault} are wrong: {wrong}")


def check_children(fault, found, sink, name, words):
    """There is a child span for the wait that took the time."""
    for a in calm_ones(fault, found):
        below = [span for span in added_spans(sink) if span.trace == a.span.trace and span.name == name]
        require(any(words in span.attributes["sonde.description"] for span in below),
                f"{fault} has no child span '{name}' that {words}: {below}")


def call_all(service):
    """The ids of the slow spans by fault, and of the fast ones."""
    slow, fast = {}, []
    with program("peer") as (port, _):
        for fault in (f for f in CAUSES if f != "hog"):
            for _ in range(TRIES):
                slow.setdefault(fault, []).append(service.call(fault, port))
                fast.append(service.call("fast"))
    cpu = max(os.sched_getaffinity(0))
    with program("hog", cpu), program("hog", cpu):  # so that the wait takes longer than the work
        slow["hog"] = [service.call("hog") for _ in range(TRIES)]
    return slow, fast


def slow_and_fast_spans(protocol, with_agent):
    """All faults: the sink, and the annotations by fault."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url(protocol), protocol, "batch", with_agent) as service:
            slow, fast = call_all(service)
        exported = service.spans()
        wanted = {span_id for ids in slow.values() for span_id in ids}
        sink.wait(lambda: own_spans(sink).keys() >= exported.keys(), "all spans arrive")
        sink.wait(lambda: annotations(sink).keys() >= wanted, "all slow spans are annotated")
        annotate.end()
    found = annotations(sink)
    print(f"{len(found)} slow spans, {sum(a.is_late for a in found.values())} annotated late")
    unchanged([own_spans(sink)[span_id] for span_id in fast if exported[span_id].duration <= THRESHOLD], exported)
    check_bytes(sink, exported)
    equal(own_spans(sink).keys(), exported.keys(), "spans")
    for span_id, annotation in found.items():
        check_states(annotation, exported[span_id])
    return sink, {fault: [found[span_id] for span_id in ids] for fault, ids in slow.items()}


@test
def slow_spans_have_their_cause_and_fast_ones_are_unchanged():
    sink, found = slow_and_fast_spans("http", True)
    for fault, ones in found.items():
        check_cause(fault, ones)
    for fault, child in CHILDREN.items():
        check_children(fault, found[fault], sink, *child)
    check_nesting(sink)


@test
def spans_without_threads_are_joined_with_their_requests():
    """Not checked with a hog: Python's lock then passes to the thread of the exporter, as a request does."""
    _, found = slow_and_fast_spans("grpc", False)
    for fault, ones in found.items():
        if fault != "hog":
            check_cause(fault, ones)
        require(all(a.attributes.get("sonde.join_confidence", 0) > 0.5 for a in ones), f"{fault}: not joined")


@test
def joined_spans_have_child_spans_for_their_waits():
    sink, found = slow_and_fast_spans("http", False)
    for fault, child in JOINED_CHILDREN.items():
        check_children(fault, found[fault], sink, *child)
    check_nesting(sink)


# Processes

def is_annotated(annotate, sink, service):
    """Whether a slow request is annotated now."""
    span_id, asked = service.call("sleep"), annotate.status()
    sink.wait(lambda: span_id in own_spans(sink), "the span arrives")
    with contextlib.suppress(TimeoutError):
        sink.wait(lambda: span_id in annotations(sink), "it is annotated", 1 if asked["worker_up"] else 0)
    return span_id in annotations(sink)


def kill(annotate, sink, service, name):
    """Spans keep flowing, and are annotated again, if there is still a process with privileges."""
    victim = getattr(annotate, name)()
    os.kill(victim, signal.SIGKILL)
    for _ in range(5):
        service.call("fast")
        service.call("sleep")
    if name != "keeper":
        wait_until(lambda: is_annotated(annotate, sink, service), f"spans are annotated again after the {name} was killed")
        require(getattr(annotate, name)() != victim, f"the {name} is a new process")


@test
def spans_flow_without_the_worker_the_recorder_or_the_keeper():
    """A killed process costs annotations for a while, and no span; nothing stays attached."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            wait_until(lambda: is_annotated(annotate, sink, service), "spans are annotated")
            pids, held = annotating.with_descendants(annotate.pid), annotate.held()
            for name in ("worker", "recorder", "keeper"):
                held |= annotate.held()
                kill(annotate, sink, service, name)
        exported = service.spans()
        sink.wait(lambda: own_spans(sink).keys() >= exported.keys(), "all spans arrive")
        annotate.end()
        annotating.require_gone(pids, held, "after all were killed")
    check_bytes(sink, exported)
    slowest = max(export.duration for export in service.exports())
    require(slowest < 1e9, f"an export took {slowest / 1e6:.0f} ms")


# The share of annotated spans, and the time that they take

def percentile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


@test
def nearly_all_slow_spans_have_their_history():
    """At least 99.9 % of thousands."""
    with Sink() as sink, Annotate("--threshold=1ms", to=collector(sink)) as annotate:
        with Service(annotate.url("grpc"), "grpc", "batch") as service:
            for _ in range(3):
                service.call("many")
        exported = service.spans()
        sink.wait(lambda: own_spans(sink).keys() >= exported.keys(), "all spans arrive")
        slow = {span.id for span in exported.values() if span.duration > 1_000_000}
        least = 0.999 * len(slow)
        try:
            sink.wait(lambda: len(annotations(sink)) >= least, "99.9 % of them are annotated", 10)
        except TimeoutError:
            pass
        found = annotations(sink)
        complete = [a for a in found.values() if "sonde.lost" not in a.attributes]
        print(f"{len(slow)} slow spans, {len(found)} annotated, {sum(a.is_late for a in found.values())} of them late, "
              f"{len(complete)} complete; {annotate.status()}")
        require(len(slow) >= 3000, f"{len(slow)} slow spans")
        require(len(complete) >= least, f"{len(complete)} of {len(slow)} are annotated")
        require(found.keys() <= slow, "fast spans are annotated")


def delays(sink, url, processor, name):
    """Time in ms from the export of a span until it arrives, by fault."""
    with Service(url, processor=processor, name=name) as service:
        for _ in range(25):
            service.call("fast")
            service.call("sleep")
    sent = {span.id: export.time for export in service.exports() for span in annotating.sink.spans_of(export.body)}
    sink.wait(lambda: own_spans(sink).keys() >= sent.keys(), "all spans arrive")
    took = {"fast": [], "sleep": []}
    for time, span in sink.arrivals():
        if span.id in sent:
            took[span.name].append((time - sent[span.id]) / 1e6)
    return took


@test
def a_span_arrives_at_most_50_ms_later():
    """Than without sonde, by median and 99th percentile; half of the spans are slow."""
    problems = []
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        for processor in ("simple", "batch"):
            usual = delays(sink, collector(sink), processor, f"{processor} directly")
            took = delays(sink, annotate.url(), processor, processor)
            for name, values in took.items():
                for share in (0.5, 0.99):
                    with_sonde, without = percentile(values, share), percentile(usual[name], share)
                    words = f"{processor}, {name}, p{100 * share:g}: {with_sonde:.1f} ms, without sonde {without:.1f} ms"
                    print(words)
                    problems += [words] if with_sonde - without > 50 else []
        print(f"annotated late: {sum(a.is_late for a in annotations(sink).values())} of {len(annotations(sink))}")
    require(not problems, "; ".join(problems))


annotating.main()
