#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces recorded by trace-cmd with various options: sonde and libtracecmd read the same."""
import json
import os
import re

import tracefs
from harness import SCRATCH, SONDE, Skip, each, equal, main, need_program, require, run, test, workload

ORACLE = os.environ.get("ORACLE_TRACEDAT", "")
KERNEL = ["-e", "sched", "-e", "raw_syscalls", "-e", "irq", "-e", "block", "-e", "sock"]


def trace(*options, command=None):
    """Record a workload; returns the file and the oracle's result."""
    need_program("trace-cmd")
    if not ORACLE:
        raise Skip("there is no libtracecmd: the package libtracecmd-dev")
    path = SCRATCH / "trace.dat"
    with tracefs.as_it_was():
        # without -d and -k, trace-cmd needs features that some kernels do not have
        record = ["trace-cmd", "record", "-q", "-d", "-k", "-o", path, *options,
                  *(command or workload("churn", "processes", 31))]
        for _ in range(tracefs.TRIES):
            done = run(*record, expect=None)
            if not tracefs.is_disturbed(done.stderr):
                break
    equal(done.returncode, 0, f"exit code of trace-cmd, which said '{done.stderr.strip()}'")
    words = run(ORACLE, path).stdout
    count = dict((name, int(n)) for n, name in re.findall(r"(\d+) (\w+)", words.splitlines()[-1]))
    equal(count["differences"], 0, "differences from libtracecmd")
    require(count["events"] > 1000, f"only {count['events']} events")
    info = json.loads(run(SONDE, "info", "--json", path).stdout)
    equal(info["events"], count["events"], "events that info counts")
    return path, count, info


@each(("zstd", "--compression", "zstd"), ("plain", "--compression", "none"),
      ("version_6", "--file-version", "6"), ("dated", "--date"), ("shifted", "--ts-offset", "1000000"))
def everything_is_read_of_a_trace_that_is(kind, *options):
    trace("-C", "mono", *options, *KERNEL)


@each("local", "global", "boot", "mono_raw", "tai", "perf", "x86-tsc")
def any_clock_works_such_as(clock):
    if not tracefs.is_mounted() or clock not in (tracefs.ROOT / "trace_clock").read_text():
        raise Skip(f"this kernel has no clock {clock}")
    trace("-C", clock, *KERNEL)


@each("7", "6")
def buffer_instances_are_read_together_in_version(version):
    one, two = tracefs.INSTANCES
    trace("--file-version", version, "-B", one, "-e", "sched", "-B", two, "-e", "raw_syscalls")


@test
def system_calls_with_separate_events_are_read():
    _, _, info = trace("-C", "mono", "-e", "sched", "-e", "syscalls")
    require(info["records"]["syscall"] > 100, "there are system calls")


@test
def lost_events_are_counted_as_libtracecmd_counts_them():
    # a buffer of a few pages, and a process that does nothing but calls
    _, count, info = trace("-C", "mono", "-b", "8", "-e", "raw_syscalls",
                           command=["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100003"])
    require(count["losses"] > 0, "nothing was lost")
    require(info["lost"] > 0, "info reports no loss")


main()
