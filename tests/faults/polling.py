# SPDX-License-Identifier: Apache-2.0
"""A service looks every 50 ms whether a job is done, which takes a worker only 15 ms."""
import services

TRUTH = r"polls|sleeps"
PARTLY = r"thumbnails"


def start(lab):
    port, jobs = lab.port(), lab.directory / "jobs"
    jobs.mkdir()
    lab.service("resize", services.PYTHON, services.SOURCES / "resize.py", jobs)
    return lab.service("thumbnails", services.PYTHON, services.SOURCES / "thumbnails.py", port, jobs, port=port)
