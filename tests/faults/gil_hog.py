# SPDX-License-Identifier: Apache-2.0
"""A thread of a Python service computes; the threads of requests wait for the GIL again and again."""
TRUTH = r"(?=.*\bGIL\b)(?=.*\bruns\b)"
PARTLY = r"\bGIL\b|\block\b"


def start(lab):
    return lab.service("prices", lab.python("prices.py"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/17", connections=3, pause=20)
