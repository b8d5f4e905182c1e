# SPDX-License-Identifier: Apache-2.0
"""Another process holds the lock of a file that requests append to, and computes meanwhile."""
TRUTH = r"(?=.*\block\b)(?=.*rotate)"
PARTLY = r"\block\b|flock"


def start(lab):
    journal = lab.directory / "journal"
    lab.service("rotate", lab.compile("rotate.c"), journal)
    return lab.service("ledger", lab.compile("ledger.c"), lab.port(), journal, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=25)
