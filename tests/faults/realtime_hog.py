# SPDX-License-Identifier: Apache-2.0
"""A process with real-time priority runs in bursts on the CPU of a service."""
import services

NEEDS = ["taskset", "chrt"]
TRUTH = r"waits for a CPU.*\bencoder\b"
PARTLY = r"waits for a CPU"


def start(lab):
    if services.run("chrt", "-f", "10", "true", check=False).returncode:
        raise services.Skip("real-time priorities are not permitted here")
    lab.spawn("encoder", "chrt", "-f", "10", "taskset", "-c", "1", lab.compile("encoder.c"))
    return lab.service("quote", "taskset", "-c", "1", lab.compile("quote.c"), lab.port(), "2", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=40)
