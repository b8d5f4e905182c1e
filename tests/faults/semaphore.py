# SPDX-License-Identifier: Apache-2.0
"""Requests wait for a semaphore that admits two at a time, which call a backend that sleeps."""
TRUTH = r"(?=.*(semaphore|\block\b))(?=.*archive)"
PARTLY = r"semaphore|\block\b|archive"


def start(lab):
    backend = lab.port("archive")
    lab.service("archive", lab.compile("archive.c"), backend, "30", port=backend)
    return lab.service("gate", lab.compile("gate.c"), lab.port(), backend, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=8, pause=40)
