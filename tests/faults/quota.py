# SPDX-License-Identifier: Apache-2.0
"""A control group with a quota of 20 ms of CPU time per 100 ms throttles a service."""
TRUTH = r"quota|throttled"
PARTLY = r"waits for a CPU|control group"


def start(lab):
    limited = lab.limited("cpu", cpu_max="20000 100000")
    return lab.service("quote", limited, lab.compile("quote.c"), lab.port(), "6", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=60)
