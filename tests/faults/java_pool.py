# SPDX-License-Identifier: Apache-2.0
"""A Java service has a pool of two threads for a slow task, and more requests than that at a time."""
import runtimes

NEEDS = ["java", "javac"]
TRUTH = r"(sleeps|works|busy)[^,]* for (client|another|\d+ other)|(?<!run-)queue.*pricing|pricing.*(?<!run-)queue"
PARTLY = r"pricing|worker|pool|sleeps"


def start(lab):
    port = lab.port()
    return runtimes.java(lab, "Quotes.java", port)


def client(lab):
    return lab.load(lab.port(), "/quote", connections=8, pause=40)
