#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twice the connections, streams or bytes take the relay's servers at most 2.3 times the instructions.

usage: receive.py RECEIVE

RECEIVE runs servers and clients in one process, under a load that is large in one dimension.
valgrind counts its instructions; those of a load of the size 1 are subtracted.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

LIMIT = 2.3
SIZE = 200


def count(receive, shape, size):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", receive,
                           shape, str(size)], check=True, capture_output=True, text=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    receive = sys.argv[1]
    shapes = subprocess.run([receive], check=True, capture_output=True, text=True).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda shape: [count(receive, shape, size) for size in (1, SIZE, 2 * SIZE)], shapes))
    failed = 0
    print(f"1..{len(shapes)}")
    for number, (shape, (base, once, twice)) in enumerate(zip(shapes, counts), 1):
        ratio = (twice - base) / (once - base)
        failed += ratio > LIMIT
        print(f"{'not ok' if ratio > LIMIT else 'ok'} {number} - {shape}")
        print(f"# {(twice - once) / SIZE:.0f} instructions for one more; ratio {ratio:.2f}")
    sys.exit(failed > 0)


main()
