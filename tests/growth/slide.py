#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A record takes as many instructions after ten windows of a stream as after one hundred.

usage: slide.py SLIDE

SLIDE slides a window over a stream of the given length.  valgrind counts its instructions.
"""
import re
import shutil
import subprocess
import sys

SHORT, LONG = 100, 1000  # s; the window is 10 s
LIMIT = 1.1


def cost(slide, seconds):
    """Records and instructions."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", slide,
                           str(seconds)], check=True, capture_output=True, text=True)
    return int(done.stdout), int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    _, base = cost(sys.argv[1], 0)
    short, long = [(count - base) / records for records, count in (cost(sys.argv[1], s) for s in (SHORT, LONG))]
    print(f"# {short:.0f} instructions per record in {SHORT} s, {long:.0f} in {LONG} s")
    print("1..1")
    print("ok 1" if long < LIMIT * short else "not ok 1", "- a long stream costs no more per record than a short one")
    sys.exit(long >= LIMIT * short)


main()
