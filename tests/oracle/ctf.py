#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctf.py CTF_TEXT SONDE - all events and fields of CTF traces, byte by byte as babeltrace2 prints them.

One difference is babeltrace2's fault and allowed: its version 2.0 shows, for an
empty string, what the field held in an event before.  So where we have "", it may
have anything.
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
    """Each is an iterable of lines."""
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


def kept(name):
    """A text that babeltrace2 made, without its times, which depend on the zone and the day."""
    with lzma.open(SHARED / "decoded" / name) as file:
        for line in file:
            yield line.rstrip(b"\n").split(b") ", 1)[1]


def without_time(lines):
    return (line.split(b"] ", 1)[1] for line in lines)


def is_kept_event(line):
    """The kept text of many-threads has only these."""
    return re.match(rb"\S+ (sched_|irq_|lttng_statedump_process_state)", line)


def compare_kept():
    compare("bug446190: kept text", without_time(output([OURS, SHARED / "bug446190"])),
            kept("bug446190.txt.xz"))
    compare("many-threads: kept text",
            filter(is_kept_event, without_time(output([OURS, SHARED / "many-threads"]))),
            kept("many-threads.sched_irq.txt.xz"))


def rewrite(source, target):
    """The trace as babeltrace2 itself writes CTF."""
    subprocess.run(["babeltrace2", source, "-c", "sink.ctf.fs", "-p", f'path="{target}"'],
                   check=True, capture_output=True)


def check_fallback(place):
    """Metadata with something that is not for our decoder: the product asks libbabeltrace2."""
    source = TESTS / "ust-spans"
    text = subprocess.run(["babeltrace2", "-o", "ctf-metadata", *source.glob("ust/uid/*/*")],
                          check=True, capture_output=True).stdout
    trace = place / "with-pointers"
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
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        subprocess.run(["tar", "--zstd", "-xf", TESTS / "lttng-kernel.tar.zst", "-C", place], check=True)
        compare_trace("lttng-kernel", place / "lttng-kernel")
        compare_trace("ust-spans", TESTS / "ust-spans")
        for source in (place / "lttng-kernel" / "kernel", TESTS / "ust-spans"):
            target = place / f"written-{source.name}"
            rewrite(source, target)
            compare_trace(target.name, target)
        check_fallback(place)
    if SHARED.exists():
        for name in ("bug446190", "flipping-endianness", "many-threads"):
            compare_trace(name, SHARED / name)
        compare_kept()
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
