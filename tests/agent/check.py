#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record a program and compare its spans with the truth that it writes: check.py COMMAND...

One word of COMMAND is `@`: the file to which the program writes a JSON object
for each span, one per line:

    {"trace": HEX, "span": HEX, "parent": HEX or "", "name": TEXT, "pid": N, "tid": N,
     "begin": NS, "end": NS, "cpu": NS, "switches": N, "end_tid": N, "attributes": {...},
     "begin_call": NS, "end_call": NS, "cpu_in_calls": NS}

begin and end are on CLOCK_MONOTONIC, taken right outside the calls that begin and end the
span; tid is the thread that began it.  begin_call and end_call, if present, are when the
program made the calls: a call can take long on a busy host, and any time within it is right.  cpu, if present, is the CPU time that threads had while it was their
current span, without its children, from CLOCK_THREAD_CPUTIME_ID read at each switch;
switches is the number of these (default 2).  cpu_in_calls, if present, is CPU time in the
calls that switched, not counted in cpu: it may be attributed to the span or not.  end_tid is the thread that ended the span, if
it is another one.

Every span must be recorded, with its name, parent, thread and attributes.  Its begin and
end must be within 20 us, not counting time off-CPU and in interrupts; the median must be
within 20 us as well.  At most 0.2 % of the CPU time may be attributed to a wrong span.
Missing attribution is less bad, but at most 2 % is allowed.

The program runs ROUNDS times.  Nothing may be missing or wrong in any round; times may be
off in less than half of the rounds, because a hypervisor takes a CPU now and then.

SONDE in the environment selects the binary.
"""
import collections
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
import accounted  # noqa: E402
import harness  # noqa: E402
from harness import Certain, Failure, run  # noqa: E402

NEAR = 20_000          # ns between the true and the recorded time
FAR_SHARE = 0.005      # of begins and ends that may be farther off, because of interrupts
WRONG_SHARE = 0.002    # of CPU time that may be attributed to a wrong span: 0.00 to 0.15 % on an idle host
MISSING_SHARE = 0.02   # of CPU time that may be attributed to no span
ROUNDS = 3
SWITCH = 3_000         # ns of uncertainty per switch: the clocks are read one after the other


class Recorded:
    """The contents of a capture."""

    def __init__(self, path):
        self.path = path
        self.spans = {}
        self.duplicates = 0
        for row in self.query("SELECT id, trace_id, span_id, parent_span_id, operation, service, kind, error, start, end, pid, "
                              "tid, thread, cpu_time FROM spans WHERE source = 'sdk'"):
            key = (row["trace_id"], row["span_id"])
            self.duplicates += key in self.spans
            self.spans[key] = row
        self.off, self.on = {}, {}
        for row in self.query("SELECT tid, start, end, state, irq_time FROM intervals ORDER BY start"):
            timelines = self.on if row["state"] == "R" else self.off
            timelines.setdefault(row["tid"], []).append(row)

    def query(self, sql):
        return json.loads(run(harness.SONDE, "query", "--json", self.path, sql).stdout or "[]")

    def off_cpu(self, tid, begin, end):
        """Off-CPU time of a thread within this time, in ns."""
        return sum(min(i["end"], end) - max(i["start"], begin)
                   for i in harness.overlapping(self.off.get(tid, []), begin, end))

    def interrupts(self, tid, begin, end):
        """Interrupt time in ns in the on-CPU slices that overlap with this time: in the whole slices, and in the overlap."""
        whole = part = 0
        for i in harness.overlapping(self.on.get(tid, []), begin, end):
            whole += i["irq_time"] or 0
            part += (i["irq_time"] or 0) * (min(i["end"], end) - max(i["start"], begin)) // max(1, i["end"] - i["start"])
        return whole, part

    def attributes(self):
        """{(trace, span): {key: value}}"""
        found = {}
        for row in self.query("SELECT trace_id, span_id, key, value FROM attributes"):
            found.setdefault((row["trace_id"], row["span_id"]), {})[row["key"]] = row["value"]
        return found


def read_truth(path):
    spans = [json.loads(line) for line in path.read_text().splitlines()]
    if not spans:
        raise Failure("the program wrote no span")
    return {(s["trace"], s["span"]): s for s in spans}


def name_of(span):
    return f"span {span['span']} '{span['name']}'"


def identity_complaints(truth, recorded):
    """Every span is recorded once, with the right identity."""
    missing = [s for key, s in truth.items() if key not in recorded.spans]
    if missing:
        yield f"{len(missing)} of {len(truth)} spans are missing, such as {name_of(missing[0])}"
    if recorded.duplicates:
        yield f"{recorded.duplicates} spans are recorded twice"
    for key, span in truth.items():
        row = recorded.spans.get(key)
        for field, column in (("name", "operation"), ("parent", "parent_span_id"), ("tid", "tid"), ("pid", "pid")):
            if row and (row[column] or "") != span[field]:
                yield f"{name_of(span)}: {field} is {row[column]!r}, want {span[field]!r}"


def distance(recorded, tid, true, found):
    low, high = min(true, found), max(true, found)
    return max(0, high - low - recorded.off_cpu(tid, low, high) - recorded.interrupts(tid, low, high)[0])


def time_complaints(truth, recorded, notes):
    far, worst, distances = [], 0, []
    for key, span in truth.items():
        row = recorded.spans.get(key)
        if not row:
            continue
        for side, column, tid in (("begin", "start", span["tid"]),
                                  ("end", "end", span.get("end_tid", span["tid"]))):
            distances.append(distance(recorded, tid, span[side], row[column]))
            called = span.get(f"{side}_call", span[side])
            d = 0 if called <= row[column] <= span[side] else \
                min(distances[-1], distance(recorded, tid, called, row[column]))
            worst = max(worst, d)
            if d > NEAR:
                far.append(f"{name_of(span)}: its {side} is {d / 1000:.1f} µs off")
    middle = statistics.median(distances)
    notes.append(f"{len(distances)} begins and ends, median {middle / 1000:.1f} µs off, "
                 f"{len(far)} more than 20 µs off, the worst {worst / 1000:.1f} µs")
    if len(far) > FAR_SHARE * len(distances):
        yield from far[:5]
    if middle > NEAR:
        yield f"the median of all begins and ends is {middle / 1000:.1f} µs off"


def cpu_of(span, recorded):
    """CPU time in ns attributed to a span in excess, and missing from it, beyond the uncertainty of the clocks."""
    row = recorded.spans.get((span["trace"], span["span"]))
    if not row or span.get("cpu") is None:
        return 0, 0
    # CLOCK_THREAD_CPUTIME_ID does not count interrupts
    irq = sum(recorded.interrupts(tid, span["begin"], span["end"])[1]
              for tid in {span["tid"], span.get("end_tid", span["tid"])})
    slack, over = SWITCH * span.get("switches", 2), (row["cpu_time"] or 0) - span["cpu"]
    return max(0, over - span.get("cpu_in_calls", 0) - slack - irq), max(0, -over - slack)


def cpu_complaints(truth, recorded, stolen, notes):
    """Excess of one span that is missing from another was attributed to the wrong one.

    Other excess is time that the hypervisor took from a running thread, whose CPU clock does not count it: at
    most the steal time of the host.
    """
    total = sum(span.get("cpu") or 0 for span in truth.values())
    over, under, worst = collections.Counter(), collections.Counter(), (0, "")
    for span in truth.values():
        more, less = cpu_of(span, recorded)
        over[span["pid"]] += more
        under[span["pid"]] += less
        worst = max(worst, (more, name_of(span)))
    if not total:
        return
    wrong = sum(min(over[pid], under[pid]) for pid in over)
    extra, missing = over.total() - wrong, under.total() - wrong
    notes.append(f"of {total / 1e6:.1f} ms CPU time {100 * wrong / total:.3f} % is attributed to a wrong span, "
                 f"{100 * missing / total:.3f} % to none; {100 * extra / total:.3f} % in excess "
                 f"({stolen / 1e6:.0f} ms steal time)")
    if wrong > WRONG_SHARE * total:
        yield f"{wrong / 1000:.1f} µs of CPU time attributed to wrong spans, most to {worst[1]}: {worst[0] / 1000:.1f} µs"
    if missing > MISSING_SHARE * total:
        yield f"{missing / 1000:.1f} µs of CPU time attributed to no span"
    if extra - stolen > MISSING_SHARE * total:
        yield f"{extra / 1000:.1f} µs of CPU time attributed in excess, most to {worst[1]}"


def attribute_complaints(truth, recorded):
    if not any("attributes" in span for span in truth.values()):
        return
    found = recorded.attributes()
    for key, span in truth.items():
        if "attributes" in span and found.get(key, {}) != span["attributes"]:
            yield f"{name_of(span)}: attributes are {found.get(key, {})}, want {span['attributes']}"


def summary(found):
    return "\n  ".join(found[:12]) + (f"\n  and {len(found) - 12} more" if len(found) > 12 else "")


def record(command, scratch, options=(), env=None):
    """Returns the truth, the recording, and the steal time in ns."""
    capture, path = scratch / "agent.sonde", scratch / "truth.jsonl"
    path.unlink(missing_ok=True)
    program = [str(path) if word == "@" else str(word) for word in command]
    before = harness.stolen_ticks()
    run(harness.SONDE, "record", "-q", "-o", capture, *options, "--", harness.SONDE, "run", "--", *program, env=env)
    stolen = (harness.stolen_ticks() - before) * 10_000_000
    accounted.check(json.loads(run(harness.SONDE, "info", "--json", capture).stdout))
    return read_truth(path), Recorded(capture), stolen


def check_round(command, scratch, options, env):
    """Raises Certain on wrong spans.  Returns the truth, the recording, and the times that are off."""
    notes = []
    truth, recorded, stolen = record(command, scratch, options, env)
    wrong = [*identity_complaints(truth, recorded), *attribute_complaints(truth, recorded)]
    off = [*time_complaints(truth, recorded, notes), *cpu_complaints(truth, recorded, stolen, notes)]
    print(f"{len(truth)} spans: {'; '.join(notes)}", flush=True)
    if wrong:
        raise Certain(summary(wrong + off))
    return truth, recorded, off


def check(command, scratch, options=(), env=None):
    """Raises Failure on wrong spans or times.  Returns the truth and the recording of the last round."""
    rounds = [check_round(command, scratch, options, env) for _ in range(ROUNDS)]
    off = [found for *_, found in rounds if found]
    if len(off) > ROUNDS / 2:
        raise Failure(summary(off[0]))
    return rounds[-1][:2]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command, sys.argv[1:] = sys.argv[1:], ["it"]
    harness.tests["it"] = lambda: check(command, harness.SCRATCH)
    harness.main()


if __name__ == "__main__":
    main()
