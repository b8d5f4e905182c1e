#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the patterns of random sequences with those of seq2pat: mine.py MINE_TEXT SCRATCH

seq2pat finds all frequent patterns with a gap constraint; those that are closed at their ends are
selected here.  It comes from PyPI and is kept in SCRATCH/seq2pat; without network, the test is
skipped.  Prints TAP.
"""
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "sdk"))
import pypi  # noqa: E402

PACKAGES = ["seq2pat==2.0.0"]
GAPS = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 2), (1, 1)]
ROUNDS = 40  # for each gap


def closed(frequent):
    """Patterns to which no letter can be added at an end with the same support."""
    covered = {(part, count) for pattern, count in frequent.items() for part in (pattern[1:], pattern[:-1])}
    return {pattern: count for pattern, count in frequent.items() if (pattern, count) not in covered}


def ours(program, sequences, support, gap):
    done = subprocess.run([program, str(support), *map(str, gap), "ends"], input="".join(s + "\n" for s in sequences),
                          capture_output=True, text=True, check=True)
    seconds, *lines = done.stdout.splitlines()
    patterns = dict(line.split() for line in lines)
    return float(seconds), {pattern: int(count) for pattern, count in patterns.items() if len(pattern) > 1}


def main():
    program, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    try:
        python = pypi.install(scratch / "seq2pat", PACKAGES)
    except pypi.Skip as e:
        print(f"1..0 # skip {e}")
        return
    rng = random.Random(1)
    failed, times = False, [0, 0]
    with subprocess.Popen([python, HERE / "mine_seq2pat.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as peer:
        for number, gap in enumerate(GAPS, 1):
            differences = []
            for _ in range(ROUNDS):
                letters = "RNDT"[:rng.randint(2, 4)]
                sequences = ["".join(rng.choices(letters, k=rng.randint(2, 14))) for _ in range(rng.randint(2, 20))]
                support = rng.randint(2, len(sequences))
                peer.stdin.write(json.dumps([sequences, support, *gap]) + "\n")
                peer.stdin.flush()
                seconds, frequent = json.loads(peer.stdout.readline())
                own_seconds, patterns = ours(program, sequences, support, gap)
                times = [times[0] + own_seconds, times[1] + seconds]
                if patterns != closed(frequent):
                    differences.append(f"{sequences} {support}: {sorted(set(patterns.items()) ^ set(closed(frequent).items()))}")
            for text in differences[:3]:
                print("#", text)
            failed |= bool(differences)
            print("not ok" if differences else "ok", number, f"- patterns with the gap {gap} are those of seq2pat")
        peer.stdin.close()
    print(f"# {times[0]:.3f} s, seq2pat {times[1]:.3f} s")
    print(f"1..{len(GAPS)}")
    sys.exit(failed)


main()
