# SPDX-License-Identifier: Apache-2.0
"""thumbnails PORT DIRECTORY - write a job to a directory, and poll for its result."""
import itertools
import pathlib
import sys
import time

import web

jobs = itertools.count()


def handle(path):
    job = pathlib.Path(sys.argv[2]) / f"{next(jobs)}"
    job.with_suffix(".job").write_text(path)
    result = job.with_suffix(".done")
    while not result.exists():
        time.sleep(0.05)
    return result.read_text()


web.serve(handle)
