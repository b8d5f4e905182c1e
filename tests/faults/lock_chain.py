# SPDX-License-Identifier: Apache-2.0
"""The holder of a lock waits for another lock, and the holder of that flushes a journal to disk."""
TRUTH = r"(?=.*(fsync|pwrite64|write) of .*journal)(?=.*\block\b)"
PARTLY = r"fsync|pwrite|\block\b"


def start(lab):
    return lab.service("chain", lab.compile("chain.c"), lab.port(), lab.directory / "journal", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=20)
