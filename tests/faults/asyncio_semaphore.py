# SPDX-License-Identifier: Apache-2.0
"""Requests to an asyncio service wait for a semaphore; its holder calls a backend that takes 15 ms."""
import runtimes
import services

TRUTH = r"(another|other) request|(?<!run-)queue|client 127"
PARTLY = r"backend|sleeps"


def start(lab):
    backend, port = lab.port("backend"), lab.port()
    lab.service("backend", lab.compile("backend.c"), backend, port=backend)
    return lab.service("tariffs", runtimes.python(lab), services.SOURCES / "tariffs.py", port, backend, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=5, pause=60)
