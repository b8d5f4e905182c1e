#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctf.py CTF_TEXT SONDE - compare all events and fields of CTF traces with the output of babeltrace2.

One difference is allowed, a bug of babeltrace2 2.0: for an empty string, it prints the value
of the field in an earlier event.
"""
import itertools
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OURS, SONDE = sys.argv[1:]
TESTS = pathlib.Path(os.environ["SONDE_TEST_DATA"]) / "ctf"
SHARED = pathlib.Path(os.environ["SONDE_SHARED_DATA"]) / "ctf"
BABELTRACE = ["babeltrace2", "--clock-cycles", "--no-delta"]
EMPTY = re.compile(rb'= ""')

failures = 0
count = 0


def report(good, name, why=""):
    global failures, count
    count += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if why:
        print(f"# {why}")


def matches(ours, theirs):
    if ours == theirs:
        return True
    if b'= ""' not in ours:
        return False
    pattern = b'= "(?:[^"\\\\]|\\\\.)*"'.join(re.escape(part) for part in EMPTY.split(ours))
    return re.fullmatch(pattern, theirs, re.DOTALL) is not None


def compare(name, ours, theirs):
    """Compares two iterables of lines."""
    lines = 0
    for lines, (a, b) in enumerate(itertools.zip_longest(ours, theirs, fillvalue=b""), 1):
        if not matches(a, b):
            report(False, name, f"line {lines}: ours {a!r}, babeltrace2's {b!r}")
            return
    report(lines > 0, name, f"{lines} events")


def output(command):
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode:
        report(False, " ".join(map(str, command)), result.stderr.decode(errors="replace").replace("\n", " "))
    return result.stdout.splitlines()


def compare_trace(name, path):
    theirs = output([*BABELTRACE, path])
    compare(f"{name}: our decoder", output([OURS, path]), theirs)
    compare(f"{name}: through libbabeltrace2", output([OURS, "-b", path]), theirs)


def saved_text(name):
    """Saved output of babeltrace2, without times, which depend on the time zone."""
    with lzma.open(SHARED / "decoded" / name) as file:
        for line in file:
            yield line.rstrip(b"\n").split(b") ", 1)[1]


def without_time(lines):
    return (line.split(b"] ", 1)[1] for line in lines)


def is_saved_event(line):
    """The saved output of many-threads contains only these."""
    return re.match(rb"\S+ (sched_|irq_|lttng_statedump_process_state)", line)


def compare_saved():
    compare("bug446190: saved output", without_time(output([OURS, SHARED / "bug446190"])),
            saved_text("bug446190.txt.xz"))
    compare("many-threads: saved output",
            filter(is_saved_event, without_time(output([OURS, SHARED / "many-threads"]))),
            saved_text("many-threads.sched_irq.txt.xz"))


def rewrite(source, target):
    """Converts a trace to the CTF that babeltrace2 writes."""
    subprocess.run(["babeltrace2", source, "-c", "sink.ctf.fs", "-p", f'path="{target}"'],
                   check=True, capture_output=True)


def check_fallback(directory):
    """Metadata that our decoder does not support: sonde uses libbabeltrace2."""
    source = TESTS / "ust-spans"
    text = subprocess.run(["babeltrace2", "-o", "ctf-metadata", *source.glob("ust/uid/*/*")],
                          check=True, capture_output=True).stdout
    trace = directory / "with-pointers"
    shutil.copytree(next(source.glob("ust/uid/*/*")), trace)
    (trace / "metadata").write_bytes(
        b"/* CTF 1.8 */\n" + text + b"typealias integer { size = 64; } := void *;\n")
    result = subprocess.run([SONDE, "info", "--json", trace], capture_output=True, check=False, text=True)
    report(result.returncode == 0 and json.loads(result.stdout)["events"] == 118,
           "pointers: all events come through libbabeltrace2", result.stderr.strip())
    report("through libbabeltrace2, which is slower:" in result.stdout + result.stderr,
           "pointers: a warning names the reason")


def main():
    if not shutil.which("babeltrace2"):
        print("1..0 # SKIP babeltrace2 is not installed")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        subprocess.run(["tar", "--zstd", "-xf", TESTS / "lttng-kernel.tar.zst", "-C", directory], check=True)
        compare_trace("lttng-kernel", directory / "lttng-kernel")
        compare_trace("ust-spans", TESTS / "ust-spans")
        for source in (directory / "lttng-kernel" / "kernel", TESTS / "ust-spans"):
            target = directory / f"written-{source.name}"
            rewrite(source, target)
            compare_trace(target.name, target)
        check_fallback(directory)
    if SHARED.exists():
        for name in ("bug446190", "flipping-endianness", "many-threads"):
            compare_trace(name, SHARED / name)
        compare_saved()
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
