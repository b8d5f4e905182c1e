# SPDX-License-Identifier: Apache-2.0
"""Compare the span that the agent publishes for this thread with OpenTelemetry's current span.

Reads it like any reader of OTEP 4947: a thread-local symbol points to a record, with the
trace at offset 0, the span at 16, and whether it is valid at 24.
"""
import collections
import ctypes

from opentelemetry import trace

LIBRARY = ctypes.CDLL(None)


def published():
    """The published span: its id, "" for none, None if unknown."""
    record = ctypes.c_void_p.in_dll(LIBRARY, "otel_thread_ctx_v1").value
    if not record:
        return ""
    text = ctypes.string_at(record, 25)
    return text[16:24].hex() if text[24] == 1 else None


def current():
    """The current span according to the API."""
    context = trace.get_current_span().get_span_context()
    return f"{context.span_id:016x}" if context.is_valid and not context.is_remote else ""


class Probe:
    """Compares both at each call, and counts the results."""

    def __init__(self):
        self.counts = collections.Counter()

    def __call__(self):
        ours, theirs = published(), current()
        if ours is None:
            self.counts["unknown"] += 1
        elif ours == theirs:
            self.counts["right" if theirs else "none"] += 1
        else:
            self.counts["wrong" if ours else "missing"] += 1
