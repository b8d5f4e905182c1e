#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py DAMAGE COUNT [COUNT_OF_LARGE] - damage each sample trace COUNT times and read it.

DAMAGE is the program that damages and reads a sample.  Samples are the traces in
tests/data and, if present, those in the shared data directory.  The archive is also
tested unpacked, because a damaged archive rarely yields any data.  Large samples take
long, so they can have a smaller count.  Prints TAP, one test per sample.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

DAMAGE, COUNT = sys.argv[1], int(sys.argv[2])
COUNT_OF_LARGE = int(sys.argv[3]) if len(sys.argv) > 3 else COUNT
LARGE = 500_000  # bytes
DATA = pathlib.Path(os.environ["SONDE_TEST_DATA"])
SHARED = pathlib.Path(os.environ["SONDE_SHARED_DATA"])
ARCHIVE = DATA / "ctf/lttng-kernel.tar.zst"


def traces(directory, *patterns):
    found = sorted(path for pattern in patterns for path in directory.glob(pattern))
    return (path for path in found if not path.name.endswith("NOTE.txt"))


def own_samples(directory):
    """The samples in tests/data; unpacks the archive into `directory`."""
    yield from traces(DATA, "good/*", "hosts/*", "ctf/*", "requests/*.psv", "span-paths/*.json")
    unpacked = subprocess.run(["tar", "-xf", ARCHIVE, "-C", directory], capture_output=True, check=False)
    if unpacked.returncode == 0:
        yield directory / "lttng-kernel"


def shared_samples():
    yield from sorted(path.parent for path in (SHARED / "ctf").glob("*/metadata"))
    yield from traces(SHARED, "ftrace/*", "jaeger/*.json", "crisp/*.json", "misertrace/*.psv")


def size(sample):
    files = sample.rglob("*") if sample.is_dir() else [sample]
    return sum(path.stat().st_size for path in files if path.is_file())


def damage(sample):
    """Returns the exit code and the lines of output."""
    count = COUNT if size(sample) < LARGE else COUNT_OF_LARGE
    done = subprocess.run([DAMAGE, sample, str(count)], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()


def name(sample):
    return "/".join(sample.parts[-2:])


def main():
    with tempfile.TemporaryDirectory(prefix="sonde-damage-") as temporary:
        directory = pathlib.Path(temporary) / "unpacked"
        directory.mkdir()
        samples = [*own_samples(directory), *shared_samples()]
        print(f"1..{len(samples)}", flush=True)
        samples.sort(key=size, reverse=True)  # largest first, so that none runs alone at the end
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(damage, sample): sample for sample in samples}
            for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
                code, lines = job.result()
                print(f"{'not ok' if code else 'ok'} {number} - {name(jobs[job])}")
                print("\n".join(f"# {line}" for line in lines), flush=True)


main()
