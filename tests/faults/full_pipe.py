# SPDX-License-Identifier: Apache-2.0
"""A service logs to a pipe, and its reader pauses now and then: the pipe is full, and requests block."""
TRUTH = r"logger.*\bsleeps\b"
PARTLY = r"logger|pipe"


def start(lab):
    command = f"{lab.compile('verbose.c')} {lab.port()} | {lab.compile('logger.c')}"
    return lab.service("verbose", "sh", "-c", command, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=20)
