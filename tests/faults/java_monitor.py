# SPDX-License-Identifier: Apache-2.0
"""A thread of a Java service sleeps in a synchronized block that all requests enter."""
import runtimes

NEEDS = ["java", "javac"]
TRUTH = r"sleeps.*(lock|monitor|waits for)|(lock|monitor).*sleeps"
PARTLY = r"lock|monitor|sleeps"


def start(lab):
    port = lab.port()
    return runtimes.java(lab, "Orders.java", port)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=60)
