#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the queries of sonde-query(1) on saved captures, and compare its list of tables with the program's.

usage: queries.py SONDE

Each query must run, return the columns that it names, and find something in at least one of the captures.  Its
result is then compared with the output of `sonde dump` and `sonde requests`.  Prints TAP.
"""
import bisect
import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
PAGE = TOP / "doc" / "man" / "sonde-query.1.scd"
DEMO = [TOP / "demo" / "demo.sonde", TOP / "demo" / "demo.json"]
LTTNG = [HERE.parent / "data" / "ctf" / "lttng-kernel.tar.zst"]  # with system calls and block I/O
TASKS = [HERE.parent / "data" / "good" / "tasks.sonde"]  # with contexts and attributes
CHECKS = {}


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=240)
    assert done.returncode == 0, f"{command[1:]}: {done.stderr}"
    return done.stdout


def ask(sonde, inputs, sql):
    return json.loads(run(sonde, "query", "--json", *inputs, sql))


def dump(sonde, inputs):
    return [json.loads(line) for path in inputs for line in run(sonde, "dump", "--json", path).splitlines()]


def queries():
    """The title and the SQL of each query."""
    examples = PAGE.read_text().split("\n# EXAMPLES\n")[1]
    for title, block in re.findall(r"\n(\S[^\n]*)\n\n```\n(.*?)```", examples, re.DOTALL):
        if block.startswith("SELECT"):
            yield title, block


def checks(words):
    """Decorate a function that checks the query with this start of a title; it yields complaints."""
    def mark(function):
        CHECKS[words] = function
        return function
    return mark


def by(records, key, value):
    sums = collections.Counter()
    for r in records:
        sums[key(r)] += value(r)
    return sums


def length(record):
    return record["end"] - record["start"]


def same_ms(what, rows, key, sums):
    """The ms of each row equals its sum, and the largest rows come first."""
    for row in rows:
        want = sums[key(row)] / 1e6
        if abs(row["ms"] - want) > 1e-6:
            yield f"{what} {key(row)}: {row['ms']} ms, not {want}"
    times = [row["ms"] for row in rows]
    if times != sorted(times, reverse=True) or times and abs(max(sums.values()) / 1e6 - times[0]) > 1e-6:
        yield f"{what}: the largest is not first"


def intervals(records, *states):
    return [r for r in records if r["kind"] == "interval" and r["state"] in states]


@checks("Processes, with")
def check_processes(rows, records, _):
    for name, states in ("runs_ms", "R"), ("off_cpu_ms", "DNTLIU?"):
        sums = by([r for r in intervals(records, *states) if "out_of_scope" not in r], lambda r: r["pid"], length)
        for row in rows:
            more = row[name] - sums[row["pid"]] / 1e6  # negative if the thread was known only later
            if more > 1e-6 or name == "runs_ms" and more < -1e-6:
                yield f"process {row['pid']}: {name} is {row[name]}, not {sums[row['pid']] / 1e6}"
    times = [row["runs_ms"] for row in rows]
    if times != sorted(times, reverse=True):
        yield "processes: the one with the most CPU time is not first"


@checks("Threads with the highest run-queue latency")
def check_waits(rows, records, _):
    waits = intervals(records, "C")
    yield from same_ms("thread", rows, lambda r: r["tid"], by(waits, lambda r: r["tid"], length))
    for row in rows:
        own = [length(r) for r in waits if r["tid"] == row["tid"]]
        if (row["times"], row["worst"]) != (len(own), max(own) / 1e6):
            yield f"thread {row['tid']}: {row}, not {len(own)} times and {max(own)} ns"


@checks("Threads that ran while others waited")
def check_meanwhile(rows, records, _):
    slices, sums = collections.defaultdict(list), collections.Counter()
    for slice_ in sorted(intervals(records, "R"), key=lambda r: r["start"]):
        slices[slice_["cpu"]].append((slice_["start"], slice_["end"], slice_["tid"]))
    for wait in intervals(records, "C"):
        own = slices[wait["cpu"]]
        first = max(bisect.bisect_left(own, (wait["start"],)) - 1, 0)
        for start, end, tid in own[first:bisect.bisect_left(own, (wait["end"],))]:
            if tid != wait["tid"]:
                sums[tid] += max(0, min(end, wait["end"]) - max(start, wait["start"]))
    yield from same_ms("thread", rows, lambda r: r["tid"], sums)


@checks("A histogram of run-queue latency")
def check_histogram(rows, records, _):
    want = collections.Counter((1 << length(r).bit_length() >> 1) // 1000 for r in intervals(records, "C"))
    if {r["from_us"]: r["times"] for r in rows} != want:
        yield f"the histogram is {rows}, not {want}"


@checks("The most frequent wakers")
def check_wakers(rows, records, _):
    known = {r["tid"]: r["time"] for r in reversed(records) if r["kind"] == "task"}
    woken = [r for r in records if r["kind"] == "interval" and r.get("woken_by") == "task"
             and r["end"] > known.get(r["tid"], 0)]  # the model has no earlier time of a thread
    want = sorted(collections.Counter((r["waker_tid"], r["tid"]) for r in woken).values(), reverse=True)
    if [r["times"] for r in rows] != want[:10]:
        yield f"{[r['times'] for r in rows]} wakeups, not {want[:10]}"


@checks("Locks by waiting time")
def check_locks(rows, records, _):
    waits = [r for r in intervals(records, "L") if r.get("object_type") == "futex" and "condvar" not in r]
    sums = by(waits, lambda r: (r["pid"], r["object_id"], r.get("waker_tid")), length)
    if [r["ms"] for r in rows] != [n / 1e6 for _, n in sums.most_common(10)]:
        yield f"locks: {rows}"


@checks("Peers by waiting time")
def check_peers(rows, records, _):
    waits = [r for r in intervals(records, "N") if r.get("peer", "")]
    yield from same_ms("peer", rows, lambda r: r["peer"], by(waits, lambda r: r["peer"], length))


@checks("Stacks by off-CPU time")
def check_stacks(rows, records, _):
    sums = by([r for r in records if r["kind"] == "interval" and r.get("stack")], lambda r: r["stack"], length)
    if [r["ms"] for r in rows] != [n / 1e6 for _, n in sums.most_common(10)]:
        yield f"stacks: {[r['ms'] for r in rows]}, not {sums.most_common(10)}"
    if any(not r["frames"] for r in rows):
        yield "a stack has no frames"


@checks("Requests by shape")
def check_shapes(rows, _, requests):
    want = {(e["entry"], s["shape"]): (s["count"], s["p50"] / 1e6, s["p99"] / 1e6)
            for e in requests["entries"] for s in e["shapes"]}
    got = {(r["entry"] or "unknown", r["shape"]): (r["requests"], r["p50"], r["p99"]) for r in rows}
    if any(got.get(key) != value for key, value in want.items()):
        yield f"shapes: {got}, not {want}"


@checks("The time of requests by service")
def check_request_states(rows, _, requests):
    sums = by((s for r in requests["requests"] for s in r["spans"]), lambda s: s["service"],
              lambda s: sum(s["states"].values()))
    got = by(rows, lambda r: r["service"], lambda r: r["ms"] * 1e6)
    for service, ns in sums.items():
        if got[service] < ns * 0.999:  # it also counts spans with an unknown parent
            yield f"{service}: {got[service]} ns in states, not {ns}"


@checks("Spans of requests with an unknown parent")
def check_parent_unknown(rows, _, requests):
    if sum(r["spans"] for r in rows) != requests["parent_unknown"]:
        yield f"{rows}, but {requests['parent_unknown']} have an unknown parent"


@checks("Messages by connection")
def check_messages(rows, records, _):
    sent = [r for r in records if r["kind"] == "message" and r["direction"] == "send" and r.get("local")]
    sums = by(sent, lambda r: tuple(sorted((r["local"], r["peer"]))), lambda r: r["bytes"])
    for row in rows:
        if row["one_side"] and sums[row["one_side"], row["other_side"]] != row["bytes"]:
            yield f"{row}, not {sums[row['one_side'], row['other_side']]} bytes"


@checks("Spans by service")
def check_spans(rows, records, _):
    want = collections.Counter((r["service"], r["operation"]) for r in records if r["kind"] == "span")
    if {(r["service"], r["operation"]): r["spans"] for r in rows} != want:
        yield f"spans: {rows}, not {want}"


@checks("The states of threads during spans")
def check_span_states(rows, records, _):
    spans = by([r for r in records if r["kind"] == "span"], lambda r: r["operation"], length)
    got = by(rows, lambda r: r["operation"], lambda r: r["ms"] * 1e6)
    for operation, ns in got.items():
        if not 0 < ns <= spans[operation] + 1:
            yield f"{operation}: {ns} ns in states, of {spans[operation]}"


def contexts(records):
    """The known contexts of threads: (tid, start, end, span ID), from the records."""
    timelines, ends = collections.defaultdict(list), {}
    for r in records:
        if r["kind"] == "context":
            if "since" in r:
                timelines[r["tid"]].append((r["since"], None))
            timelines[r["tid"]].append((r["time"], r.get("span_id")))
        elif r["kind"] == "interval":
            ends[r["tid"]] = r["end"]
    for tid, timeline in timelines.items():
        for i, (start, span) in enumerate(timeline):
            start = max([start] + [since for since, _ in timeline[:i]])  # an observation starts no earlier than a published change
            if span:
                yield tid, start, timeline[i + 1][0] if i + 1 < len(timeline) else ends[tid], span


def ran(records, tid, start, end):
    return sum(max(0, min(end, r["end"]) - max(start, r["start"]))
               for r in intervals(records, "R") if r["tid"] == tid)


@checks("CPU time of spans")
def check_span_cpu(rows, records, _):
    cpu, names = collections.Counter(), {r["span_id"]: r["operation"] for r in records if r["kind"] == "span"}
    for tid, start, end, span in contexts(records):
        if span in names:
            cpu[names[span]] += ran(records, tid, start, end)
    if {r["operation"]: r["cpu_ms"] for r in rows} != {name: ns / 1e6 for name, ns in cpu.items()}:
        yield f"{rows}, not {cpu}"


@checks("Spans that waited longest for their event loop")
def check_loops(rows, records, _):
    spans = {r["span_id"]: r for r in records if r["kind"] == "span"}
    traces = {r["span_id"]: r["trace_id"] for r in records if r["kind"] == "context" and r.get("span_id")}
    others = collections.Counter()
    for tid, start, end, of in contexts(records):
        for s in spans.values():
            if s["tid"] == tid and s["trace_id"] != traces[of]:
                others[s["span_id"]] += max(0, min(end, s["end"]) - max(start, s["start"]))
    if {r["span_id"]: r["others_ms"] for r in rows} != {span: ns / 1e6 for span, ns in others.items() if ns}:
        yield f"{rows}, not {others}"


@checks("The share of CPU time of each process")
def check_unattributed(rows, records, _):
    pids = {r["tid"]: r["pid"] for r in records if r["kind"] == "interval"}
    known = by(contexts(records), lambda c: pids[c[0]], lambda c: ran(records, *c[:3]))
    total = by(intervals(records, "R"), lambda r: r["pid"], length)
    for row in rows:
        want = 100 - 100 * known[row["pid"]] / total[row["pid"]]
        if abs(row["percent"] - want) > 1e-6:
            yield f"{row}, not {want} %"


@checks("Spans by an attribute")
def check_attributes(rows, records, _):
    routes = collections.Counter(r["value"] for r in records
                                 if r["kind"] == "attribute" and r["key"] == "http.route")
    if {r["route"]: r["spans"] for r in rows} != routes:
        yield f"{rows}, not {routes}"


@checks("System calls by time")
def check_syscalls(rows, records, _):
    calls = [r for r in records if r["kind"] == "syscall"]
    yield from same_ms("call", rows, lambda r: r["name"], by(calls, lambda r: r["name"], length))
    failed = collections.Counter(r["name"] for r in calls if -4095 <= r.get("result", 0) < 0)
    for row in rows:
        if row["errors"] != failed[row["name"]]:
            yield f"{row['name']}: {row['errors']} errors, not {failed[row['name']]}"


@checks("The slowest block I/O")
def check_block_io(rows, records, _):
    want = sorted((length(r) for r in records if r["kind"] == "block_io"), reverse=True)
    if [round(r["ms"] * 1e6) for r in rows] != want[:10]:
        yield f"block I/O: {[r['ms'] for r in rows]}, not {want[:10]}"


@checks("Tracepoint events by thread")
def check_probe_events(rows, records, _):
    want = collections.Counter((r["event"], r["tid"]) for r in records if r["kind"] == "probe_event")
    if [r["events"] for r in rows] != [n for _, n in want.most_common(10)]:
        yield f"events: {rows}, not {want.most_common(10)}"


def named(sql):
    """The names of a query's result columns."""
    result = re.split(r"\nFROM |\n  FROM ", sql)[0][len("SELECT "):]
    result = re.sub(r"\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)", "()", result)
    return [re.split(r"[\s.]", item.strip())[-1] for item in result.split(",")]


def check_query(sonde, title, sql, facts):
    check = next(function for words, function in CHECKS.items() if title.startswith(words))
    rows = 0
    for inputs, records, requests in facts:
        result = ask(sonde, inputs, sql)
        rows += len(result)
        if result and list(result[0]) != named(sql):
            yield f"has the columns {list(result[0])}, not {named(sql)}"
        yield from check(result, records, requests)
    if not rows and "unknown parent" not in title:
        yield "finds nothing in any capture"


def check_page(sonde):
    """The manual page describes all tables and columns."""
    text = PAGE.read_text().split("\n# TABLES\n")[1].split("\n# ")[0]
    described = {}
    for names, what in re.findall(r"\n((?:\*\w+\*(?:, )?)+)\n\t(.*?)(?=\n\n)", text, re.DOTALL):
        for name in re.findall(r"\w+", names):
            described[name] = set(re.findall(r"_(\w+?)_(?!\w)", what))
    have = collections.defaultdict(set)
    for row in ask(sonde, DEMO, "SELECT table_name, name FROM columns"):
        have[row["table_name"]].add(row["name"])
    for table in have.keys() | described.keys():
        missing = have[table] - described.get(table, set())
        if table not in described or missing:
            yield f"does not describe {table}: {' '.join(sorted(missing))}"
    yield from (f"describes {table}, which does not exist" for table in described.keys() - have.keys())


def main():
    sonde, failed = sys.argv[1], 0
    if subprocess.run([sonde, "query", "--complete"], capture_output=True).returncode:
        print("1..0 # SKIP this sonde was built without query")
        return
    facts = [(inputs, dump(sonde, inputs), json.loads(run(sonde, "requests", "--json", *inputs)))
             for inputs in (DEMO, LTTNG, TASKS)]
    cases = [(title, check_query(sonde, title, sql, facts)) for title, sql in queries()]
    cases.append(("the manual page has all tables", check_page(sonde)))
    print(f"1..{len(cases)}")
    for number, (name, complaints) in enumerate(cases, 1):
        wrong = list(complaints)
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name.rstrip(':').replace('#', '')}")
        print(*(f"# {sentence[:2000]}" for sentence in wrong), sep="\n", end="\n" if wrong else "")
    sys.exit(failed > 0)


main()
