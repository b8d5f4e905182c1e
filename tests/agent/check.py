#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record a program that knows its spans, and hold the capture against that: check.py COMMAND...

One word of COMMAND is `@`: the file to which the program writes a JSON object
for each span, one on a line:

    {"trace": HEX, "span": HEX, "parent": HEX or "", "name": TEXT, "pid": N, "tid": N,
     "begin": NS, "end": NS, "cpu": NS, "switches": N, "end_tid": N, "attributes": {...},
     "begin_call": NS, "end_call": NS}

begin and end are CLOCK_MONOTONIC, noted just outside of what the program calls;
tid is the thread that began it.  begin_call and end_call, if the program notes them, are when it made
the calls: one in an interpreter may take long on a busy machine, and any moment of it is right.  cpu, if the program knows it, is the CPU time
that threads had while it was the current span, without that of its children and of
others, by CLOCK_THREAD_CPUTIME_ID read at each switch; switches says how often
that was (2 if it does not).  end_tid is the thread that ended it, if another one.

Every span must be there, with its name, parent, thread and attributes, its
begin and end within 20 µs, and most of them so of begin and end themselves, where time in which the
thread had no CPU, or interrupts had it, does not count; and of all CPU time at most 0.2 % may be given to a wrong span.  What is
missing is less bad than what is wrong, but no more than 2 % may be.

The program runs ROUNDS times.  In none of them may anything be missing or wrong, and times may be off in less
than half of them: a hypervisor takes a CPU for a moment now and then.

SONDE in the environment says which sonde.
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

NEAR = 20_000          # ns between what the program noted and what was recorded
FAR_SHARE = 0.005      # of begins and ends that may be farther, as an interrupt came between
WRONG_SHARE = 0.002    # of CPU time that may be given to a span that did not have it: 0.00 to 0.15 % on a quiet machine
MISSING_SHARE = 0.02   # of CPU time that may be given to none
ROUNDS = 3
SWITCH = 3_000         # ns that may fall on either side of a switch: the clocks are read one after the other


class Recorded:
    """What sonde says of a capture."""

    def __init__(self, path):
        self.path = path
        self.spans = {}
        self.doubles = 0
        for row in self.query("SELECT id, trace_id, span_id, parent_span_id, operation, service, kind, error, start, end, pid, "
                              "tid, thread, cpu_time FROM spans WHERE source = 'sdk'"):
            key = (row["trace_id"], row["span_id"])
            self.doubles += key in self.spans
            self.spans[key] = row
        self.off, self.on = {}, {}
        for row in self.query("SELECT tid, start, end, state, irq_time FROM intervals ORDER BY start"):
            lines = self.on if row["state"] == "R" else self.off
            lines.setdefault(row["tid"], []).append(row)

    def query(self, sql):
        return json.loads(run(harness.SONDE, "query", "--json", self.path, sql).stdout or "[]")

    def off_cpu(self, tid, begin, end):
        """ns of this time in which a thread had no CPU."""
        return sum(min(i["end"], end) - max(i["start"], begin)
                   for i in harness.overlapping(self.off.get(tid, []), begin, end))

    def interrupts(self, tid, begin, end):
        """ns that interrupts had the CPU in the turns of a thread that have a part in this time, and in its part."""
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
    """All are there, once, and are who they are."""
    missing = [s for key, s in truth.items() if key not in recorded.spans]
    if missing:
        yield f"{len(missing)} of {len(truth)} spans are not recorded, such as {name_of(missing[0])}"
    if recorded.doubles:
        yield f"{recorded.doubles} spans are recorded twice"
    for key, span in truth.items():
        row = recorded.spans.get(key)
        for field, column in (("name", "operation"), ("parent", "parent_span_id"), ("tid", "tid"), ("pid", "pid")):
            if row and (row[column] or "") != span[field]:
                yield f"{name_of(span)}: {field} is {row[column]!r}, want {span[field]!r}"


def distance(recorded, tid, noted, told):
    low, high = min(noted, told), max(noted, told)
    return max(0, high - low - recorded.off_cpu(tid, low, high) - recorded.interrupts(tid, low, high)[0])


def time_complaints(truth, recorded, notes):
    far, worst, all_of_them = [], 0, []
    for key, span in truth.items():
        row = recorded.spans.get(key)
        if not row:
            continue
        for side, column, tid in (("begin", "start", span["tid"]),
                                  ("end", "end", span.get("end_tid", span["tid"]))):
            all_of_them.append(distance(recorded, tid, span[side], row[column]))
            called = span.get(f"{side}_call", span[side])
            d = 0 if called <= row[column] <= span[side] else \
                min(all_of_them[-1], distance(recorded, tid, called, row[column]))
            worst = max(worst, d)
            if d > NEAR:
                far.append(f"{name_of(span)}: its {side} is {d / 1000:.1f} µs off")
    middle = statistics.median(all_of_them)
    notes.append(f"{len(all_of_them)} begins and ends, half of them within {middle / 1000:.1f} µs, "
                 f"{len(far)} more than 20 µs off, the worst {worst / 1000:.1f} µs")
    if len(far) > FAR_SHARE * len(all_of_them):
        yield from far[:5]
    if middle > NEAR:
        yield f"half of all begins and ends are more than {middle / 1000:.1f} µs off"


def cpu_of(span, recorded):
    """ns that a span was given and did not have, and that it had and was not given, beyond what clocks leave open."""
    row = recorded.spans.get((span["trace"], span["span"]))
    if not row or span.get("cpu") is None:
        return 0, 0
    # the clock of a thread's CPU time does not count interrupts
    irq = sum(recorded.interrupts(tid, span["begin"], span["end"])[1]
              for tid in {span["tid"], span.get("end_tid", span["tid"])})
    slack, over = SWITCH * span.get("switches", 2), (row["cpu_time"] or 0) - span["cpu"]
    return max(0, over - slack - irq), max(0, -over - slack)


def cpu_complaints(truth, recorded, stolen, notes):
    """What a span was given and another lacks was given to the wrong one.

    What nobody lacks is time that the hypervisor took from a running thread: its
    CPU clock does not count that.
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
    notes.append(f"of {total / 1e6:.1f} ms CPU time {100 * wrong / total:.3f} % is given to a wrong span, "
                 f"{100 * missing / total:.3f} % to none; {100 * extra / total:.3f} % more than there was "
                 f"({stolen / 1e6:.0f} ms were stolen from the machine)")
    if wrong > WRONG_SHARE * total:
        yield f"{wrong / 1000:.1f} µs of CPU time given to wrong spans, most to {worst[1]}: {worst[0] / 1000:.1f} µs"
    if missing > MISSING_SHARE * total:
        yield f"{missing / 1000:.1f} µs of CPU time given to no span"
    if extra > MISSING_SHARE * total:
        yield f"{extra / 1000:.1f} µs of CPU time given to spans that no thread had, most to {worst[1]}"


def attribute_complaints(truth, recorded):
    if not any("attributes" in span for span in truth.values()):
        return
    told = recorded.attributes()
    for key, span in truth.items():
        if "attributes" in span and told.get(key, {}) != span["attributes"]:
            yield f"{name_of(span)}: attributes are {told.get(key, {})}, want {span['attributes']}"


def in_words(found):
    return "\n  ".join(found[:12]) + (f"\n  and {len(found) - 12} more" if len(found) > 12 else "")


def record(command, room, options=(), env=None):
    """Returns the truth, what was recorded, and ns that the hypervisor took meanwhile."""
    capture, path = room / "agent.sonde", room / "truth.jsonl"
    path.unlink(missing_ok=True)
    program = [str(path) if word == "@" else str(word) for word in command]
    before = harness.stolen_ticks()
    run(harness.SONDE, "record", "-q", "-o", capture, *options, "--", harness.SONDE, "run", "--", *program, env=env)
    stolen = (harness.stolen_ticks() - before) * 10_000_000
    accounted.check(json.loads(run(harness.SONDE, "info", "--json", capture).stdout))
    return read_truth(path), Recorded(capture), stolen


def check_round(command, room, options, env):
    """Raises Certain if not all is right. Returns the truth, what was recorded, and which times are off."""
    notes = []
    truth, recorded, stolen = record(command, room, options, env)
    wrong = [*identity_complaints(truth, recorded), *attribute_complaints(truth, recorded)]
    off = [*time_complaints(truth, recorded, notes), *cpu_complaints(truth, recorded, stolen, notes)]
    print(f"{len(truth)} spans: {'; '.join(notes)}", flush=True)
    if wrong:
        raise Certain(in_words(wrong + off))
    return truth, recorded, off


def check(command, room, options=(), env=None):
    """Raises Failure if not all is right. Returns the truth and what was recorded, of the last round."""
    rounds = [check_round(command, room, options, env) for _ in range(ROUNDS)]
    off = [found for *_, found in rounds if found]
    if len(off) > ROUNDS / 2:
        raise Failure(in_words(off[0]))
    return rounds[-1][:2]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command, sys.argv[1:] = sys.argv[1:], ["it"]
    harness.tests["it"] = lambda: check(command, harness.ROOM)
    harness.main()


if __name__ == "__main__":
    main()
