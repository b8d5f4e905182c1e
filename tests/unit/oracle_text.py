#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle_text.py PRINT_RAW DATA SHARED - compare our reader of text traces with other readers.

The output of trace-cmd for a recording must contain the same raw events as the recording
itself, which our reader of trace.dat decodes; that reader is compared with libtracecmd.
For text traces, each line must match the result of a regular expression.  PRINT_RAW prints
raw events; DATA contains traces of this repository, SHARED those of others, if it exists.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PRINT_RAW, DATA, SHARED = sys.argv[1:]
RECORDINGS = [os.path.join(DATA, "good", "trace-cmd-v7.dat"), os.path.join(SHARED, "ftrace", "trace.dat")]
OURS = os.path.join(DATA, "good", "kernel.ftrace")
THEIRS = ["ftrace_syscalls.txt", "trace-android-sched-irq-syscall", "trace-critical-path"]
LINE = re.compile(r"\s*(.*)-(\d+)\s+(?:\([ \d-]+\)\s+)?\[(\d+)\] (\S+)\s+(\d+)\.(\d+): (.*)")


def raw(path, form):
    """The raw events of a trace, each as a dictionary; `args` are the arguments of a system call."""
    out = subprocess.run([PRINT_RAW, path, form], check=True, capture_output=True, text=True)
    events = []
    for line in out.stdout.splitlines():
        time, *words = line.split(" ")
        event = dict(word.split("=", 1) for word in words if "=" in word)
        event["args"] = [word for word in words if "=" not in word]
        event["time"] = int(time)
        events.append(event)
    return events


def report(recording, *options):
    """The raw events in the output of trace-cmd for a recording."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        subprocess.run(["trace-cmd", "report", *options, recording], check=True, stdout=file)
        return raw(file.name, "ftrace")


def compare(ours, theirs, options):
    assert len(ours) == len(theirs), f"{len(ours)} events of text, {len(theirs)} of the recording"
    for number, (mine, its) in enumerate(zip(ours, theirs)):
        its = dict(its)
        if "-t" not in options:
            its["time"] = (its["time"] + 500) // 1000 * 1000
        if "-l" in options:  # it truncates names
            its["comm"] = its["comm"][:8]
        else:  # without interrupt context
            its["context"] = "0"
        if its["kind"] in ("tcp_receive", "socket_state"):
            its.pop("object_type", None)  # trace-cmd does not print it
        assert mine == its, f"event {number}:\n{mine}\n{its}"


def check_report():
    if not shutil.which("trace-cmd"):
        return "no trace-cmd"
    for recording in filter(os.path.exists, RECORDINGS):
        theirs = raw(recording, "trace-cmd")
        assert theirs, f"{recording}: no event"
        # the options are independent: all combinations only for the small recording
        for options in ([], ["-l", "-t"], ["-t"], ["-l"])[:4 if recording.startswith(DATA) else 2]:
            compare(report(recording, *options), theirs, options)
    return None


def expected(line):
    """The expected event of a line; None if the line is not an event."""
    if line.startswith(("#", "CPU:")):
        return None
    name, tid, cpu, flags, whole, rest, event = LINE.fullmatch(line).groups()
    call = re.match(r"sys_(\w+)(\(| -> )", event)
    name = "" if name in ("<...>", "<idle>") else name
    context = {".": "1", "s": "2", "h": "3", "H": "3"}[flags[2]]
    if call:
        word = ("sys_enter_" if call[2] == "(" else "sys_exit_") + call[1]
    else:
        word = event.split(":")[0]
    return {"time": int(whole) * 10**9 + int(rest.ljust(9, "0")), "tid": tid, "cpu": str(int(cpu)),
            "comm": name.replace(" ", "%20"), "context": context, "event": word}


def check_lines(path):
    with open(path) as file:
        lines = [want for want in map(expected, file.read().splitlines()) if want]
    events = [event for event in raw(path, "ftrace") if event["kind"] != "lost"]
    assert lines and len(lines) == len(events), f"{path}: {len(events)} events of {len(lines)} lines"
    for want, got in zip(lines, events):
        assert want == {key: got[key] for key in want}, f"{path}:\n{want}\n{got}"


def check_samples():
    """Our sample, the same without the column of process ids, and samples of others."""
    check_lines(OURS)
    with open(OURS) as file, tempfile.NamedTemporaryFile("w", suffix=".txt") as copy:
        copy.write(re.sub(r" +\([ \d-]+\) \[", " [", file.read()))
        copy.flush()
        check_lines(copy.name)
    for path in filter(os.path.exists, (os.path.join(SHARED, "ftrace", name) for name in THEIRS)):
        check_lines(path)


def main():
    checks = [check_report, check_samples]
    failed = False
    print(f"1..{len(checks)}")
    for number, check in enumerate(checks, 1):
        try:
            skipped = check()
            print(f"ok {number} - {check.__name__}" + (f" # SKIP {skipped}" if skipped else ""))
        except AssertionError as why:
            failed = True
            print("# " + str(why).replace("\n", "\n# "))
            print(f"not ok {number} - {check.__name__}")
    sys.exit(failed)


main()
