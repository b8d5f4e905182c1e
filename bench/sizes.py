# SPDX-License-Identifier: Apache-2.0
"""Run a program that writes a capture and measures itself, for several sizes."""
import os
import pathlib
import subprocess
import tempfile

import stats

MEMORY = "/dev/shm"  # so that the disk is not measured
IN_MEMORY = os.path.isdir(MEMORY)


def measure(name, program, turn, quick):
    """{size: [output of the program of each round]}, for 1, 2, 4 and 8 million records."""
    sizes = [n * (100000 if quick else 1000000) for n in (1, 2, 4, 8)]
    with tempfile.TemporaryDirectory(prefix="sonde-bench-", dir=MEMORY if IN_MEMORY else None) as directory:
        path = pathlib.Path(directory) / "capture.sonde"

        def run(size):
            return turn(*map(float, subprocess.check_output([program, path, str(size)]).split()))

        return stats.rounds(name, 3 if quick else 11, sizes, run)
