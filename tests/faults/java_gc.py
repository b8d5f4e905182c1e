# SPDX-License-Identifier: Apache-2.0
"""A Java service with a small heap stops for full garbage collections."""
import runtimes

NEEDS = ["java", "javac"]
TRUTH = r"garbage|\bVM Thread|\bGC Thread"
PARTLY = r"safepoint"


def start(lab):
    port = lab.port()
    return runtimes.java(lab, "Sessions.java", port, "-XX:+UseSerialGC", "-Xmx160m", "-Xms160m")


def client(lab):
    return lab.load(lab.port(), "/login", connections=4, pause=15)
