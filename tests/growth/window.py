#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A window takes the same instructions for each request, however long the stream is.

usage: window.py REPLAY_CHECK MAKE_SHAPE

Requests are replayed through a window that advances once a second, as in live use.  In the first
seconds it fills.  From then on, what twice as many requests take more is what they take each.
valgrind counts instructions.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COUNT = 4_000  # of requests, in 4 s
MOST = 1.15    # by which the instructions for each request may grow


def instructions(replay_check, make_shape, count):
    with tempfile.TemporaryDirectory() as directory:
        capture = pathlib.Path(directory) / "capture"
        subprocess.run([make_shape, "stream", str(count), capture], check=True)
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                               replay_check, "-o", "-w", "2", capture], capture_output=True, text=True, check=True)
    ended = int(re.search(r"(\d+) ended", done.stdout).group(1))
    if ended != count:
        print(f"# {ended:,} of {count:,} requests")
        sys.exit("not ok 1 - a request is missing")
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr).group(1).replace(",", ""))


def main():
    if not shutil.which("valgrind"):
        print("1..0 # skip valgrind is not installed")
        return
    print("1..1")
    one, two, four = (instructions(*sys.argv[1:], factor * COUNT) for factor in (1, 2, 4))
    early, late = (two - one) / COUNT, (four - two) / COUNT / 2
    print(f"{'ok' if late <= early * MOST else 'not ok'} 1 - {early:,.0f} instructions for each request after "
          f"{COUNT:,}, {late:,.0f} after {2 * COUNT:,}")


main()
