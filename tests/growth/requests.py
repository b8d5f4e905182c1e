#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twice the size of an input takes at most 2.3 times the instructions.

usage: requests.py PROGRAM

PROGRAM lists its cases, such as what a relay does with requests, and does one of them with an input of a
given size.  valgrind counts its instructions.
"""
import re
import shutil
import subprocess
import sys

LIMIT = 2.3
SIZE = 5000
SIZES = {"quantile-keys": 50_000, "mine-sequences": 400, "mine-sequences-all": 400, "traits": 1500}


def count(program, case, size):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                           program, case, str(size)], check=True, capture_output=True, text=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    program, failed = sys.argv[1], False
    cases = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    for number, case in enumerate(cases, 1):
        size = SIZES.get(case, SIZE)
        base, once, twice = [count(program, case, n) for n in (0, size, 2 * size)]
        ratio = (twice - base) / (once - base)
        failed |= ratio > LIMIT
        print(f"# {(twice - base) / size / 2:.0f} instructions per item, ratio {ratio:.2f}")
        print("not ok" if ratio > LIMIT else "ok", number, "-", case)
    print(f"1..{len(cases)}")
    sys.exit(failed)


main()
