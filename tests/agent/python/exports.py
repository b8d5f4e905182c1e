#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what the SDK exports, without ids and times; run by the SDK's Python.

usage: exports.py console         create spans and print them
       exports.py plain FILE...   print OTLP requests
"""
import re
import sys

from google.protobuf.message import Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode

DIFFERENT = re.compile(r"^(?:.*_id|.*time_unix_nano)$")
DIFFERENT_ATTRIBUTES = {"thread.native_id", "process.pid"}


def console():
    for more in ({}, {"active_span_processor": ConcurrentMultiSpanProcessor(2)}, {"sampler": ParentBased(TraceIdRatioBased(0))}):
        provider = TracerProvider(resource=Resource({"service.name": "console"}), **more)
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
        print(provider._active_span_processor._span_processors[0].__class__, len(vars(provider)))
        tracer = provider.get_tracer("console")
        for i in range(5):
            with tracer.start_as_current_span(f"outer {i}", kind=SpanKind.SERVER, attributes={"i": i}) as outer:
                with tracer.start_as_current_span("inner", start_time=1, end_on_exit=False) as inner:
                    inner.update_name("renamed")
                    inner.set_status(Status(StatusCode.ERROR, "why"))
                inner.end(end_time=2)
                inner.end()  # again: the SDK logs that
                outer.add_event("event", {"k": [1, 2]})
                if outer.is_recording():
                    print(sorted(vars(outer)), sorted(vars(inner)), inner.attributes)
        provider.force_flush()
        provider.shutdown()


def clear(message):
    """Clear the fields of a message that differ in each run, recursively."""
    for field, value in message.ListFields():
        if DIFFERENT.match(field.name) or field.name == "value" and getattr(message, "key", "") in DIFFERENT_ATTRIBUTES:
            message.ClearField(field.name)
        elif isinstance(value, Message):
            clear(value)
        elif field.type == field.TYPE_MESSAGE:
            for one in value:
                clear(one)


def plain(path):
    request = ExportTraceServiceRequest()
    with open(path, "rb") as file:
        request.ParseFromString(file.read())
    clear(request)
    return request.SerializeToString(deterministic=True)


if sys.argv[1] == "console":
    console()
else:
    for name in sys.argv[2:]:
        sys.stdout.buffer.write(plain(name))
