#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sonde annotate` forwards, and what it does if the collector fails.

Requests of all signals arrive as they were sent, in order.  A collector that fails for a while costs
nothing within the bounds of the queue; after that, what is dropped is counted.  A service never waits.
"""
import base64
import gzip
import json
import os
import struct

import annotating
from annotating import ENV, Annotate, Service, free_ports, own_spans
from harness import each, equal, require, test
from sink import SERVICE, SIGNALS, Sink
from tops import resident

QUICK = 1.0  # seconds for a reply to a service, on a busy host
MINUTE = 60_000_000_000


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


# Requests with everything that they can contain

def span_request(number=0, spans=3, padding=0):
    """A request with fast spans; `number` identifies it."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add(schema_url="https://example.com/schema")
    resource.resource.attributes.add(key="service.name").value.string_value = "ünïcode"
    resource.resource.dropped_attributes_count = 2
    scope = resource.scope_spans.add(schema_url="s")
    scope.scope.name, scope.scope.version = "lib", "1.2"
    for i in range(spans):
        span = scope.spans.add(trace_id=os.urandom(16), span_id=struct.pack(">II", number + 1, i), name=f"s{i}", kind=2,
                               trace_state="a=b", start_time_unix_nano=MINUTE, end_time_unix_nano=MINUTE + 5 + i,
                               flags=0x101, dropped_events_count=1)
        for value in ({"int_value": -(2**63)}, {"double_value": 0.1}, {"bool_value": False}, {"bytes_value": b"\0\xff"},
                      {"string_value": "x" * padding}):
            any_value = span.attributes.add(key=f"k{list(value)[0]}").value
            for name, one in value.items():
                setattr(any_value, name, one)
        span.attributes.add(key="list").value.array_value.values.add().kvlist_value.values.add(key="deep")
        span.events.add(name="event", time_unix_nano=MINUTE + 1).attributes.add(key="e").value.int_value = 3
        span.links.add(trace_id=os.urandom(16), span_id=os.urandom(8), trace_state="c=d")
        span.status.code, span.status.message = 2, "failed"
    return request


def metric_request():
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    metric = scope.metrics.add(name="sum", unit="By")
    metric.sum.is_monotonic, metric.sum.aggregation_temporality = True, 2
    point = metric.sum.data_points.add(time_unix_nano=MINUTE, as_int=-7)
    point.exemplars.add(as_double=0.5, span_id=os.urandom(8), trace_id=os.urandom(16))
    scope.metrics.add(name="gauge").gauge.data_points.add(time_unix_nano=MINUTE, as_double=float("1e-300"))
    histogram = scope.metrics.add(name="histogram").histogram
    histogram.aggregation_temporality = 1
    histogram.data_points.add(count=3, sum=1.5, bucket_counts=[1, 2, 2**63], explicit_bounds=[0.1, 5], time_unix_nano=MINUTE)
    exponential = scope.metrics.add(name="exponential").exponential_histogram.data_points.add(scale=-3, zero_count=1)
    exponential.positive.offset = -4
    exponential.positive.bucket_counts.extend([1, 0, 5])
    scope.metrics.add(name="summary").summary.data_points.add().quantile_values.add(quantile=0.5, value=2)
    return request


def log_request():
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(
        time_unix_nano=MINUTE, observed_time_unix_nano=MINUTE + 1, severity_number=9, severity_text="INFO", flags=1,
        trace_id=os.urandom(16), span_id=os.urandom(8), event_name="e")
    record.body.kvlist_value.values.add(key="message").value.string_value = "a\n\"b\" \u2603"
    return request


REQUESTS = {"traces": span_request, "metrics": metric_request, "logs": log_request}
UNKNOWN = b"\xfa\x7d\x03new"  # a field that no version of the protocol has yet


def grpc_send(port, signal, body, compression=None):
    import grpc
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        name = SIGNALS[signal]
        return channel.unary_unary(SERVICE.format(name, name.capitalize()))(body, timeout=20, compression=compression)


def send_all(annotate, signal):
    """Sends requests in all ways; returns their bytes, in order."""
    import grpc
    sent = []
    for how in ("http", "http gzip", "grpc", "grpc gzip") * 3:
        body = REQUESTS[signal]().SerializeToString() + UNKNOWN
        sent.append(body)
        if how.startswith("grpc"):
            grpc_send(annotate.grpc_port, signal, body, grpc.Compression.Gzip if "gzip" in how else None)
        elif "gzip" in how:
            equal(annotate.post(signal, gzip.compress(body), **{"Content-Encoding": "gzip"})[0], 200, "status")
        else:
            equal(annotate.post(signal, body)[0], 200, "status")
    return sent


@each("http", "grpc")
def requests_of_all_signals_pass_unchanged_to(protocol):
    with Sink(http=protocol == "http", grpc=protocol == "grpc") as sink:
        port = sink.http_port or sink.grpc_port
        env = ENV | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc" if protocol == "grpc" else "http/protobuf",
                     "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
        with Annotate("--threshold=1s", to=f"http://127.0.0.1:{port}", env=env) as annotate:
            for signal in REQUESTS:
                sent = b"".join(send_all(annotate, signal))
                sink.wait(lambda: sum(map(len, sink.bodies(signal))) >= len(sent), f"all {signal} arrive")
                equal(b"".join(sink.bodies(signal)), sent, signal)
            headers = {key.lower(): value for key, value in sink.requests[-1].headers.items()}
            equal(headers.get("x-key"), "a b", "header")
            status = annotate.status()
            equal((status["spans_dropped"], status["spans_received"]), (0, 36), "spans dropped and received")


def to_json(request):
    """OTLP JSON: ids in hexadecimal, and enums as numbers."""
    from google.protobuf import json_format

    def with_hex(value):
        if isinstance(value, dict):
            return {key: base64.b64decode(item).hex() if key in ("traceId", "spanId", "parentSpanId") else with_hex(item)
                    for key, item in value.items()}
        return [with_hex(item) for item in value] if isinstance(value, list) else value
    return json.dumps(with_hex(json_format.MessageToDict(request, use_integers_for_enums=True)))


@test
def json_arrives_as_protobuf_and_malformed_requests_get_an_error():
    with Sink() as sink, Annotate("--threshold=1s", to=collector(sink)) as annotate:
        for signal, make in REQUESTS.items():
            request = make()
            status, reply, _ = annotate.post(signal, to_json(request).encode(), "application/json")
            equal((status, json.loads(reply or b"{}")), (200, {}), "reply")
            sink.wait(lambda: sink.bodies(signal), f"{signal} arrive")
            got = type(request).FromString(sink.bodies(signal)[0])
            require(got == request, f"{signal} differ:\n{request}\nbecome\n{got}")
        check_malformed(annotate)
        good = span_request().SerializeToString()
        equal(annotate.post("traces", good)[0], 200, "status")
        sink.wait(lambda: len(sink.requests) > len(REQUESTS), "the good one arrives")
        equal(sink.bodies("traces")[1:], [good], "what arrives")


def check_malformed(annotate):
    good, before = span_request().SerializeToString(), annotate.status()
    for body, kind in ((good[:-3], "application/x-protobuf"), (b"\xff" * 100, "application/x-protobuf"),
                       (b"{", "application/json"), (b'{"resourceSpans":7}', "application/json")):
        equal(annotate.post("traces", body, kind)[0], 400, f"status for {body[:20]!r}")
    equal(annotate.post("traces", good, "text/plain")[0], 415, "status for a wrong type")
    equal(annotate.post("nothing", good)[0], 404, "status for a wrong path")
    after = annotate.status()
    equal(after["requests_invalid"] - before["requests_invalid"], 4, "number of malformed requests")
    equal(after["requests_refused"] - before["requests_refused"], 2, "number of refused requests")


# A collector that fails

def send_spans(annotate, count, first=0, **how):
    """Sends requests one after another; returns their bytes and how many spans were rejected at once."""
    bodies, rejected = [], 0
    for number in range(first, first + count):
        body = span_request(number, **how).SerializeToString()
        status, reply, took = annotate.post("traces", body)
        equal(status, 200, "status")
        require(took < QUICK, f"a reply took {took:.2f} s")
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
        rejected += ExportTraceServiceResponse.FromString(reply).partial_success.rejected_spans
        bodies.append(body)
    return bodies, rejected


FAILURES = {
    "is away": lambda sink: sink.leave(),
    "is slow": lambda sink: sink.fail(delay=1, times=2),
    "answers 503": lambda sink: sink.fail(status=503),
    "answers 429": lambda sink: sink.fail(status=429, retry_after=1),
    "closes connections": lambda sink: sink.fail(closes=True),
}


def fail_for_a_while(annotate, sink, failure):
    """Spans that are sent meanwhile arrive later, each once and in order."""
    before, spans, status = len(sink.bodies("traces")), len(sink.spans()), annotate.status()
    FAILURES[failure](sink)
    sent, rejected = send_spans(annotate, 20)
    if failure != "is slow":
        annotate.settled("export_retries", status["export_retries"] + 2)
    sink.work()
    if not sink.is_there():
        sink.come_back()
    sink.wait(lambda: len(sink.spans()) >= spans + 60, f"all spans arrive, though the collector {failure}")
    equal(b"".join(sink.bodies("traces")[before:]), b"".join(sent), f"what arrives if the collector {failure}")
    equal(rejected, 0, "spans rejected at once")


@each(("http", FAILURES), ("grpc", [name for name in FAILURES if name != "closes connections"]))
def no_span_is_lost_by_a_collector_that_fails_for_a_while(protocol, failures):
    with Sink(http=protocol == "http", grpc=protocol == "grpc") as sink:
        env = ENV | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc" if protocol == "grpc" else "http/protobuf"}
        url = f"http://127.0.0.1:{sink.http_port or sink.grpc_port}"
        with Annotate("--threshold=1s", to=url, env=env) as annotate:
            for failure in failures:
                fail_for_a_while(annotate, sink, failure)
            status = annotate.settled("spans_forwarded", 60 * len(failures))
            equal((status["spans_dropped"], status["spans_rejected"]), (0, 0), "dropped and rejected")


def fill_queue(annotate, sink):
    """Returns how many spans were sent, and how many of them rejected at once."""
    before = resident(annotate.pid)
    sink.leave()
    _, rejected = send_spans(annotate, 100, 100, padding=20_000)
    grown, status = resident(annotate.pid) - before, annotate.status()
    require(rejected > 0, "everything fits into the queue")
    equal(status["spans_dropped"], rejected, "dropped")
    require(status["queue_bytes"] <= 2 << 20, f"the queue has {status['queue_bytes']} bytes")
    require(grown < 16 << 10, f"the relay grows by {grown} KiB")
    sink.come_back()
    return 300, rejected


@test
def spans_that_are_dropped_or_rejected_are_counted():
    """Spans that do not fit into the queue, and those that the collector rejects; all others arrive."""
    with Sink() as sink, Annotate("--threshold=1s", "--queue=2M", to=collector(sink)) as annotate:
        sink.fail(status=400)
        send_spans(annotate, 5)
        status = annotate.settled("spans_rejected", 15)
        equal((status["spans_rejected"], status["spans_forwarded"]), (15, 0), "rejected and forwarded")
        sink.work()
        sent, _ = send_spans(annotate, 5, 5)
        sink.wait(lambda: len(sink.spans()) == 15, "later spans arrive")
        equal(b"".join(sink.bodies("traces")), b"".join(sent), "what arrives")
        count, rejected = fill_queue(annotate, sink)
        kept = 15 + count - rejected
        sink.wait(lambda: len(sink.spans()) >= kept, f"{kept} spans arrive")
        equal(annotate.settled("spans_forwarded", kept)["spans_forwarded"], kept, "forwarded")
        equal(len({span.id for span in sink.spans()}), kept, "spans")


@test
def a_service_never_waits_for_the_collector():
    """Its exporter returns, whatever the collector does, also at its end."""
    with Sink() as sink, Annotate("--threshold=20ms", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            for fail in (sink.work, lambda: sink.fail(delay=3, times=1), lambda: sink.fail(status=503, times=2), sink.leave):
                fail()
                for _ in range(5):
                    service.call("fast")
                service.call("sleep")
        exports = service.exports()
        require(all(export.succeeded for export in exports), "an export failed")
        slowest = max(export.duration for export in exports) / 1e9
        print(f"the slowest export of {len(exports)} takes {1000 * slowest:.1f} ms")
        require(slowest < QUICK, f"an export took {slowest:.2f} s")
        sink.work()
        sink.come_back()
        exported = service.spans()
        sink.wait(lambda: own_spans(sink).keys() >= exported.keys(), "all spans arrive")
        equal(len(own_spans(sink)), 24, "spans")


@test
def a_collector_that_is_away_at_the_end_costs_five_seconds():
    """The rest is counted."""
    port, = free_ports(1)
    with Annotate("--threshold=1s", to=f"http://127.0.0.1:{port}") as annotate:
        send_spans(annotate, 3)
        annotate.end()
        words = annotate.said()
    require("9 received" in words and "9 dropped" in words, words)


annotating.main()
