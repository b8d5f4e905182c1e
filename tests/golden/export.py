#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export the saved captures as CTF, and compare the events with the records.

usage: export.py SONDE

babeltrace2 must read the trace without warnings and find exactly the events that follow from the records, at their
times and on their CPUs.  sonde must read the same intervals back, also from traces of other tracers.
Prints TAP.
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOOD = HERE.parent / "data" / "good"
DEMO = HERE.parent.parent / "demo"
SHARED = HERE.parent.parent.parent / "shared" / "data"  # traces of other tracers, if available
FOREIGN = ["ctf/bug446190", "ctf/flipping-endianness", "lttng-kernel.tar.zst", "ftrace/trace.dat",
           "ftrace/ftrace_syscalls.txt", "ftrace/trace-critical-path", "misertrace/in.psv"]
LINE = re.compile(r"\[(\d+)\] (?:\S+ )?(\S+): \{ cpu_id = (\d+) \}, \{ tid = (-?\d+) \}(?:, \{ (.*?) ?\})?$")
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|\[ .*? \]|[^,]+)(?:, |$)')
CONTEXTS = {"irq": "irq_handler", "softirq": "irq_softirq", "hrtimer": "timer_hrtimer_expire"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=240)


def dump(sonde, path):
    done = run(sonde, "dump", "--json", path)
    return [json.loads(line) for line in done.stdout.splitlines()]


def parse(line):
    match = LINE.match(line)
    assert match, line
    time, name, cpu, tid, fields = match.groups()
    event = {}
    for key, value in FIELD.findall(fields or ""):
        event[key] = value[1:-1] if value[0] == '"' else value if value[0] == "[" else int(value, 0)
    return event | {"time": int(time), "event": name, "cpu": int(cpu), "current": int(tid)}


def read_trace(directory):
    """The events, as lines, and warnings of babeltrace2."""
    done = run("babeltrace2", "--clock-cycles", "--no-delta", directory)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()], done.stderr.strip()


def of(events, *names):
    return [e for e in events if e["event"] in names]


def differ(what, want, got):
    """Complaints about two multisets."""
    want, got = collections.Counter(want), collections.Counter(got)
    for only, where in ((want - got, "not in the trace"), (got - want, "only in the trace")):
        if only:
            yield f"{what}: {sum(only.values())} {where}, as {next(iter(only))}"


def check_switches(records, events):
    runs = [r for r in records if r["kind"] == "interval" and r["state"] == "R" and r["end"] > r["start"]]
    switches = of(events, "sched_switch")
    waits = [r for r in records if r["kind"] == "interval" and r["state"] != "R"]
    cut = {(r["time"], r["tid"]) for r in waits if "unfinished" in r}
    begins = {(r["start"], r["tid"]) for r in runs} | {(r["time"], r["tid"]) for r in waits} - cut
    yield from differ("starts of slices", begins, ((e["time"], e["next_tid"]) for e in switches if e["next_tid"]))
    yield from differ("ends of slices", ((r["end"], r["cpu"], r["tid"]) for r in runs if "unfinished" not in r),
                      ((e["time"], e["cpu"], e["prev_tid"]) for e in switches if e["prev_tid"]))
    states = {(e["time"], e["prev_tid"]): e["prev_state"] for e in switches}
    for r in records:
        if r["kind"] != "interval" or (r["start"], r["tid"]) not in states or r["state"] == "R":
            continue
        state = states[r["start"], r["tid"]]
        want = 0 if "preempted" in r else 2 if "uninterruptible" in r else 1
        if state != want and r["state"] not in "CQ" or state and "preempted" in r:
            yield f"thread {r['tid']} at {r['start']} leaves in state {state}, not {want}"
    if any(a["time"] == b["time"] and a["cpu"] == b["cpu"] and a["prev_tid"] and not a["next_tid"] and
           b["next_tid"] and not b["prev_tid"] for a, b in zip(switches, switches[1:])):
        yield "one switch is written as two"


def check_wakeups(records, events):
    blocked = [r for r in records if r.get("woken_by", "none") != "none"]
    wakings = collections.Counter((e["time"], e["tid"], e["current"]) for e in of(events, "sched_waking"))
    for r in blocked:
        if not wakings[r["end"], r["tid"], r.get("waker_tid", 0)]:
            yield f"the wakeup of thread {r['tid']} at {r['end']} is missing"
    around = {}  # by waking: the events before and after it in the stream of its CPU
    for cpu in {e["cpu"] for e in events}:
        stream = [{"event": ""}] + [e for e in events if e["cpu"] == cpu] + [{"event": ""}]
        for before, e, after in zip(stream, stream[1:], stream[2:]):
            if e["event"] == "sched_waking":
                around[e["time"], e["tid"]] = before, after
    for r in blocked:
        before, after = around.get((r["end"], r["tid"]), ({}, {}))
        name = CONTEXTS.get(r["woken_by"])
        if name and (before.get("event") != name + "_entry" or after.get("event") != name + "_exit"):
            yield f"the wakeup of thread {r['tid']} at {r['end']} is not in its {r['woken_by']}"
        elif name and "vector" in r and r["vector"] != before.get("vec", before.get("irq")):
            yield f"the wakeup of thread {r['tid']} at {r['end']} is in another {r['woken_by']}"


def check_tasks(records, events):
    names = {"existing": "lttng_statedump_process_state", "out_of_scope": "lttng_statedump_process_state",
             "again": "lttng_statedump_process_state", "new": "sched_process_fork", "exec": "sched_process_exec",
             "renamed": "task_rename"}
    comms = {"sched_process_fork": "child_comm", "sched_process_exec": "filename", "task_rename": "newcomm",
             "lttng_statedump_process_state": "name"}
    plain = re.compile(r"[\w/:.-]*$", re.ASCII)
    yield from differ("tasks", ((r["time"], r["tid"], names[r["event"]], r["comm"]) for r in records
                                if r["kind"] == "task" and plain.match(r["comm"])),
                      ((e["time"], e.get("child_tid", e.get("tid")), e["event"], e[comms[e["event"]]])
                       for e in of(events, *comms) if plain.match(e[comms[e["event"]]])))
    yield from differ("exits", ((r["time"], r["tid"]) for r in records if r["kind"] == "exit"),
                      ((e["time"], e["tid"]) for e in of(events, "sched_process_exit")))


def call_of(event):
    """The name and arguments of a call; its number if it has no name."""
    name, args = event["event"].split("_", 2)[2], [event.get(f"arg{i}") for i in range(3)]
    if name == "unknown":
        name = f"syscall_{event['id']}"
        args = [int(n, 0) for n in re.findall(r"= (\w+)", event.get("args", ""))]
    return name, *args


def check_syscalls(records, events):
    calls = [r for r in records if r["kind"] == "syscall"]
    entries = [e for e in events if e["event"].startswith("syscall_entry_")]
    exits = [e for e in events if e["event"].startswith("syscall_exit_")]
    yield from differ("entries of calls", ((r["start"], r["tid"], r["name"], *r["args"]) for r in calls),
                      ((e["time"], e["current"], *call_of(e)) for e in entries))
    yield from differ("exits of calls",
                      ((r["end"], r["tid"], r["name"], r["result"]) for r in calls if "unfinished" not in r),
                      ((e["time"], e["current"], call_of(e)[0], e["ret"]) for e in exits))


def check_others(records, events):
    kinds = collections.defaultdict(list)
    for r in records:
        kinds[r["kind"]].append(r)
    yield from differ("requests", ((r["start"], r["sector"], r["bytes"], r["tid"]) for r in kinds["block_io"]),
                      ((e["time"], e["sector"], e["bytes"], e["tid"]) for e in of(events, "block_rq_issue")))
    yield from differ("completions", ((r["end"], r["sector"], r["error"], r["cpu"]) for r in kinds["block_io"]),
                      ((e["time"], e["sector"], e["error"], e["cpu"]) for e in of(events, "block_rq_complete")))
    yield from differ("messages", ((r["time"], r["tid"], r["bytes"], r["position"]) for r in kinds["message"]),
                      ((e["time"], e["current"], e["bytes"], e["position"]) for e in of(events, "sonde_message")))
    yield from differ("begins of spans", ((r["start"], r["span_id"]) for r in kinds["span"]),
                      ((e["time"], e["span_id"]) for e in of(events, "otl_ust_go:start_span")))
    yield from differ("ends of spans", ((r["end"], r["span_id"], r["service"], r["operation"]) for r in kinds["span"]),
                      ((e["time"], e["span_id"], e["service_name"], e["op_name"])
                       for e in of(events, "otl_ust_go:end_span")))


def check_losses(records, complaint):
    """babeltrace2 reports lost events and nothing else."""
    lost = sum(r["count"] for r in records if r["kind"] == "loss")
    reported = sum(int(n) for n in re.findall(r"discarded (\d+) event", complaint))
    if lost != reported:
        yield f"{lost} were lost, but babeltrace2 reports {reported}"
    if not lost and complaint:
        yield f"babeltrace2 prints: {complaint}"


KEYS = ("state", "syscall", "object_type", "object_id", "woken_by", "vector", "waker_tid", "iowait", "uninterruptible",
        "preempted", "unfinished")


def intervals(records):
    """The intervals of each thread in scope, with their causes."""
    found = collections.defaultdict(list)
    for r in records:
        if r["kind"] == "interval" and "out_of_scope" not in r:
            found[r["tid"]].append((r["start"], r["end"], *(r.get(key) for key in KEYS)))
    return {tid: sorted(list_, key=lambda i: i[:2]) for tid, list_ in found.items()}


def is_tiled(threads):
    """Whether there are no gaps; hand-made records can have gaps, which a trace cannot express."""
    return all(a[1] == b[0] for list_ in threads.values() for a, b in zip(list_, list_[1:]))


def of_kind(records, kind, keys):
    """The records of a kind; a loss has an end of its own, before its record."""
    return [(r["end"] if kind == "loss" else r["time"], r.get("tid"), *(str(r.get(key)) for key in keys))
            for r in records if r["kind"] == kind]


def check_back(sonde, directory, records):
    """sonde reads the same records from the trace."""
    back = dump(sonde, directory)
    want, got = intervals(records), intervals(back)
    for tid in want if is_tiled(want) else ():
        yield from differ(f"intervals of thread {tid}", want[tid], got.get(tid, []))
    for kind, keys in (("message", ("direction", "bytes", "position", "object_id", "local", "peer")),
                       ("syscall", ("name", "start", "args", "result", "unfinished")),
                       ("block_io", ("start", "device", "sector", "bytes", "op", "error")),
                       ("span", ("start", "trace_id", "span_id", "parent_span_id", "service", "operation")),
                       ("loss", ("start", "end", "count", "cpu")), ("exit", ())):
        yield from differ(f"records of {kind}", of_kind(records, kind, keys), of_kind(back, kind, keys))


def check(sonde, path, is_capture):
    records = dump(sonde, path)
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place) / "trace"
        done = run(sonde, "export", "--to=ctf", "-o", directory, path)
        if done.returncode:
            yield done.stderr
            return
        lines, complaint = read_trace(directory)
        if is_capture:
            events = [parse(line) for line in lines]
            for part in (check_switches, check_wakeups, check_tasks, check_syscalls, check_others):
                yield from part(records, events)
        yield from check_losses(records, complaint)
        yield from check_back(sonde, directory, records)


def main():
    sonde, failed = sys.argv[1], 0
    files = [DEMO / "demo.sonde"] + sorted(path for path in GOOD.glob("*.sonde") if path.stem != "cut")
    files += [path for path in (SHARED / name for name in FOREIGN) if path.exists()]
    if not shutil.which("babeltrace2"):
        print("1..0 # SKIP babeltrace2 is not installed")
        return
    print(f"1..{len(files)}")
    for number, path in enumerate(files, 1):
        wrong = list(check(sonde, path, path.suffix == ".sonde"))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {path.stem}")
        print(*(f"# {sentence}" for sentence in wrong[:20]), sep="\n", end="\n" if wrong else "")
    sys.exit(failed > 0)


main()
