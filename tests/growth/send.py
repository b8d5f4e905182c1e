#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twice as many requests in the queue of a sender take at most 2.3 times the instructions: send.py SEND

valgrind counts the instructions of SEND, which queues requests and divides rejected exports.
"""
import re
import shutil
import subprocess
import sys

COUNT = 20_000
LIMIT = 2.3


def cost(send, count):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", send,
                           str(count)], check=True, capture_output=True, text=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    base, once, twice = (cost(sys.argv[1], count) for count in (0, COUNT, 2 * COUNT))
    ratio = (twice - base) / (once - base)
    print(f"# {(once - base) / COUNT:.0f} instructions per request, {ratio:.2f} times as many for twice the requests")
    print("1..1")
    print("ok 1" if ratio <= LIMIT else "not ok 1", "- the cost of a request does not grow with the queue")
    sys.exit(ratio > LIMIT)


main()
