# SPDX-License-Identifier: Apache-2.0
"""Each request starts a program that computes for long."""
TRUTH = r"resize.*\bruns\b"
PARTLY = r"resize"


def start(lab):
    return lab.service("convert", lab.python("convert.py"), lab.port(), lab.compile("resize.c"), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=1, pause=60)
