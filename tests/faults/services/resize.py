# SPDX-License-Identifier: Apache-2.0
"""resize DIRECTORY - the worker of thumbnails."""
import pathlib
import sys
import time

while True:
    for job in sorted(pathlib.Path(sys.argv[1]).glob("*.job")):
        time.sleep(0.015)  # the work
        done = job.with_suffix(".part")
        done.write_text("image\n")
        job.unlink()
        done.rename(job.with_suffix(".done"))
    time.sleep(0.002)
