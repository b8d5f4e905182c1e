#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Send spans, metrics and logs to the servers of the relay, run by the SDK's Python; see receive.py.

usage: receive_export.py RECEIVE
"""
import logging
import subprocess
import sys
import threading

import grpc
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SPANS = 503
LOGS = 7
REQUESTS = {"traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest,
            "logs": ExportLogsServiceRequest}


class Receiver:
    """The program, and the requests that it has received, by signal."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.grpc, self.http = map(int, self.process.stdout.readline().split())
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def requests(self):
        self.process.stdin.close()
        self.reader.join()
        assert self.process.wait() == 0, f"the receiver exits with {self.process.returncode}"
        found = {signal: [] for signal in REQUESTS}
        for line in self.lines:
            signal, _, body = line.partition(" ")
            found[signal].append(REQUESTS[signal].FromString(bytes.fromhex(body)))
        return found


def exporters(receiver, protocol, compressed):
    """One exporter for each signal."""
    if protocol == "grpc":
        compression = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression
        how = {"endpoint": f"127.0.0.1:{receiver.grpc}", "insecure": True, "compression": compression, "timeout": 20}
        return GrpcSpans(**how), GrpcMetrics(**how), GrpcLogs(**how)
    compression = Compression.Gzip if compressed else Compression.NoCompression
    return [kind(endpoint=f"http://127.0.0.1:{receiver.http}/v1/{path}", compression=compression, timeout=20)
            for kind, path in ((HttpSpans, "traces"), (HttpMetrics, "metrics"), (HttpLogs, "logs"))]


def send_spans(exporter):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    for number in range(SPANS):
        with provider.get_tracer("test").start_as_current_span(f"operation {number}", attributes={"text": "x" * 100}):
            pass
    provider.shutdown()


def send_metrics(exporter):
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, 3_600_000)], shutdown_on_exit=False)
    provider.get_meter("test").create_counter("requests").add(17)
    provider.shutdown()


def send_logs(exporter):
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = logging.Logger("test")
    logger.addHandler(LoggingHandler(logger_provider=provider))
    for number in range(LOGS):
        logger.warning("line %d", number)
    provider.shutdown()


def spans_of(requests):
    return [span.name for request in requests["traces"] for resource in request.resource_spans
            for scope in resource.scope_spans for span in scope.spans]


def check(receiver):
    """Everything has arrived once."""
    requests = receiver.requests()
    assert sorted(spans_of(requests)) == sorted(f"operation {number}" for number in range(SPANS)), "spans differ"
    metrics = [metric for request in requests["metrics"] for resource in request.resource_metrics
               for scope in resource.scope_metrics for metric in scope.metrics]
    values = [(metric.name, point.as_int) for metric in metrics for point in metric.sum.data_points]
    assert values == [("requests", 17)], values
    lines = [record.body.string_value for request in requests["logs"] for resource in request.resource_logs
             for scope in resource.scope_logs for record in scope.log_records]
    assert lines == [f"line {number}" for number in range(LOGS)], lines


def send_all(program, protocol, compressed):
    receiver = Receiver(program)
    spans, metrics, logs = exporters(receiver, protocol, compressed)
    send_spans(spans)
    send_metrics(metrics)
    send_logs(logs)
    check(receiver)


def send_again(program, protocol):
    """An unavailable server gets the spans a second later."""
    receiver = Receiver(program, 1)
    send_spans(exporters(receiver, protocol, False)[0])
    assert len(spans_of(receiver.requests())) == SPANS, "the SDK does not repeat a refused export"


def partial(program, protocol):
    """Rejected items are no failure, and the SDK does not send them again."""
    receiver = Receiver(program, 0, 3)
    send_spans(exporters(receiver, protocol, True)[0])
    assert len(spans_of(receiver.requests())) == SPANS


TESTS = {f"{protocol}, {'compressed' if compressed else 'plain'}": (send_all, protocol, compressed)
         for protocol in ("grpc", "http") for compressed in (False, True)}
TESTS |= {f"{protocol}, {name}": (test, protocol) for protocol in ("grpc", "http")
          for name, test in (("unavailable at first", send_again), ("partial success", partial))}


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, (name, (test, *arguments)) in enumerate(TESTS.items(), 1):
        try:
            test(sys.argv[1], *arguments)
            print(f"ok {number} - {name}", flush=True)
        except AssertionError as e:
            failed += 1
            print(f"not ok {number} - {name}\n# {e!r}", flush=True)
    sys.exit(failed > 0)


main()
