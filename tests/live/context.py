#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thread contexts by the OpenTelemetry standard are recorded for all TLS models and linkers.

Each publisher prints its context changes with their times, and sleeps after each.
So each change must be recorded once, at the switch-out, and nothing else between
two changes.  A thread that is preempted during a change can show any context until
its next switch-out.
"""
import collections
import os

from harness import Capture, SCRATCH, SONDE, Skip, WORKLOADS, equal, main, require, run, test

LIBRARIES = ["ie", "ie_own", "gd", "gd_own", "desc", "desc_own", "desc_large", "desc_large_own"]
EXECUTABLES = ["static", "static_pie", "pie", "fixed"]
MUSL_LIBRARIES = ["ie", "gd", "desc"]

Change = collections.namedtuple("Change", "begin end value")


def preload(library):
    """The environment that preloads a library."""
    return f"LD_PRELOAD={WORKLOADS}/libctx_{library}.so"


def changes_of(path):
    """The changes of each thread of a publisher, in order, by process and thread."""
    changes = {}
    for line in path.read_text().splitlines():
        pid, tid, begin, end, value = line.split()
        changes.setdefault((int(pid), int(tid)), []).append(Change(int(begin), int(end), value))
    return changes


def value_of(context):
    return "unknown" if context["source"] == "unknown" else context.get("span_id", "none")


def complaints(contexts, changes, inherited="none"):
    """Differences between the recorded contexts of a thread and its changes."""
    wrong = [f"{value_of(c)} at {c['time']}, before anything was published" for c in contexts
             if c["time"] < changes[0].begin and value_of(c) not in ("none", inherited)]
    last = "none"
    for change, after in zip(changes, changes[1:] + [Change(1 << 62, 0, None)]):
        seen = [c for c in contexts if change.end < c["time"] < after.begin]
        if after.value is None:  # then the thread exits, or executes another program
            during = [c for c in contexts if change.begin < c["time"] <= change.end]
            seen = [] if any(value_of(c) == change.value for c in during) else seen[:1]
        if change.value != last and not any(value_of(c) == change.value for c in contexts
                                            if change.begin < c["time"] < after.begin):
            wrong.append(f"{change} is missing")
        for c in seen:
            if value_of(c) != change.value:
                wrong.append(f"{value_of(c)} is recorded at {c['time']} after {change}")
            if not c["since"] <= change.end:
                wrong.append(f"{change} is before {c['since']}, the recorded start")
        last = change.value
    return wrong


def publish(*publishers, threads=3, rounds=7):
    """Record all publishers at once; returns the capture and the changes of each."""
    path, script = SCRATCH / "capture.sonde", ""
    for number, command in enumerate(publishers):
        script += f"{command} {threads} {rounds} 1000 >{SCRATCH}/{number}.txt & "
    run(SONDE, "record", "-q", "-o", path, "--", "sh", "-c", script + "wait")
    return Capture(path), [changes_of(SCRATCH / f"{number}.txt") for number in range(len(publishers))]


def check(capture, name, changes, threads):
    contexts = {}
    for c in capture.kind("context"):
        contexts.setdefault(c["tid"], []).append(c)
    equal(len(changes), threads + 2, f"{name}: threads that published")
    first = min(changes)
    for (pid, tid), of_thread in changes.items():
        inherited = changes[first][-1].value if pid != first[0] else "none"
        wrong = complaints(contexts.get(tid, []), of_thread, inherited)
        require(not wrong, f"{name}, thread {tid}:\n  " + "\n  ".join(wrong[:20]))
        if pid != first[0]:
            equal(value_of(contexts[tid][-1]), "none", f"{name}: the context of another program")


def check_all(publishers, threads=3, **how):
    capture, changes_by_publisher = publish(*(command for _, command in publishers), threads=threads, **how)
    for (name, _), changes in zip(publishers, changes_by_publisher):
        check(capture, name, changes, threads)
    print(f"{len(publishers)} publishers, {sum(len(c) for of in changes_by_publisher for c in of.values())} changes, "
          f"{len(capture.kind('context'))} contexts")


@test
def contexts_of_executables_are_recorded():
    check_all([(name, f"{WORKLOADS}/ctx_{name}") for name in EXECUTABLES])


@test
def contexts_of_preloaded_libraries_are_recorded():
    check_all([(name, f"{preload(name)} {WORKLOADS}/ctx_load") for name in LIBRARIES])


@test
def contexts_of_libraries_loaded_later_are_recorded():
    check_all([(name, f"{WORKLOADS}/ctx_load -l {WORKLOADS}/libctx_{name}.so") for name in LIBRARIES])


@test
def contexts_of_many_threads_are_recorded():
    check_all([("pie", f"{WORKLOADS}/ctx_pie"), ("desc_large", f"{WORKLOADS}/ctx_load -l "
                                                 f"{WORKLOADS}/libctx_desc_large.so")], threads=61, rounds=11)


@test
def contexts_with_musl_are_recorded():
    if not (WORKLOADS / "ctx_musl").exists():
        raise Skip("there was no musl-gcc")
    if not os.path.exists("/lib/ld-musl-x86_64.so.1"):
        raise Skip("there is no musl")
    later = [(f"{name}, later", f"{WORKLOADS}/ctx_musl -l {WORKLOADS}/libctx_musl_{name}.so")
             for name in MUSL_LIBRARIES if name != "ie"]  # musl cannot load it later
    check_all([("static", f"{WORKLOADS}/ctx_musl_static")] + later +
              [(name, f"{preload('musl_' + name)} {WORKLOADS}/ctx_musl") for name in MUSL_LIBRARIES])


if __name__ == "__main__":
    main()
