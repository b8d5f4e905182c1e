#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate --syscalls`: the calls of a service are child spans of the span that made them.

The service makes known numbers of calls.  It exports its spans at the end, so that all calls have been
recorded by then.
"""
import os
import pathlib
import signal

import annotating
import shop
from annotating import Annotate, Service, added_spans, own_spans
from harness import Skip, equal, require, test, wait_until
from sink import Sink

CHILDREN_MAX = 64
CLOCK_SOURCE = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
VDSO = {"clock_gettime", "gettimeofday", "time", "getcpu"}
MS = 1_000_000


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


class Made:
    """The spans of a service after some requests, with what was added to each."""

    def __init__(self, sink, service_pid):
        self.pid = service_pid
        self.spans = own_spans(sink)
        self.added = {}
        for span in added_spans(sink):
            self.added.setdefault(span.parent, []).append(span)

    def span(self, name):
        found = [span for span in self.spans.values() if span.name == name]
        equal(len(found), 1, f"spans named {name}")
        return found[0]

    def calls(self, span, name):
        """The children of a span that are calls with this name, by time."""
        return sorted((child for child in self.below(span) if child.name == name and is_call(child)), key=lambda s: s.start)

    def below(self, span):
        """What it waited for and called."""
        return [child for child in self.added.get(span.id, []) if "sonde.cause" not in child.attributes]

    def attributes(self, span):
        """Those that it gained."""
        return next((child.attributes for child in self.added.get(span.id, []) if "sonde.cause" in child.attributes),
                    span.attributes)


def is_call(span):
    return any(key.startswith("sonde.syscall.result") for key in span.attributes)


def count_of(span):
    return span.attributes.get("sonde.count", 1)


def is_followed(sink, service):
    """Whether the contexts of the service are recorded, so that a request is annotated without a join."""
    span_id = service.call("fast")
    service.call("export")
    sink.wait(lambda: annotation_of(sink, span_id) is not None, "a span is annotated")
    return "sonde.join_confidence" not in annotation_of(sink, span_id)


def annotation_of(sink, span_id):
    """The attributes that a span has gained; None if there are none yet."""
    return next((span.attributes for span in sink.spans()
                 if "sonde.cause" in span.attributes and span_id in (span.id, span.parent)), None)


def make(*faults, options=("--syscalls",), with_agent=True):
    scope = () if with_agent else ("-p", os.getpid())
    with Sink() as sink, Annotate("--all", *scope, *options, to=collector(sink)) as annotate:
        annotate.wait(lambda: annotate.status()["syscalls_all"] == 1, "system calls are recorded")
        with Service(annotate.url(), "http", "late", with_agent) as service:
            pid = service.process.pid
            if with_agent:
                wait_until(lambda: is_followed(sink, service), "the service is recorded")
            for fault in faults:
                service.call(fault)
            for _ in range(2):  # the first one can be of a time before
                annotate.wait_recording()
        exported = service.spans()
        sink.wait(lambda: own_spans(sink).keys() >= exported.keys(), "all spans arrive")
        sink.wait(lambda: annotate.status()["spans_annotated"] + annotate.status()["spans_annotated_late"] >= len(exported),
                  "all are annotated")
        annotate.end()
    return Made(sink, pid)


@test
def calls_are_children_of_the_innermost_span():
    """With their number and result."""
    made = make("calls")
    outer, inner = made.span("calls"), made.span("inner")
    before, (after,) = made.calls(outer, "getpid")[0], made.calls(outer, "getppid")
    equal(count_of(before), shop.CALLS["before"], "calls before the inner span")
    equal(count_of(after), shop.CALLS["after"], "calls after the inner span")
    inside, = made.calls(inner, "getpid")
    equal(count_of(inside), shop.CALLS["inner"], "calls in the inner span")
    require(before.end <= inner.start <= inside.start <= inside.end <= inner.end <= after.start, "the calls are in order")
    for call, result in (before, made.pid), (inside, made.pid), (after, os.getpid()):
        equal(call.attributes["sonde.syscall.result"], result, "result")
        require(0 < call.attributes["sonde.syscall.time"] <= call.duration, f"{call}: {call.attributes}")
        require("error.type" not in call.attributes, "getpid does not fail")
        require(call.attributes["thread.name"], "a thread has a name")
    failed, = made.calls(outer, "rmdir")
    equal(count_of(failed), shop.CALLS["failed"], "failed calls")
    equal(failed.attributes["error.type"], "ENOENT", "error")
    equal(failed.attributes["sonde.syscall.result"], -2, "result")


@test
def a_call_that_waits_is_one_child():
    """The wait is part of the call, which has its state and description."""
    made = make("calls")
    inner = made.span("inner")
    sleeps = [child for child in made.below(inner) if child.name == "clock_nanosleep"]
    equal(len(sleeps), 1, "children for one sleep")
    sleep = sleeps[0]
    equal(sleep.attributes["sonde.state"], "T", "state")
    require("sleeps" in sleep.attributes["sonde.description"], sleep.attributes["sonde.description"])
    equal(sleep.attributes["sonde.syscall.result"], 0, "result")
    require(0.9 * shop.WAIT * 1e9 < sleep.attributes["sonde.wait_time"] <= sleep.duration, f"{sleep.attributes}")


@test
def calls_of_the_vdso_are_not_visible():
    """If the clock can be read without a system call."""
    source = CLOCK_SOURCE.read_text().strip()
    if source not in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"):
        raise Skip(f"the vDSO does not read the clock source {source}")
    made = make("calls")
    names = {child.name for children in made.added.values() for child in children}
    require("getpid" in names, f"getpid is visible: {names}")
    equal(names & VDSO, set(), "calls of the vDSO")


@test
def a_call_is_cut_at_the_end_of_its_span():
    made = make("cut")
    cut = [span for span in made.spans.values() if span.name == "cut"]
    inner = min(cut, key=lambda span: span.duration)
    sleep, = made.calls(inner, "clock_nanosleep")
    require(0 <= inner.end - sleep.end < MS, f"the call ends {(sleep.end - inner.end) / 1e6:.3f} ms after its span")
    require(sleep.duration < 1.5 * shop.WAIT * 1e9, f"the call takes {sleep.duration / 1e6:.1f} ms")


@test
def of_too_many_calls_the_longest_are_kept():
    made = make("many_calls")
    span = made.span("many_calls")
    children = made.below(span)
    require(len(children) <= CHILDREN_MAX, f"{len(children)} children")
    equal(sum(map(count_of, made.calls(span, "clock_nanosleep"))), 5, "sleeps")
    shown = sum(count_of(child) for child in children if is_call(child))
    made_calls = sum(value for key, value in made.attributes(span).items() if key.startswith("sonde.syscall."))
    shown_or_omitted = shown + made.attributes(span)["sonde.syscalls_omitted"]
    require(205 <= shown_or_omitted <= made_calls, f"{shown_or_omitted} calls shown or omitted, {made_calls} made")


@test
def a_list_chooses_the_calls():
    made = make("calls", options=("--syscalls=getpid",))
    names = {child.name for children in made.added.values() for child in children if is_call(child)}
    equal(names, {"getpid"}, "recorded calls")
    require(any(child.name == "clock_nanosleep" for child in made.below(made.span("inner"))), "the sleep is a wait")


@test
def calls_of_joined_spans_are_their_children():
    made = make("calls", with_agent=False)
    outer, inner = made.span("calls"), made.span("inner")
    equal(sum(map(count_of, made.calls(outer, "getppid"))), shop.CALLS["after"], "calls of the outer span")
    equal(sum(map(count_of, made.calls(inner, "getpid"))), shop.CALLS["inner"], "calls of the inner span")


# Switching itself on and off

def slow_request(sink, service):
    """Whether its system calls were recorded."""
    span_id = service.call("calls")
    sink.wait(lambda: annotation_of(sink, span_id) is not None, "a slow span is annotated")
    return any(key.startswith("sonde.syscall.") for key in annotation_of(sink, span_id))


def switch_on(annotate, sink, service):
    """The first spans have no calls; then they have."""
    for _ in range(3):
        slow_request(sink, service)
    annotate.wait(lambda: annotate.status()["syscalls_pids"] == [service.process.pid], "the service is switched on")
    require(slow_request(sink, service), "system calls are recorded")


@test
def calls_are_recorded_while_an_operation_is_slow():
    """And again by a new recorder; not before, and not ten seconds afterwards."""
    with Sink() as sink, Annotate("--threshold=20ms", "--syscalls-when-slow", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            require(not slow_request(sink, service), "no system calls are recorded at first")
            equal(annotate.status()["syscalls_pids"], [], "processes")
            switch_on(annotate, sink, service)
            victim = annotate.recorder()
            os.kill(victim, signal.SIGKILL)
            annotate.wait(lambda: annotate.recorder() not in (None, victim), "the recorder runs again")
            annotate.wait_recording()
            switch_on(annotate, sink, service)
            annotate.wait(lambda: annotate.status()["syscalls_pids"] == [], "the service is switched off")
            require(not slow_request(sink, service), "no system calls are recorded afterwards")
            status = annotate.status()
            equal((status["syscalls_pids"], status["syscalls_all"]), ([], 0), "what is on")
            require(status["syscalls_switched"] >= 2, f"{status['syscalls_switched']} times")


if __name__ == "__main__":
    annotating.main()
