# SPDX-License-Identifier: Apache-2.0
"""A service behind a Unix socket computes for long."""
TRUTH = r"ranking.*\bruns\b"
PARTLY = r"ranking"


def start(lab):
    path = lab.directory / "ranking.socket"
    lab.service("ranking", lab.compile("ranking.c"), path)
    return lab.service("scores", lab.python("scores.py"), lab.port(), path, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=1, pause=40)
