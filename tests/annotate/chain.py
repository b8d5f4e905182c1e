#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of several services: the critical path below their root, and services without an SDK among them.

front calls back, which has the fault.  The path comes some seconds after the root, on its own, and so do the
requests of services without an SDK.
"""
import contextlib
import os
import re

import annotating
from annotating import Annotate, added_spans, own_spans, program
from harness import equal, require, test
from links import LOOPS, fetch
from sink import Sink

CALLS = 3
DELAY = 20  # seconds until all paths have come
SERVER = 2  # kind of a span
TRACE_MAX = 1000
TOLERANCE = 1_000_000  # ns: a thread can wait for a CPU after its reply was read
THIS_TEST = ("-p", os.getpid())  # and its programs: others can have more requests than are exported


@contextlib.contextmanager
def front(annotate, with_agent, port):
    before = [annotating.SONDE, "run", "--"] if with_agent else []
    with program("serve", "front", annotate.url(), port, before=before, script="links.py") as (called, _):
        yield called


@contextlib.contextmanager
def services(annotate, with_agent, between=()):
    """The port of front, and pids by name; `between` are programs without an SDK, each with the next one's port."""
    before = [annotating.SONDE, "run", "--"] if with_agent else []
    pids = {}
    with contextlib.ExitStack() as stack:
        port, _ = stack.enter_context(program("serve", "back", annotate.url(), before=before, script="links.py"))
        for name in between:
            port, process = stack.enter_context(program(name, port, script="links.py"))
            pids[name] = process.pid
        yield int(stack.enter_context(front(annotate, with_agent, port))), pids


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


def paths(sink):
    return [span for span in added_spans(sink) if span.name == "critical path"]


def check_path(path, sink, thread, words):
    root = own_spans(sink)[path.parent]
    equal((root.parent, root.resource["service.name"]), (b"", "front"), "parent of the path")
    equal((path.trace, path.start, path.end), (root.trace, root.start, root.end), "trace and time")
    equal(path.resource, root.resource, "resource")
    found = path.attributes
    equal(found["sonde.path.service"], "back", f"service of {found}")
    require(re.search(thread, found["thread.name"]), f"thread of {found}")
    require(re.search(words, found["sonde.path.cause"]), f"cause of {found}")
    require(found["sonde.path.share.back"] > 0.5 > found["sonde.path.share.front"] > 0, f"shares of {found}")
    require(found["sonde.path.time.back"] > 0.5 * root.duration, f"time of {found}")


def check_stretches(path, sink):
    """The stretches below a path do not overlap, and most of the path is in them."""
    below = sorted((s for s in added_spans(sink) if s.parent == path.id), key=lambda s: s.start)
    equal({s.name for s in below}, {"front", "back"}, "services")
    for a, b in zip(below, below[1:]):
        require(a.end <= b.start, f"{a} and {b} overlap")
    require(path.start <= below[0].start and below[-1].end <= path.end, f"{below} exceed {path}")
    require(sum(s.duration for s in below) > 0.9 * path.duration, f"{below} are not {path}")


def slow_roots(with_agent, fault, thread, words, once=False):
    scope = () if with_agent else THIS_TEST
    with Sink() as sink, Annotate("--threshold=20ms", *scope, to=collector(sink)) as annotate:
        with services(annotate, with_agent) as (port, _):
            roots = {bytes.fromhex(fetch(port, f"/{fault}", None).decode()) for _ in range(CALLS)}
            fast = bytes.fromhex(fetch(port, "/fast", None).decode())
            sink.wait(lambda: len(paths(sink)) >= CALLS, "all paths come", DELAY)
            if once:  # a path that is sent again would come with the next request
                roots.add(bytes.fromhex(fetch(port, f"/{fault}", None).decode()))
                sink.wait(lambda: {p.parent for p in paths(sink)} == roots, "a later path comes", DELAY)
        found = paths(sink)
        print(*found, annotate.status(), sep="\n")
    equal(sorted(p.parent for p in found), sorted(roots), "roots with a path")
    require(fast in own_spans(sink), "the fast span arrives")
    for path in found:
        check_path(path, sink, thread, words)
        check_stretches(path, sink)


@test
def the_path_of_a_slow_root_names_the_service_that_sleeps():
    """Once for each root."""
    slow_roots(True, "sleep", "", r"sleeps in clock_nanosleep", once=True)


@test
def the_path_of_a_slow_root_names_the_thread_that_holds_a_lock():
    slow_roots(True, "lock_sleep", "^holder$", r"^holder .*sleeps in clock_nanosleep")


@test
def the_path_of_a_slow_root_leads_through_joined_spans():
    """Of services that `sonde run` did not start."""
    slow_roots(False, "sleep", "", r"sleeps in clock_nanosleep")


# The limit of child spans

@test
def a_trace_gets_at_most_1000_child_spans():
    """Beyond, spans have attributes only, and the number of waits that are left out."""
    with Sink() as sink, Annotate("--threshold=1ms", to=collector(sink)) as annotate:
        with program("serve", "back", annotate.url(), before=[annotating.SONDE, "run", "--"], script="links.py") as (port, _):
            fetch(int(port), "/loop", None)
            sink.wait(lambda: len(own_spans(sink)) == LOOPS + 1, "all spans arrive", DELAY)
            status = annotate.settled("spans_slow", LOOPS + 1)
            sink.wait(lambda: annotated(sink) == LOOPS + 1, "all spans are annotated", DELAY)
    print(status)
    children = [span for span in added_spans(sink) if span.name != "sonde"]
    equal(len({span.trace for span in children}), 1, "traces")
    equal(len(children), TRACE_MAX, "child spans")
    bare = {span.id for span in own_spans(sink).values()} - {span.parent for span in sink.spans() if span.scope == "sonde"}
    omitted = [span for span in own_spans(sink).values() if span.id in bare and span.attributes["sonde.waits_omitted"] > 0]
    require(len(omitted) >= LOOPS - TRACE_MAX, f"{len(omitted)} of {len(bare)} spans without children count what they lack")


def annotated(sink):
    return sum("sonde.cause" in span.attributes for span in sink.spans())


# Requests of services without an SDK

def requests(sink):
    """The inferred spans."""
    return [span for span in sink.spans() if span.scope == "sonde" and span.attributes.get("sonde.kind") == "network"]


def client_spans(sink):
    return {span.id: span for span in own_spans(sink).values() if span.name == "call"}


def check_request(span, client, pid):
    """A child of the client's span, and during it: calls are one after another."""
    equal((span.trace, span.parent), (client.trace, client.id), "trace and parent")
    equal(span.resource["process.pid"], pid, "process")
    require(client.start < span.start < span.end < client.end + TOLERANCE, f"{span} is not of {client}")
    equal((span.kind, span.resource["sonde.inferred"]), (SERVER, True), "kind, and whether it is inferred")


def proxied(with_agent):
    """front, a proxy, back: the proxy's span is below the span of front, like that of back."""
    with Sink() as sink, Annotate(*THIS_TEST, "--requests", "--threshold=1s", to=collector(sink)) as annotate:
        with services(annotate, with_agent, ["proxy"]) as (port, pids):
            for _ in range(CALLS):
                fetch(port, "/sleep", None)
            sink.wait(lambda: len(requests(sink)) >= CALLS, "the proxy's spans come", DELAY)
            status = annotate.settled("requests_in_traces", CALLS)
    found, clients = requests(sink), client_spans(sink)
    print(*found, status, sep="\n")
    equal(len(clients), CALLS, "calls of front")
    equal(sorted(span.parent for span in found), sorted(clients), "parents")
    for span in found:
        check_request(span, clients[span.parent], pids["proxy"])


@test
def a_proxy_without_an_sdk_is_below_the_span_that_called_it():
    proxied(True)


@test
def a_proxy_between_joined_services_is_below_the_span_that_called_it():
    proxied(False)


@test
def a_store_without_an_sdk_is_below_the_span_that_called_it():
    """Nothing with an SDK is below it: the thread that sent the request worked for a span."""
    with Sink() as sink, Annotate(*THIS_TEST, "--requests", "--threshold=1s", to=collector(sink)) as annotate:
        with program("kv", script="links.py") as (port, process), front(annotate, True, port) as called:
            for _ in range(CALLS):
                fetch(int(called), "/fast", None)
            sink.wait(lambda: len(requests(sink)) >= CALLS, "the requests come", DELAY)
    found, clients = requests(sink), client_spans(sink)
    print(*found, sep="\n")
    equal(sorted(span.parent for span in found), sorted(clients), "parents")
    for span in found:
        equal(span.trace, clients[span.parent].trace, "trace")
        equal(span.resource["process.pid"], process.pid, "process")


@test
def requests_of_no_trace_are_traces_of_their_own():
    """The collector's are not exported: there would be no end of them."""
    with Sink() as sink, Annotate(*THIS_TEST, "--requests", to=collector(sink)) as annotate:
        with program("kv", script="links.py") as (port, process):
            for _ in range(CALLS):
                fetch(int(port), "/", None)
            sink.wait(lambda: len(requests(sink)) >= CALLS, "the requests come", DELAY)
            found = requests(sink)
            status = annotate.status()
            print(*found, status, sep="\n")
            equal({span.resource["process.pid"] for span in found}, {process.pid}, "processes")
    equal([span.parent for span in found], [b""] * CALLS, "parents")
    equal(len({span.trace for span in found}), CALLS, "traces")
    equal({span.name for span in found}, {f"127.0.0.1:{port}"}, "names")
    require(not any(span.name.endswith(f":{sink.http_port}") for span in sink.spans()), "the collector's are exported")


annotating.main()
