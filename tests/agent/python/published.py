# SPDX-License-Identifier: Apache-2.0
"""What the agent publishes for this thread, beside what OpenTelemetry says itself.

Read as anybody reads it: OTEP 4947 has a thread-local symbol that points to a
record, with the trace at 0, the span at 16 and whether it is valid at 24.
"""
import collections
import ctypes

from opentelemetry import trace

LIBRARY = ctypes.CDLL(None)


def published():
    """The id of a span, "" for none, None for one that is not known."""
    record = ctypes.c_void_p.in_dll(LIBRARY, "otel_thread_ctx_v1").value
    if not record:
        return ""
    text = ctypes.string_at(record, 25)
    return text[16:24].hex() if text[24] == 1 else None


def current():
    """The same, as the API has it."""
    context = trace.get_current_span().get_span_context()
    return f"{context.span_id:016x}" if context.is_valid and not context.is_remote else ""


class Probe:
    """Compares both wherever it is called, and counts what it found."""

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
