#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Details of annotations: wake-up latency, spans longer than the look-back, stacks, folded waits."""
import os
import re

import annotating
import shop
from annotating import DIRECTLY, Annotate, Service, program
from harness import Disturbed, equal, require, test
from sink import Sink

PRIORITY = 50  # of the program that has the CPU


def annotated(sink, span_id, what):
    """Attributes of the annotation of a span, in place or as a child."""
    def find():
        return next((span.attributes for span in sink.spans() if "sonde.cause" in span.attributes and
                     (span.parent if span.scope == "sonde" else span.id) == span_id), None)
    sink.wait(find, what)
    return find()


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


def metrics_of(annotate):
    with DIRECTLY.open(f"{annotate.url()}/metrics", timeout=annotating.PATIENCE) as reply:
        return reply.read().decode()


# Wake-up latency

def check_wakeups(found, nice, pid):
    count, mean, longest = (found[f"sonde.wakeup.{name}"] for name in ("count", "mean", "max"))
    require(shop.WAKEUPS <= count, f"{count} wake-ups of {shop.WAKEUPS}")
    require(0 < mean < longest, f"mean {mean}, max {longest}")
    require(shop.BURST * 1e9 / 4 < longest < found["sonde.state.C"], f"max {longest}: {found}")
    equal(found["sonde.wakeup.cpu_thread"], "burst", "thread that had the CPU")
    equal(found["sonde.wakeup.cpu_pid"], pid, "its process")
    equal(found["sonde.wakeup.cpu_priority"], f"SCHED_FIFO {PRIORITY}", "its priority")
    equal(found["sonde.wakeup.priority"], f"nice {nice}", "priority of the thread that waited")


def service_of(annotate):
    return next((s for s in annotate.status()["services"] if s["service"] == "shop"), {"wakeups": -1})


def check_service(annotate, longest):
    """The status and the metrics contain the same wake-up, while it is not older than ten seconds."""
    annotate.wait(lambda: service_of(annotate)["wakeups"] >= shop.WAKEUPS, "the wake-ups of the service are counted")
    service, text = service_of(annotate), metrics_of(annotate)
    require(service["wakeup_latency_max_seconds"] >= longest / 1e9, f"{service}, longest of a span: {longest} ns")
    require(0 < service["wakeup_latency_mean_seconds"] < service["wakeup_latency_max_seconds"], f"{service}")
    if service["wakeup_latency_max_seconds"] > longest / 1e9 and service["cpu_thread"] != "burst":
        raise Disturbed(f"another thread of the service waited longer: {service}")
    equal(service["cpu_thread"], "burst", "thread that had the CPU")
    for name in ("mean", "max"):
        require(re.search(rf'^sonde_annotate_wakeup_latency_{name}_seconds{{service="shop"}} [0-9.e-]+$', text, re.M), text)
    require(f'_max_cpu_info{{service="shop",thread="burst",priority="SCHED_FIFO {PRIORITY}"}} 1' in text, text)


@test
def a_span_and_its_service_have_their_wakeup_latency_and_what_had_the_cpu():
    cpu = max(os.sched_getaffinity(0))
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate, \
            Service(annotate.url()) as service, program("burst", cpu, PRIORITY) as (_, burst):
        service.call("sleep")  # the process is known to belong to the service
        annotate.wait(lambda: service_of(annotate)["wakeups"] >= 0, "the service is known")
        found = annotated(sink, service.call("wakeups"), "the span is annotated")
        check_wakeups(found, os.getpriority(os.PRIO_PROCESS, 0), burst.pid)
        check_service(annotate, found["sonde.wakeup.max"])


# Spans longer than the look-back

def states_of(found):
    return {key[-1]: value for key, value in found.items() if key.startswith("sonde.state.")}


@test
def a_span_longer_than_the_look_back_has_complete_totals_per_state():
    with Sink() as sink, Annotate("--threshold=20ms", "--look-back=2s", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            found = annotated(sink, service.call("long"), "the span is annotated")
        span = next(span for span in service.spans().values() if span.name == "long")
        states, total = states_of(found), sum(states_of(found).values())
        print(f"{span.duration} ns: {states}, details from {found['sonde.details_from']}")
        require(abs(total - span.duration) < 0.005 * span.duration, f"{total} of {span.duration} ns: {found}")
        require(0 <= states["T"] - shop.LONG_SLEEP * 1e9 < 0.05e9 * shop.LONG_PARTS, f"{states}")
        require(states["R"] > shop.LONG_WORK * 1e9, f"{states}")
        require("sonde.partial" not in found, f"{found}")
        require(2e9 < found["sonde.details_from"] < span.duration - 1e9, f"{found}")
        require(sum(value for key, value in found.items() if key.startswith("sonde.latency.")) <
                span.duration - found["sonde.details_from"] + 1e8, f"{found}")


# Stacks

@test
def a_span_has_the_stack_at_its_threshold_running_or_blocked():
    with Sink() as sink, Annotate("--threshold=20ms", "--stacks=10ms", to=collector(sink)) as annotate, \
            Service(annotate.url()) as service:
        spin = annotated(sink, service.call("spin"), "the span is annotated")
        sleep = annotated(sink, service.call("sleep"), "the span is annotated")
        print(f"at {spin['sonde.stack_at']} ns:\n{spin['code.stacktrace']}\nat {sleep['sonde.stack_at']} ns:\n"
              f"{sleep['code.stacktrace']}\n{annotate.status()}")
        equal(spin["sonde.stack_state"], "running", "state at the threshold")
        require(20e6 <= spin["sonde.stack_at"] < shop.SPIN * 1e9, f"a sample after {spin['sonde.stack_at']} ns")
        equal(sleep["sonde.stack_state"], "blocked", "state at the threshold")
        equal(sleep["sonde.stack_at"], 20_000_000, "time of the stack")
        require("nanosleep" in sleep["code.stacktrace"], sleep["code.stacktrace"])
        require("nanosleep" not in spin["code.stacktrace"], spin["code.stacktrace"])


@test
def without_stacks_there_is_none_at_the_threshold():
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate, \
            Service(annotate.url()) as service:
        found = annotated(sink, service.call("sleep"), "the span is annotated")
        require(not {"code.stacktrace", "sonde.stack_at"} & found.keys(), f"{found}")


# Several waits in one child

@test
def a_child_that_is_several_waits_has_another_name_and_their_sum():
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate, \
            Service(annotate.url()) as service:
        one, many = service.call("sleep"), service.call("wakeups")
        for span_id in (one, many):
            annotated(sink, span_id, "the span is annotated")
        spans = {span.id: span for span in sink.spans()}
        for span_id, name in ((one, "clock_nanosleep"), (many, "clock_nanosleep (several)")):
            sleeps = [span for span in annotating.added_spans(sink) if span.trace == spans[span_id].trace and
                      span.name.startswith("clock_nanosleep")]
            equal([span.name for span in sleeps], [name], "names of child spans")
        folded = sleeps[0]
        count, total, longest = (folded.attributes[f"sonde.{key}"] for key in ("count", "wait_time", "wait_max"))
        equal(count, shop.WAKEUPS, "number of waits")
        require(1e6 < longest < total < folded.duration, f"{folded}: {folded.attributes}")
        require(f"{shop.WAKEUPS} waits, " in folded.attributes["sonde.description"], f"{folded.attributes}")


annotating.main()
