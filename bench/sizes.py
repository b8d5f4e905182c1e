# SPDX-License-Identifier: Apache-2.0
"""A program that makes a capture of so many records and measures itself, for several sizes."""
import os
import pathlib
import subprocess
import tempfile

import stats

MEMORY = "/dev/shm"  # a disk would measure the disk
IN_MEMORY = os.path.isdir(MEMORY)


def measure(name, program, turn, quick):
    """For 1, 2, 4 and 8 million records, what the program prints, as a list of turns."""
    sizes = [n * (100000 if quick else 1000000) for n in (1, 2, 4, 8)]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=MEMORY if IN_MEMORY else None) as directory:
        path = pathlib.Path(directory) / "capture.sonde"

        def run(size):
            return turn(*map(float, subprocess.check_output([program, path, str(size)]).split()))

        return stats.rounds(name, 3 if quick else 11, sizes, run)
