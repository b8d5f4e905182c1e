#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle_text.py PRINT_RAW DATA - hold our reader of text traces against others.

What trace-cmd prints of a recording must give the same raw events as the
recording itself, which another reader of ours takes apart, and that one is held
against libtracecmd.  Of other people's traces, each line must be what a regular
expression makes of it.  PRINT_RAW shows raw events; DATA is where the traces are.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PRINT_RAW, DATA = sys.argv[1], sys.argv[2]
RECORDING = os.path.join(DATA, "ftrace", "trace.dat")
SAMPLES = ["ftrace_syscalls.txt", "trace-android-sched-irq-syscall", "trace-critical-path"]
LINE = re.compile(r"\s*(.*)-(\d+)\s+(?:\([ \d-]+\)\s+)?\[(\d+)\] (\S+)\s+(\d+)\.(\d+): (.*)")


def raw(path, form):
    """The raw events of a trace: each as a dictionary, with `args` for those of a call."""
    out = subprocess.run([PRINT_RAW, path, form], check=True, capture_output=True, text=True)
    events = []
    for line in out.stdout.splitlines():
        time, *words = line.split(" ")
        event = dict(word.split("=", 1) for word in words if "=" in word)
        event["args"] = [word for word in words if "=" not in word]
        event["time"] = int(time)
        events.append(event)
    return events


def report(*options):
    """What trace-cmd prints of the recording, as raw events."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        subprocess.run(["trace-cmd", "report", *options, RECORDING], check=True, stdout=file)
        return raw(file.name, "ftrace")


def compare(ours, theirs, options):
    assert len(ours) == len(theirs), f"{len(ours)} events of text, {len(theirs)} of the recording"
    for number, (mine, its) in enumerate(zip(ours, theirs)):
        its = dict(its)
        if "-t" not in options:
            its["time"] = (its["time"] + 500) // 1000 * 1000
        if "-l" in options:  # names are cut short there
            its["comm"] = its["comm"][:8]
        else:  # nothing is said of interrupts
            its["context"] = "0"
        if its["kind"] in ("tcp_receive", "socket_state"):
            its.pop("object", None)  # which trace-cmd does not print
        assert mine == its, f"event {number}:\n{mine}\n{its}"


def check_report():
    if not os.path.exists(RECORDING) or not shutil.which("trace-cmd"):
        return "no recording, or no trace-cmd"
    theirs = raw(RECORDING, "trace-cmd")
    for options in [], ["-t"], ["-l"], ["-l", "-t"]:
        compare(report(*options), theirs, options)
    return None


def expected(line):
    """What a line says, as our reader should have it; None if it is no event."""
    if line.startswith("#"):
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


def check_samples():
    paths = [os.path.join(DATA, "ftrace", name) for name in SAMPLES]
    if not all(map(os.path.exists, paths)):
        return "no samples"
    for path in paths:
        lines = [want for want in map(expected, open(path).read().splitlines()) if want]
        events = raw(path, "ftrace")
        assert len(lines) == len(events), f"{path}: {len(events)} events of {len(lines)} lines"
        for want, got in zip(lines, events):
            assert want == {key: got[key] for key in want}, f"{path}:\n{want}\n{got}"
    return None


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
