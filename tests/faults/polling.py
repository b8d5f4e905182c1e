# SPDX-License-Identifier: Apache-2.0
"""A service looks every 50 ms whether a job is done, which takes a worker only 15 ms."""
TRUTH = r"polls|sleeps"
PARTLY = r"thumbnails"


def start(lab):
    port, jobs = lab.port(), lab.directory / "jobs"
    jobs.mkdir()
    lab.service("resize", lab.python("resize.py"), jobs)
    return lab.service("thumbnails", lab.python("thumbnails.py"), port, jobs, port=port)
