# SPDX-License-Identifier: Apache-2.0
"""Three batch jobs share the only CPU of a service."""
NEEDS = ["taskset"]
TRUTH = r"waits for a CPU.*\bbatch\b"
PARTLY = r"waits for a CPU"


def start(lab):
    for i in range(3):
        lab.spawn(f"batch{i}", "taskset", "-c", "1", lab.compile("batch.c"))
    return lab.service("quote", "taskset", "-c", "1", lab.compile("quote.c"), lab.port(), "5", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=60)
