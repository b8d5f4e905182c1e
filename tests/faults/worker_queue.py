# SPDX-License-Identifier: Apache-2.0
"""Threads pass jobs to one worker, which computes 15 ms for each; jobs wait in its queue."""
TRUTH = r"(?=.*(queue|pool|worker|its turn))(?=.*\bruns\b)"
PARTLY = r"queue|worker|\bruns\b"


def start(lab):
    return lab.service("printer", lab.compile("printer.c"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=5, pause=40)
