# SPDX-License-Identifier: Apache-2.0
"""A service has one worker, which computes for each request; connections wait to be accepted."""
TRUTH = r"(?=.*(accept|queue))(?=.*\bruns\b)"
PARTLY = r"queue|accept|\bruns\b"


def start(lab):
    return lab.service("invoice", lab.python("invoice.py"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=5, pause=30, connect=True)
