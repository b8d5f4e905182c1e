#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate` between a service with OpenTelemetry's SDK and a collector.

The faults of the service are known, so that the cause of each slow span is, too.  A span is annotated
in place, or, if it could not wait for that, by a child span; both count.
"""
import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import time

import annotating
from annotating import Annotate, Service, added_spans, own_spans, program, unchanged
from harness import Certain, Disturbed, Skip, each, equal, require, test, wait_until
from sink import Sink

THRESHOLD = 20_000_000  # ns
TRIES = 4  # requests per fault, of which some can be disturbed
CAUSES = {
    "sleep": r"^shop.py .*sleeps in clock_nanosleep",
    "nested": r"^shop.py .*sleeps in clock_nanosleep",
    "lock_sleep": r"^holder .*sleeps in clock_nanosleep",
    "lock_fsync": r"^holder .*: fsync of \S*\.synced ",
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
SEVERAL = " (several)"  # the end of the name of a child that is more than one wait
QUIET = 50_000  # records/s of a host on which mainly the service of the test runs
CLOCK_READ = 100_000  # ns between two reads of the clock, by the SDK and the agent


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
    """They add up to the span, or to its request.  The agent reads the clock a moment before or after the SDK."""
    total = sum(annotation.states.values())
    want = span.duration + sum(annotation.attributes.get(f"sonde.{part}_span", 0) for part in ("before", "after"))
    require(abs(total - want) < CLOCK_READ + 0.001 * want,
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


def is_disturbed(fault, annotation):
    """Whether other processes had the CPU for so long that they are the cause."""
    waited = annotation.states.get("C", 0)
    if fault == "hog":
        return "waits for a CPU" in annotation.cause and "hog (" not in annotation.cause
    return fault != "lock_fsync" and waited > WAITED * annotation.span.duration


def calm_ones(fault, found):
    """The requests with a fault that were not disturbed."""
    calm = [a for a in found if not is_disturbed(fault, a)]
    if not calm:
        raise Disturbed(f"{fault}: other processes had the CPU: {[a.states for a in found]}")
    return calm


def cause_of(fault, annotation):
    """On a fast disk, the holder of the lock can run or wait for a CPU for longer than it waits for the disk."""
    spent = annotation.states.get
    is_fast = fault == "lock_fsync" and max(spent("C", 0), spent("R", 0)) >= spent("D", 0)
    return r"^holder " if is_fast else CAUSES[fault]


def check_cause(fault, found):
    wrong = [(a.cause, a.states) for a in calm_ones(fault, found) if not re.search(cause_of(fault, a), a.cause)]
    require(not wrong, f"{len(wrong)} of {len(found)} causes of {fault} are wrong: {wrong}")


def check_inner(found):
    """A span below another one is explained by its own time."""
    equal(len(found), TRIES, "inner spans")
    check_cause("nested", found)
    require(not any("sonde.before_span" in a.attributes for a in found), "an inner span has the queueing of its parent")


def check_children(fault, found, sink, name, words):
    """There is a child span for the wait that took the time."""
    for a in calm_ones(fault, found):
        below = [span for span in added_spans(sink) if span.trace == a.span.trace and
                 span.name.removesuffix(SEVERAL) == name]
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
    """All faults: the sink, and the annotations by fault.  The peer is not started by `sonde run`, so all are recorded."""
    with Sink() as sink, Annotate("-a", "--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url(protocol), protocol, "batch", with_agent) as service:
            slow, fast = call_all(service)
        exported = service.spans()
        inner = [span.id for span in exported.values() if span.name == "inner"]
        wanted = {span_id for ids in slow.values() for span_id in ids}.union(inner)
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
    check_inner([found[span_id] for span_id in inner])
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
    _, found = slow_and_fast_spans("grpc", False)
    for fault, ones in found.items():
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


# Scope

NOBODY = 65534
PER_USER = 256  # processes that a user can bring into scope


def slow_spans(services, count=5):
    """The ids of slow spans, by service."""
    return [{service.call("sleep") for _ in range(count)} for service in services]


def had_span(name):
    """A service that has had a span, and the port to which it exports."""
    with Sink() as before:
        service = Service(collector(before), name=name)
        span_id = service.call("fast")
        before.wait(lambda: span_id in own_spans(before), "its span arrives")
        return service, before.http_port


@test
def by_default_what_sonde_run_started_is_recorded():
    """Before or after sonde annotate; other services are not, though their spans pass."""
    old, port = had_span("old")
    with Sink() as sink, old, Annotate("--threshold=20ms", to=collector(sink), http_port=port) as annotate:
        annotate.settled("processes", 1)
        with Service(annotate.url(), name="new") as new, Service(annotate.url(), with_agent=False, name="other") as other:
            new.call("fast")  # its first span
            annotate.settled("processes", 2)
            olds, news, others = slow_spans((old, new, other))
            sink.wait(lambda: own_spans(sink).keys() >= olds | news | others, "all spans arrive")
            sink.wait(lambda: annotations(sink).keys() >= olds | news, "spans of both services are annotated")
            status = annotate.settled("spans_unrecorded", len(others))
            require(re.fullmatch(r"recording \d+ processes that 'sonde run' started", status["scope"]), status["scope"])
        equal(annotations(sink).keys() & others, set(), "annotated spans of the other service")


@test
def without_a_process_of_sonde_run_annotate_waits_for_one():
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        none = "no process started by 'sonde run' yet; -a records all"
        annotate.wait(lambda: "'sonde run'" in annotate.said(), "the log says what is recorded")
        if none not in annotate.said():
            raise Skip("another program on this host runs under 'sonde run'")
        equal(annotate.status()["scope"], none, "scope")
        with Service(annotate.url()) as service:
            wait_until(lambda: is_annotated(annotate, sink, service), "spans are annotated")
            annotate.wait(lambda: "recording 1 process that 'sonde run' started" in annotate.said(), "the log says it")


@test
def a_program_that_a_service_started_before_its_first_span_is_recorded():
    """It has no span of its own: the cause is in it because it is a descendant."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url(), with_peer=True) as service:
            service.call("fast")
            annotate.settled("processes", 2)
            ids = [service.call("peer", service.peer_port) for _ in range(TRIES)]
            sink.wait(lambda: annotations(sink).keys() >= set(ids), "the spans are annotated")
    check_cause("peer", [annotations(sink)[span_id] for span_id in ids])


@contextlib.contextmanager
def hostile(mode):
    """A program of another user that abuses the sockets of the recorder."""
    command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", annotating.WORKLOADS.parent / "workloads" / "hostile", mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield
        finally:
            process.kill()


@each("swarm", "connect", "arenas")
def another_user_can_only_lose_its_own_records(mode):
    """Services are found and annotated; what exceeds the limits is refused and counted."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate, hostile(mode):
        if mode != "arenas":
            annotate.settled("processes_refused", 100)
        with Service(annotate.url()) as service:
            wait_until(lambda: is_annotated(annotate, sink, service), "spans are annotated")
            ids = {service.call("sleep") for _ in range(10)}
            sink.wait(lambda: annotations(sink).keys() >= ids, "spans are annotated")
        if mode == "swarm":  # with those of other programs on this host
            annotate.settled("processes", PER_USER)
            refused = annotate.status()["processes_refused"]
            status = annotate.settled("processes_refused", refused + 1000)
            require(status["processes"] < PER_USER + 100, f"{status['processes']} processes")
        status = annotate.status()
        print({key: status[key] for key in ("processes", "processes_refused", "records_lost", "recorder_cpu_seconds")})
        equal((status["recorder_restarts"], status["worker_restarts"]), (0, 0), "restarts")


def count_records(sink, *options):
    """Records while a service that `sonde run` did not start handles requests."""
    with Annotate("--threshold=1s", *options, to=collector(sink)) as annotate:
        with Service(annotate.url(), with_agent=False, processor="batch") as service:
            before = annotate.status()["records"]
            for _ in range(300):
                service.call("fast")
            spans = annotate.settled("spans_received", 300)
            annotate.wait_recording()
            return annotate.status()["records"] - before, spans


@test
def records_of_processes_out_of_scope_are_fewer():
    """A process out of scope has one short record per slice on a CPU."""
    with Sink() as sink:
        by_default, _ = count_records(sink)
        with_all, _ = count_records(sink, "-a")
    print(f"{by_default} records by default, {with_all} with -a")
    require(by_default < with_all / 2, f"{by_default} records by default, {with_all} with -a")


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


def call_at_once(service, fault, clients, calls):
    """Calls from several threads; the ids of the spans."""
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return list(pool.map(lambda _: service.call(fault), range(clients * calls)))


@test
def spans_that_are_exported_at_their_end_are_annotated_in_place():
    """At least 99 %: the records of a span come before it has to leave.  Rebuilding many requests of others delays that."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            records, start = annotate.status()["records"], time.monotonic()
            wanted = set(call_at_once(service, "sleep", clients=4, calls=75))
            rate = (annotate.status()["records"] - records) / (time.monotonic() - start)
        sink.wait(lambda: annotations(sink).keys() >= wanted, "all slow spans are annotated")
    found = annotations(sink).values()
    late = sum(a.is_late for a in found)
    print(f"annotated late: {late} of {len(wanted)}, {rate:.0f} records/s")
    if rate > QUIET:
        raise Disturbed(f"the host emits {rate:.0f} records/s")
    if any("sonde.join_confidence" in a.attributes for a in found):
        raise Disturbed("another recorder has attached to the agent")
    require(late <= 0.01 * len(wanted), f"{late} of {len(wanted)} annotations are late")


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
